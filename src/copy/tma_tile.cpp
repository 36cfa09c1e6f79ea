#include "copy/tma_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "copy/cuda_common.h"
#include "copy/tma_common.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

std::vector<Mode> modes_of(const Buffer& tile, std::size_t dim, const Layouts& layouts) {
  auto layout = layouts.find(tile.node());
  if (layout != layouts.end()) {
    return coalesce(layout->second.layout().mode(static_cast<int>(dim))).flat();
  }
  return {{*ir::const_int(tile.shape()[dim]), *ir::const_int(ir::strides_of(tile)[dim])}};
}

// Adds the digits that the indices origin + [0, extent) run through. False when the region begins
// or ends in the middle of a digit and goes on in the next.
bool add_digits(std::span<const Mode> modes, const Expr& origin, TileDigit digit,
                const ir::Facts& facts, std::vector<TileDigit>& digits) {
  if (digit.extent == 1) return true;
  const Mode& mode = modes[0];
  Expr extent = make_int(mode.extent);
  Expr at = make_binary(BinaryOp::mod, origin, extent);
  Expr end = plus(at, make_int(digit.extent));
  digit.stride = mode.stride;
  if (modes.size() == 1 || facts.proves(make_binary(BinaryOp::le, end, extent))) {
    digits.push_back(digit);
    return true;
  }
  if (digit.extent % mode.extent != 0 || !facts.proves_equal(at, make_int(0))) return false;
  TileDigit next = digit;
  next.extent = digit.extent / mode.extent;
  next.step = digit.step * mode.extent;
  digit.extent = mode.extent;
  digits.push_back(digit);
  return add_digits(modes.subspan(1), make_binary(BinaryOp::div, origin, extent), next, facts,
                    digits);
}

bool require_digits(const Site& site, const ir::Region& region, bool of_src, Rules& rules,
                    SharedTile& tile) {
  bool whole_digits = true;
  for (std::size_t k = 0; k < site.axes.size(); ++k) {
    const Axis& axis = site.axes[k];
    auto dim = static_cast<std::size_t>(of_src ? axis.src->dim : axis.dst.dim);
    std::vector<Mode> modes = modes_of(region.buffer, dim, *site.layouts);
    if (modes.empty()) modes.push_back({1, 0});
    TileDigit whole{static_cast<int>(k), *ir::const_int(axis.extent), 0, 1};
    whole_digits &= add_digits(modes, region.origin[dim], whole, *site.facts, tile.digits);
  }
  std::string found = region.buffer.name();
  auto layout = site.layouts->find(region.buffer.node());
  if (layout != site.layouts->end()) found += " in " + to_string(layout->second);
  return rules.require("layout", whole_digits, "whole blocks of the shared layout",
                       "a region that cuts through blocks of " + found, "copy whole tiles");
}

}  // namespace

std::optional<SharedTile> plan_shared_tile(const Site& site, Rules& rules) {
  bool of_src = site.dst.buffer.scope() == Scope::global;
  const ir::Region& region = of_src ? *site.src : site.dst;
  const Buffer& buffer = region.buffer;
  std::optional<int> span = swizzle_span(buffer, *site.layouts);
  if (!rules.require("swizzle", span.has_value(), "a swizzle of 32, 64 or 128 bytes, or none",
                     span ? "" : to_string(site.layouts->at(buffer.node())),
                     "leave the layout to the compiler, or use swizzled_row_major")) {
    return std::nullopt;
  }
  SharedTile tile;
  tile.swizzle_bytes = *span;
  if (!require_digits(site, region, of_src, rules, tile)) return std::nullopt;
  Expr start = make_int(0);
  for (std::size_t d = 0; d < region.origin.size(); ++d) {
    start = plus(start, layout_offset(modes_of(buffer, d, *site.layouts), region.origin[d]));
  }
  tile.start = site.facts->simplify(start);
  int element = bytes(buffer.dtype());
  std::int64_t alignment = box_alignment(tile.swizzle_bytes);
  std::int64_t unit = std::max<std::int64_t>(alignment / element, 1);
  auto constant = ir::const_int(tile.start);
  bool ok = rules.require(
      "shared_start", rules.proof().multiple(tile.start, unit),
      fmt::format("a region of the tile that starts at a multiple of {} bytes", alignment),
      constant ? fmt::format("byte {}", *constant * element)
               : fmt::format("element {} of {} bytes", tile.start.to_string(), element),
      "copy whole tiles");
  return ok ? std::optional(std::move(tile)) : std::nullopt;
}

}  // namespace tilecopy::planner
