#include "copy/address.h"

#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

Expr add(const Expr& a, const Expr& b) { return make_binary(BinaryOp::add, a, b); }
Expr mul(const Expr& a, const Expr& b) { return make_binary(BinaryOp::mul, a, b); }

const TileLayout* find(const Buffer& buffer, const Layouts& layouts) {
  auto it = layouts.find(buffer.node());
  return it == layouts.end() ? nullptr : &it->second;
}

// The bits that the swizzle reads lie above those it changes when shift > 0, else below.
Expr swizzled(const Expr& offset, const Swizzle& swizzle) {
  Expr source = make_binary(BinaryOp::bit_and, offset, make_int(swizzle.source_mask()));
  bool down = swizzle.shift() >= 0;
  Expr moved = make_binary(down ? BinaryOp::shr : BinaryOp::shl, source,
                           make_int(down ? swizzle.shift() : -swizzle.shift()));
  return make_binary(BinaryOp::bit_xor, offset, moved);
}

}  // namespace

Expr layout_offset(const std::vector<Mode>& digits, const Expr& index) {
  Expr offset = make_int(0);
  Expr rest = index;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    Expr extent = make_int(digits[i].extent);
    bool last = i + 1 == digits.size();
    Expr digit = last ? rest : make_binary(BinaryOp::mod, rest, extent);
    offset = add(offset, mul(digit, make_int(digits[i].stride)));
    if (!last) rest = make_binary(BinaryOp::div, rest, extent);
  }
  return offset;
}

Expr element_offset(const Buffer& buffer, const std::vector<Expr>& indices,
                    const Layouts& layouts) {
  Expr offset = make_int(0);
  if (const TileLayout* layout = find(buffer, layouts)) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      offset = add(offset, layout_offset(layout->layout().flat(static_cast<int>(d)), indices[d]));
    }
    return layout->swizzle() ? swizzled(offset, *layout->swizzle()) : offset;
  }
  std::vector<Expr> strides = ir::strides_of(buffer);
  for (std::size_t d = 0; d < indices.size(); ++d)
    offset = add(offset, mul(indices[d], strides[d]));
  return offset;
}

std::optional<Expr> element_stride(const Buffer& buffer, int dim, const Layouts& layouts) {
  if (const TileLayout* layout = find(buffer, layouts)) {
    Layout mode = coalesce(layout->layout().mode(dim));
    if (layout->swizzle() || mode.flat().size() > 1) return std::nullopt;
    return make_int(mode.flat().empty() ? 0 : mode.flat()[0].stride);
  }
  return ir::strides_of(buffer)[static_cast<std::size_t>(dim)];
}

std::int64_t tile_elements(const Buffer& tile, const Layouts& layouts) {
  if (const TileLayout* layout = find(tile, layouts)) return layout->cosize();
  std::int64_t elements = 1;
  for (const Expr& extent : tile.shape()) elements *= *ir::const_int(extent);
  return elements;
}

}  // namespace tilecopy::planner
