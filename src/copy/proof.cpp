#include "copy/proof.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/make.h"
#include "ir/walk.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

bool divides(std::int64_t k, std::int64_t divisor) { return divisor % k == 0; }

bool mentions(const Expr& e, const Var& var) {
  bool found = false;
  ir::for_each_expr(e, [&](const Expr& part) { found |= part.node() == var.node(); });
  return found;
}

}  // namespace

void Proof::note(Guard guard) {
  bool known = std::any_of(guards_.begin(), guards_.end(),
                           [&](const Guard& g) { return g.text == guard.text; });
  if (!known) guards_.push_back(std::move(guard));
}

bool Proof::multiple(const Expr& e, std::int64_t k) {
  if (k == 1 || divides(k, site_->facts->divisor(e))) return true;
  const Assumptions* assumed = site_->assumptions;
  if (!assumed || !divides(k, assumed->facts.divisor(e))) return false;
  for (const auto& [symbol, divisor] : assumed->multiples) {
    if (!mentions(e, symbol)) continue;
    note({.text = fmt::format("{} is a multiple of {}", symbol.name(), divisor),
          .pointer = {},
          .value = symbol,
          .multiple_of = divisor});
  }
  return true;
}

bool Proof::aligned(const Buffer& buffer, std::int64_t bytes) {
  if (bytes <= tilecopy::bytes(buffer.dtype())) return true;
  switch (buffer.scope()) {
    case Scope::global: break;
    case Scope::shared: {
      auto layout = site_->layouts->find(buffer.node());
      bool swizzled = layout != site_->layouts->end() && layout->second.swizzle();
      std::int64_t period =
          swizzled ? layout->second.swizzle()->period() * tilecopy::bytes(buffer.dtype()) : 0;
      return divides(bytes, std::max(period, shared_alignment));
    }
    case Scope::fragment:
    case Scope::local: return divides(bytes, register_alignment);
  }
  if (!site_->assumptions) return false;
  note({.text = fmt::format("{} is {}-byte aligned", buffer.name(), bytes),
        .pointer = buffer,
        .value = {},
        .multiple_of = bytes});
  return true;
}

bool known_at_launch(const Expr& e) {
  bool known = true;
  ir::for_each_expr(e, [&](const Expr& part) {
    const auto* var = ir::as<ir::VarNode>(part);
    known &= !ir::as<ir::Load>(part) && (!var || var->symbol);
  });
  return known;
}

bool Proof::within(const Expr& e, std::int64_t least, std::int64_t most) {
  ir::Interval bounds = site_->facts->bounds(e);
  if (bounds.lo >= least && bounds.hi <= most) return true;
  if (bounds.hi < least || bounds.lo > most) return false;
  if (!site_->assumptions || !known_at_launch(e)) return false;
  std::string text = least == most        ? fmt::format("{} is {}", e.to_string(), least)
                     : bounds.lo >= least ? fmt::format("{} is at most {}", e.to_string(), most)
                     : bounds.hi <= most
                         ? fmt::format("{} is at least {}", e.to_string(), least)
                         : fmt::format("{} is from {} to {}", e.to_string(), least, most);
  note({.text = std::move(text), .pointer = {}, .value = e, .least = least, .most = most});
  return true;
}

bool Proof::attempt(const std::function<bool()>& question) {
  std::vector<Guard> before = guards_;
  if (question()) return true;
  guards_ = std::move(before);
  return false;
}

namespace {

bool plain_vector(const ir::Region& region, std::size_t dim, int p, Proof& proof) {
  const std::vector<Expr> strides = ir::strides_of(region.buffer);
  if (!proof.within(strides[dim], 1, 1)) return false;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    bool single = ir::is_const_int(region.extent[d], 1);
    if (d == dim) {
      if (!proof.multiple(region.origin[d], p)) return false;
    } else if (!(single &&
                 proof.multiple(make_binary(BinaryOp::mul, region.origin[d], strides[d]), p)) &&
               !proof.multiple(strides[d], p)) {
      return false;
    }
  }
  return proof.aligned(region.buffer, std::int64_t{p} * bytes(region.buffer.dtype()));
}

bool layout_vector(const TileLayout& layout, const ir::Region& region, std::size_t dim, int p,
                   Proof& proof) {
  if (layout.swizzle() && (std::int64_t{1} << layout.swizzle()->base()) % p != 0) return false;
  for (std::size_t d = 0; d < region.extent.size(); ++d) {
    Layout mode = coalesce(layout.layout().mode(static_cast<int>(d)));
    std::vector<Mode> digits = mode.flat();
    std::size_t first = 0;
    if (d == dim) {
      if (digits.empty() || digits[0].stride != 1) return false;
      if (digits.size() > 1 && digits[0].extent % p != 0) return false;
      if (!proof.multiple(region.origin[d], p)) return false;
      first = 1;
    }
    for (std::size_t i = first; i < digits.size(); ++i) {
      if (digits[i].extent > 1 && digits[i].stride % p != 0) return false;
    }
  }
  return proof.aligned(region.buffer, std::int64_t{p} * bytes(region.buffer.dtype()));
}

}  // namespace

int vector_elements(const Site& site, bool of_src, std::size_t axis, int most, Proof& proof) {
  const ir::Region& region = of_src ? *site.src : site.dst;
  const Axis& a = site.axes[axis];
  auto dim = static_cast<std::size_t>(of_src ? a.src->dim : a.dst.dim);
  auto layout = site.layouts->find(region.buffer.node());
  for (int p = most; p > 1; p /= 2) {
    bool fits = proof.attempt([&] {
      return layout != site.layouts->end() ? layout_vector(layout->second, region, dim, p, proof)
                                           : plain_vector(region, dim, p, proof);
    });
    if (fits) return p;
  }
  return 1;
}

bool bounds_between_groups(const AxisSide& side, int group, Proof& proof) {
  if (side.inside.whole) return true;
  return proof.attempt([&] {
    return proof.multiple(side.inside.begin, group) && proof.multiple(side.inside.end, group);
  });
}

}  // namespace tilecopy::planner
