#include "copy/access_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/make.h"
#include "layout/memory_model.h"
#include "tilecopy/error.h"

namespace tilecopy::planner {
namespace {

constexpr int warp_lanes = 32;
// Stands for a symbol: a size that every vector divides, so that a pitch of it keeps alignment.
constexpr std::int64_t some_size = 4096;

// The value for one thread, with block indices and loops at 0 and sizes of `some_size`; empty when
// it depends on more.
class Sample {
 public:
  Sample(const Var& thread, std::int64_t lane) : thread_(thread), lane_(lane) {}

  std::optional<std::int64_t> operator()(const Expr& e) const {
    if (auto value = ir::const_int(e)) return value;
    if (const auto* var = ir::as<ir::VarNode>(e)) {
      if (e.node() == thread_.node()) return lane_;
      return var->symbol ? some_size : 0;
    }
    if (const auto* u = ir::as<ir::Unary>(e); u && u->op == ir::UnaryOp::logical_not) {
      auto a = (*this)(u->a);
      return a ? std::optional<std::int64_t>(*a == 0) : std::nullopt;
    }
    const auto* b = ir::as<ir::Binary>(e);
    if (!b) return std::nullopt;
    auto x = (*this)(b->a);
    auto y = (*this)(b->b);
    if (!x || !y) return std::nullopt;
    try {
      return ir::const_int(
          ir::make_binary(b->op, ir::make_int(*x, b->a.dtype()), ir::make_int(*y, b->b.dtype())));
    } catch (const UserError&) {
      return std::nullopt;  // sizes like the sample's would overflow
    }
  }

 private:
  const Var& thread_;
  std::int64_t lane_;
};

std::optional<layout::WarpAccess> first_access(const Site& site, const Group& group, bool of_src,
                                               int elements) {
  const Buffer& buffer = of_src ? site.src->buffer : site.dst.buffer;
  layout::WarpAccess access;
  access.width = elements * bytes(buffer.dtype());
  Expr offset = site.offset(of_src, group.loops);
  for (int lane = 0; lane < std::min(site.simt->threads, warp_lanes); ++lane) {
    Sample sample(site.simt->thread, lane);
    if (group.exists.defined() && sample(group.exists) != 1) continue;
    auto at = sample(offset);
    if (!at) return std::nullopt;
    access.addresses.push_back(*at * bytes(buffer.dtype()));
  }
  return access;
}

}  // namespace

int bank_ways(const Site& site, const Group& first, bool of_src, int elements) {
  const auto access = first_access(site, first, of_src, elements);
  return access && !access->addresses.empty() ? layout::bank_ways(*access) : 1;
}

void describe_accesses(const Site& site, const Group& first, int src_access, int dst_access,
                       Plan& plan) {
  Expr total = ir::make_int(bytes(site.dst.buffer.dtype()));
  for (const Axis& axis : site.axes) {
    total = ir::make_binary(ir::BinaryOp::mul, total, axis.extent);
  }
  plan.parameters.emplace_back("bytes", site.facts->simplify(total).to_string());
  std::string sectors, ways;
  auto add = [](std::string& text, const std::string& more) {
    text += (text.empty() ? "" : ", ") + more;
  };
  for (bool of_src : {true, false}) {
    if (of_src && !site.src) continue;
    Scope scope = (of_src ? site.src->buffer : site.dst.buffer).scope();
    if (scope != Scope::global && scope != Scope::shared) continue;
    auto access = first_access(site, first, of_src, of_src ? src_access : dst_access);
    if (!access || access->addresses.empty()) continue;
    const char* side = of_src ? "in" : "out";
    if (scope == Scope::global) {
      add(sectors, fmt::format("{} {} of {} needed", side, layout::sectors(*access),
                               layout::fewest_sectors(*access)));
    } else {
      add(ways, fmt::format("{} {}", side, layout::bank_ways(*access)));
    }
  }
  if (!sectors.empty()) plan.parameters.emplace_back("sectors", sectors);
  if (!ways.empty()) plan.parameters.emplace_back("bank_ways", ways);
}

}  // namespace tilecopy::planner
