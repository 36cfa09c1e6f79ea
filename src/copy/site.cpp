#include "copy/site.h"

#include <fmt/format.h>

#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

const ir::Hints no_hints;

// The loop indices at which origin + index lies in [0, extent of the buffer).
Span inside_span(const ir::Region& region, std::size_t dim, const ir::Facts& facts) {
  const Expr& origin = region.origin[dim];
  const Expr& extent = region.extent[dim];
  Expr zero = make_int(0);
  Expr room = make_binary(BinaryOp::sub, region.buffer.shape()[dim], origin);
  Span span;
  span.begin =
      facts.simplify(make_binary(BinaryOp::max, zero, make_binary(BinaryOp::sub, zero, origin)));
  span.end = facts.simplify(make_binary(BinaryOp::min, extent, room));
  span.whole = ir::is_const_int(span.begin, 0) && facts.proves_equal(span.end, extent);
  return span;
}

void add_bounds_of_unit(const ir::Region& region, std::size_t dim, const ir::Facts& facts,
                        std::vector<Expr>& conditions) {
  const Expr& origin = region.origin[dim];
  for (const Expr& condition : {make_binary(BinaryOp::ge, origin, make_int(0)),
                                make_binary(BinaryOp::lt, origin, region.buffer.shape()[dim])}) {
    Expr simple = facts.simplify(condition);
    if (!ir::is_const_int(simple, 1)) conditions.push_back(simple);
  }
}

// The dimensions of a region that are loops, in order; the others add their bounds to `conditions`.
std::vector<std::size_t> loop_dims(const ir::Region& region, const std::vector<std::size_t>& order,
                                   const ir::Facts& facts, std::vector<Expr>& conditions) {
  std::vector<std::size_t> loops;
  for (std::size_t dim : order) {
    if (ir::is_const_int(region.extent[dim], 1)) {
      add_bounds_of_unit(region, dim, facts, conditions);
    } else {
      loops.push_back(dim);
    }
  }
  return loops;
}

std::vector<std::size_t> dims_of(const ir::Region& region, bool swap_last = false) {
  std::vector<std::size_t> dims(region.extent.size());
  for (std::size_t d = 0; d < dims.size(); ++d) dims[d] = d;
  if (swap_last) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return dims;
}

AxisSide make_side(const ir::Region& region, std::size_t dim, const ir::Facts& facts,
                   const Layouts& layouts) {
  AxisSide side;
  side.dim = static_cast<int>(dim);
  side.inside = inside_span(region, dim, facts);
  side.stride = element_stride(region.buffer, side.dim, layouts);
  return side;
}

void make_axes(Site& site, bool swap_last) {
  std::vector<std::size_t> dst =
      loop_dims(site.dst, dims_of(site.dst), *site.facts, site.dst_conditions);
  std::vector<std::size_t> src;
  if (site.src) {
    src = loop_dims(*site.src, dims_of(*site.src, swap_last), *site.facts, site.src_conditions);
  }
  for (std::size_t k = 0; k < dst.size(); ++k) {
    Axis axis;
    axis.extent = site.dst.extent[dst[k]];
    axis.dst = make_side(site.dst, dst[k], *site.facts, *site.layouts);
    if (site.src) axis.src = make_side(*site.src, src[k], *site.facts, *site.layouts);
    site.axes.push_back(std::move(axis));
  }
}

}  // namespace

std::vector<Expr> Site::index(bool of_src, const std::vector<Expr>& loops) const {
  const ir::Region& region = of_src ? *src : dst;
  std::vector<Expr> result = region.origin;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    auto dim = static_cast<std::size_t>(of_src ? axes[k].src->dim : axes[k].dst.dim);
    result[dim] = make_binary(BinaryOp::add, result[dim], loops[k]);
  }
  return result;
}

Expr Site::offset(bool of_src, const std::vector<Expr>& loops) const {
  const ir::Region& region = of_src ? *src : dst;
  return element_offset(region.buffer, index(of_src, loops), *layouts);
}

Site make_site(const ir::TileOp& op, const target::Target& target, const ir::Facts& facts,
               const Layouts& layouts) {
  Site site;
  site.op = &op;
  site.hints = &no_hints;
  site.target = &target;
  site.facts = &facts;
  site.layouts = &layouts;
  if (op.kind == ir::StmtKind::Copy) {
    const auto& copy = static_cast<const ir::Copy&>(op);
    site.operation = fmt::format("copy {} -> {}", copy.src.buffer.name(), copy.dst.buffer.name());
    site.hints = &copy.hints;
    site.src = copy.src;
    site.dst = copy.dst;
    site.safe = copy.safe;
  } else if (op.kind == ir::StmtKind::Transpose) {
    const auto& transpose = static_cast<const ir::Transpose&>(op);
    site.operation =
        fmt::format("transpose {} -> {}", transpose.src.buffer.name(), transpose.dst.buffer.name());
    site.src = transpose.src;
    site.dst = transpose.dst;
    site.safe = transpose.safe;
  } else if (op.kind == ir::StmtKind::Fill) {
    const auto& fill = static_cast<const ir::Fill&>(op);
    site.operation = fmt::format("fill {}", fill.dst.buffer.name());
    site.dst = fill.dst;
    site.value = fill.value;
  } else {
    const auto& im2col = static_cast<const ir::Im2col&>(op);
    site.operation = fmt::format("im2col {} -> {}", im2col.img.name(), im2col.col.buffer.name());
    site.hints = &im2col.hints;
    site.dst = im2col.col;
  }
  if (site.src && !site.safe.defined()) site.safe = ir::make_zero(site.src->buffer.dtype());
  make_axes(site, op.kind == ir::StmtKind::Transpose);
  return site;
}

}  // namespace tilecopy::planner
