// The statements of the Builder that move data: loads, stores and tile operations.
#include <fmt/format.h>

#include "base/diagnostic.h"
#include "language/builder.h"
#include "language/hints.h"
#include "language/regions.h"

namespace tilecopy::language {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

void check_overlap(const ir::Region& src, const ir::Region& dst, const ir::Facts& facts,
                   Location where) {
  if (provably_disjoint(src, dst, facts)) return;
  raise(ErrorCode::E0112, where,
        {.needed = "regions that are proved to share no element",
         .found = fmt::format("{} at {} and {} at {}, both of {}", shape_text(src.extent),
                              shape_text(src.origin), shape_text(dst.extent),
                              shape_text(dst.origin), src.buffer.name())});
}

void require_at_least(ErrorCode code, std::string_view what, const HeightWidth& pair,
                      std::int64_t least, Location where) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (pair.h < least || pair.w < least) {
    raise(code, where,
          {.needed = fmt::format("a {} of {} or more", what, least),
           .found = fmt::format("({}, {})", pair.h, pair.w)});
  }
  if (pair.h >= most || pair.w >= most) {
    raise(ErrorCode::E0309, where,
          {.needed = fmt::format("a {} below 2^31", what),
           .found = fmt::format("({}, {})", pair.h, pair.w)});
  }
}

// Only an image of constant size can be told to be too small here; the rest is a launch check.
void check_window_axis(std::string_view axis, const Expr& extent, std::int64_t kernel,
                       std::int64_t dilation, std::int64_t pad, Location where) {
  auto size = ir::const_int(extent);
  std::int64_t window = 0, padded = 0;
  bool overflow = __builtin_mul_overflow(kernel - 1, dilation, &window) ||
                  __builtin_add_overflow(window, 1, &window);
  if (!size || *size == 0) return;
  overflow |= __builtin_add_overflow(*size, 2 * pad, &padded);
  if (overflow || window > padded) {
    raise(ErrorCode::E0307, where,
          {.needed = fmt::format("a dilated kernel of at most {} along {}", padded, axis),
           .found = fmt::format("{}", window)});
  }
}

void check_window(const Buffer& img, const ir::Im2colWindow& window, Location where) {
  require_at_least(ErrorCode::E0303, "kernel", window.kernel, 1, where);
  require_at_least(ErrorCode::E0304, "stride", window.stride, 1, where);
  require_at_least(ErrorCode::E0305, "dilation", window.dilation, 1, where);
  require_at_least(ErrorCode::E0306, "pad", window.pad, 0, where);
  check_window_axis("H", img.shape()[1], window.kernel.h, window.dilation.h, window.pad.h, where);
  check_window_axis("W", img.shape()[2], window.kernel.w, window.dilation.w, window.pad.w, where);
}

}  // namespace

std::vector<Expr> Builder::element_indices(const Buffer& buffer, const std::vector<Index>& indices,
                                           Location where) const {
  require_visible(buffer, where);
  if (indices.size() != buffer.shape().size()) {
    raise(ErrorCode::E0102, where,
          {.needed = fmt::format("{} indices for {}{}", buffer.rank(), buffer.name(),
                                 shape_text(buffer.shape())),
           .found = fmt::format("{}", indices.size())});
  }
  std::vector<Expr> result;
  for (const Index& index : indices) {
    result.push_back(facts_.simplify(element_index(index, where)));
    require_visible(result.back(), where);
  }
  return result;
}

Expr Builder::load(const Buffer& buffer, const std::vector<Index>& indices, Location where) {
  require_statement(where);
  return ir::make_load(buffer, element_indices(buffer, indices, where), safe_value_of(buffer),
                       where);
}

void Builder::store(const Buffer& buffer, const std::vector<Index>& indices, const Expr& value,
                    Location where) {
  require_statement(where);
  std::vector<Expr> at = element_indices(buffer, indices, where);
  if (!value.defined())
    raise(ErrorCode::E0411, where, {.needed = "a value to store", .found = "an empty expression"});
  require_visible(value, where);
  if (const Frame* loop = enclosing_parallel(); loop && buffer.scope() == Scope::local) {
    bool inside = false;
    for (const Frame* frame = loop; frame != frames_.data() + frames_.size(); ++frame) {
      for (const void* node : frame->introduced) inside |= node == buffer.node();
    }
    if (!inside) {
      raise(ErrorCode::E0417, where,
            {.needed = "a local buffer of the iteration",
             .found = fmt::format("{}, allocated outside of the loop", buffer.name())});
    }
  }
  append(ir::make_store(buffer, std::move(at), ir::coerce(value, buffer.dtype(), where), where));
}

CopyHandle Builder::copy(const Operand& src, const Operand& dst, const HintValues& hints,
                         Location where) {
  require_statement(where);
  require_outside_parallel("copy", where);
  ResolvedOperand from = resolve_operand(src, facts_, where);
  ResolvedOperand to = resolve_operand(dst, facts_, where);
  match_extents(from, to, facts_, where);
  require_visible(from.region, where);
  require_visible(to.region, where);
  check_overlap(from.region, to.region, facts_, where);

  auto copy = ir::make_stmt<ir::Copy>(where);
  copy->hints = resolve_hints(hints, where);
  if (copy->hints.loop_layout) {
    check_loop_layout(*copy->hints.loop_layout, to.region.extent, kernel_->threads, where);
  }
  copy->id = next_op_++;
  copy->safe = safe_value_of(from.region.buffer);
  copy->src = std::move(from.region);
  copy->dst = std::move(to.region);
  CopyHandle handle{copy->id, kernel_->serial};
  append(std::move(copy));
  return handle;
}

CopyHandle Builder::im2col(const Operand& img, const Operand& col, const Expr& nhw_step,
                           const Expr& c_step, const ir::Im2colWindow& window,
                           const HintValues& hints, Location where) {
  require_statement(where);
  require_outside_parallel("im2col", where);
  require_visible(img.buffer(), where);
  if (!img.whole()) {
    raise(
        ErrorCode::E0310, where,
        {.needed = "a whole buffer", .found = fmt::format("a region of {}", img.buffer().name())});
  }
  if (img.buffer().rank() != 4) {
    raise(ErrorCode::E0301, where,
          {.needed = "rank 4",
           .found = fmt::format("{}{}", img.buffer().name(), shape_text(img.buffer().shape()))});
  }
  ResolvedOperand to = resolve_operand(col, facts_, where);
  require_visible(to.region, where);
  std::size_t rank = to.region.extent.size();
  if (rank < 2) {
    raise(ErrorCode::E0302, where,
          {.needed = "rank 2 or more",
           .found = fmt::format("{}{}", to.region.buffer.name(), shape_text(to.region.extent))});
  }
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (!ir::is_const_int(to.region.extent[d], 1)) {
      raise(ErrorCode::E0302, where,
            {.needed = "extents of 1 before the last two dimensions",
             .found = fmt::format("{}{}", to.region.buffer.name(), shape_text(to.region.extent))});
    }
  }
  if (img.buffer().dtype() != to.region.buffer.dtype()) {
    raise(ErrorCode::E0308, where,
          {.needed = fmt::format("{} for col", to_string(img.buffer().dtype())),
           .found = std::string(to_string(to.region.buffer.dtype()))});
  }
  check_window(img.buffer(), window, where);

  auto op = std::make_shared<ir::Im2col>(ir::Im2col{{{ir::Im2col::tag, where}, next_op_++},
                                                    img.buffer(),
                                                    std::move(to.region),
                                                    index_expr(nhw_step, "nhw_step", where),
                                                    index_expr(c_step, "c_step", where),
                                                    window,
                                                    resolve_hints(hints, where)});
  if (op->hints.loop_layout) {
    check_loop_layout(*op->hints.loop_layout, op->col.extent, kernel_->threads, where);
  }
  CopyHandle handle{op->id, kernel_->serial};
  append(std::move(op));
  return handle;
}

CopyHandle Builder::transpose(const Operand& src, const Operand& dst, Location where) {
  require_statement(where);
  require_outside_parallel("transpose", where);
  ResolvedOperand from = resolve_operand(src, facts_, where);
  ResolvedOperand to = resolve_operand(dst, facts_, where);
  std::size_t rank = from.region.extent.size();
  if (rank < 2 || rank != to.region.extent.size()) {
    raise(ErrorCode::E0108, where,
          {.needed = "equal ranks of 2 or more",
           .found = fmt::format("{} for {} and {} for {}", rank, from.region.buffer.name(),
                                to.region.extent.size(), to.region.buffer.name())});
  }
  // The extents match after the last two of one side have changed places.
  auto swap_last = [rank](std::vector<Expr>& extents) {
    std::swap(extents[rank - 2], extents[rank - 1]);
  };
  swap_last(to.region.extent);
  match_extents(from, to, facts_, where);
  swap_last(to.region.extent);
  require_visible(from.region, where);
  require_visible(to.region, where);
  check_overlap(from.region, to.region, facts_, where);

  auto op = ir::make_stmt<ir::Transpose>(where);
  op->id = next_op_++;
  op->safe = safe_value_of(from.region.buffer);
  op->src = std::move(from.region);
  op->dst = std::move(to.region);
  CopyHandle handle{op->id, kernel_->serial};
  append(std::move(op));
  return handle;
}

void Builder::fill(const Operand& dst, const Expr& value, Location where) {
  require_statement(where);
  require_outside_parallel("fill", where);
  ResolvedOperand to = resolve_operand(dst, facts_, where);
  require_visible(to.region, where);
  if (!value.defined())
    raise(ErrorCode::E0411, where,
          {.needed = "a value to fill with", .found = "an empty expression"});
  require_visible(value, where);
  auto op = ir::make_stmt<ir::Fill>(where);
  op->id = next_op_++;
  op->value = ir::coerce(value, to.region.buffer.dtype(), where);
  op->dst = std::move(to.region);
  append(std::move(op));
}

}  // namespace tilecopy::language
