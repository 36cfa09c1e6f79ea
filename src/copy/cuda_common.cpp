#include "copy/cuda_common.h"

#include <fmt/format.h>

#include <cmath>

#include "ir/make.h"

namespace tilecopy::planner {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

Expr plus(const Expr& a, const Expr& b) { return make_binary(BinaryOp::add, a, b); }
Expr times(const Expr& a, const Expr& b) { return make_binary(BinaryOp::mul, a, b); }

Expr cache_policy(const Site& site) {
  if (!site.hints->eviction_policy) return {};
  std::uint64_t bits = 0;
  switch (*site.hints->eviction_policy) {
    case EvictionPolicy::evict_normal: bits = 0x16f0000000000000; break;
    case EvictionPolicy::evict_first: bits = 0x12f0000000000000; break;
    case EvictionPolicy::evict_last: bits = 0x14f0000000000000; break;
  }
  return make_int(static_cast<std::int64_t>(bits), uint64);
}

void describe_policy(const Site& site, Plan& plan) {
  if (!site.hints->eviction_policy) return;
  plan.parameters.emplace_back("eviction", std::string(to_string(*site.hints->eviction_policy)));
}

ir::Stmt by_one_thread(const Site& site, ir::Stmt body) {
  Location where = site.op->where;
  return ir::make_if(make_binary(BinaryOp::eq, site.simt->thread, make_int(0)), std::move(body),
                     nullptr, where);
}

bool require_tma_unit(const Site& site, Rules& rules) {
  const std::string& arch = site.target->arch;
  return rules.require("arch", target::has_tma(*site.target), "sm_90a or later", arch,
                       "compile for an architecture with the TMA unit") &&
         rules.require("disable_tma", site.hints->disable_tma != true, "disable_tma not set",
                       "disable_tma=true", "leave disable_tma out");
}

bool is_asked_for(const Site& site, const Method& method) {
  return site.method == method.name ||
         (site.method.empty() && site.hints->prefer_instruction == family(method));
}

bool contiguous(const Site& site, bool of_src, std::size_t axis) {
  if (of_src && !site.src) return false;
  const AxisSide& side = of_src ? *site.axes[axis].src : site.axes[axis].dst;
  if (side.stride) return ir::is_const_int(*side.stride, 1);
  const Buffer& buffer = of_src ? site.src->buffer : site.dst.buffer;
  auto layout = site.layouts->find(buffer.node());
  if (layout == site.layouts->end()) return false;
  std::vector<Mode> digits = coalesce(layout->second.layout().mode(side.dim)).flat();
  return !digits.empty() && digits[0].stride == 1;
}

std::optional<std::vector<std::int64_t>> constant_extents(const Site& site) {
  std::vector<std::int64_t> result;
  for (const Axis& axis : site.axes) {
    auto extent = ir::const_int(axis.extent);
    if (!extent) return std::nullopt;
    result.push_back(*extent);
  }
  return result;
}

bool always_in_bounds(const Site& site) {
  return !whole_condition(site, false).defined() &&
         (!site.src || !whole_condition(site, true).defined());
}

Expr whole_condition(const Site& site, bool of_src) {
  Expr result;
  auto add = [&](const Expr& condition) {
    Expr simple = site.facts->simplify(condition);
    if (ir::is_const_int(simple, 1)) return;
    result = result.defined() ? make_binary(BinaryOp::logical_and, result, simple) : simple;
  };
  for (const Expr& condition : of_src ? site.src_conditions : site.dst_conditions) add(condition);
  for (const Axis& axis : site.axes) {
    const AxisSide& side = of_src ? *axis.src : axis.dst;
    if (side.inside.whole) continue;
    add(make_binary(BinaryOp::le, side.inside.begin, make_int(0)));
    add(make_binary(BinaryOp::ge, side.inside.end, axis.extent));
  }
  return result;
}

bool all_bits_zero(const Expr& constant) {
  if (const auto* number = ir::as<ir::FloatConst>(constant)) {
    return number->value == 0 && !std::signbit(number->value);
  }
  return ir::is_const_int(constant, 0);
}

Expr whole_condition(const Site& site) {
  Expr dst = whole_condition(site, false);
  Expr src = site.src ? whole_condition(site, true) : Expr();
  if (!dst.defined() || !src.defined()) return dst.defined() ? dst : src;
  return make_binary(BinaryOp::logical_and, dst, src);
}

ir::Stmt whole_or_ragged(const Site& site, const std::function<ir::Stmt(bool ragged)>& body) {
  Expr whole = whole_condition(site);
  if (!whole.defined()) return body(false);
  // Code for whole tiles where there are none would reach outside of arrays at compile time.
  if (ir::is_const_int(whole, 0)) return body(true);
  return ir::make_if(whole, body(false), body(true), site.op->where);
}

}  // namespace tilecopy::planner
