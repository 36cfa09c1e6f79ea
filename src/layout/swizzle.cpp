// Swizzle, TileLayout, and the factories of shared-memory tiles.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "layout/checked.h"
#include "layout/int_tuple.h"
#include "tilecopy/layout.h"

namespace tilecopy {

using layout::ceil_div;
using layout::checked_mul;

namespace {

// log2 of the bytes of an element; E0425 unless a whole number of elements fills 16 bytes.
int log2_element_bytes(int element_bytes, Location where) {
  bool power = element_bytes >= 1 && element_bytes <= 16 &&
               std::has_single_bit(static_cast<unsigned>(element_bytes));
  if (!power) {
    raise(ErrorCode::E0425, where,
          {.needed = "elements of 1, 2, 4, 8 or 16 bytes",
           .found = fmt::format("{} bytes", element_bytes)});
  }
  return std::countr_zero(static_cast<unsigned>(element_bytes));
}

// The offsets that a swizzle may exchange with each other fill blocks of this many elements.
std::int64_t block(const std::optional<Swizzle>& swizzle) {
  if (!swizzle || swizzle->bits() == 0) return 1;
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(swizzle->target_mask()) + 1));
}

bool acts(const TileLayout& tile) {
  if (!tile.swizzle() || tile.swizzle()->bits() == 0) return false;
  std::int64_t source = tile.swizzle()->source_mask();
  return cosize(tile.layout()) > (source & -source);
}

void check_coordinate(const IntTuple& coord, int needed, Location where) {
  if (rank(coord) == needed) return;
  raise(ErrorCode::E0423, where,
        {.needed = fmt::format("a coordinate of {} entries", needed), .found = to_string(coord)});
}

void check_span(std::int64_t columns, int element_bytes, int span_bytes, Location where) {
  if (span_bytes != 32 && span_bytes != 64 && span_bytes != 128) {
    raise(
        ErrorCode::E0425, where,
        {.needed = "a span of 32, 64 or 128 bytes", .found = fmt::format("{} bytes", span_bytes)});
  }
  std::int64_t row_bytes = checked_mul(columns, element_bytes, where);
  if (row_bytes % span_bytes == 0) return;
  Details details{.needed = fmt::format("rows of a multiple of {} bytes", span_bytes),
                  .found = fmt::format("rows of {} bytes", row_bytes)};
  for (int span = span_bytes / 2; span >= 32; span /= 2) {
    if (row_bytes % span != 0) continue;
    details.help = fmt::format("use a span of {} bytes", span);
    break;
  }
  raise(ErrorCode::E0425, where, std::move(details));
}

// NOTE: the pattern follows the address, so each panel starts at its beginning only when the panel
// before fills whole periods of 8 spans.
void check_rows(std::int64_t rows, std::int64_t panels, Location where) {
  if (panels == 1 || rows % 8 == 0) return;
  raise(ErrorCode::E0425, where,
        {.needed = "a multiple of 8 rows where the tile has more than one panel",
         .found = fmt::format("{} rows in each of {} panels", rows, panels),
         .help = "pad the rows to a multiple of 8, or use a span as wide as a row"});
}

}  // namespace

Swizzle::Swizzle(int bits, int base, int shift, Location where)
    : bits_(bits), base_(base), shift_(shift) {
  constexpr int limit = 62;
  std::int64_t distance = std::abs(std::int64_t{shift});
  bool valid =
      bits >= 0 && base >= 0 && bits <= distance && std::int64_t{bits} + base + distance <= limit;
  if (valid) return;
  raise(ErrorCode::E0425, where,
        {.needed = fmt::format("0 <= bits <= |shift|, 0 <= base, and at most {} bits", limit),
         .found = to_string(*this),
         .help = "see Swizzle in tilecopy/layout.h"});
}

std::int64_t Swizzle::source_mask() const {
  return ((std::int64_t{1} << bits_) - 1) << (base_ + std::max(shift_, 0));
}

std::int64_t Swizzle::target_mask() const {
  return ((std::int64_t{1} << bits_) - 1) << (base_ + std::max(-shift_, 0));
}

std::int64_t Swizzle::operator()(std::int64_t offset, Location where) const {
  if (offset < 0) {
    raise(ErrorCode::E0423, where,
          {.needed = "an offset of at least 0", .found = fmt::format("{}", offset)});
  }
  std::int64_t source = offset & source_mask();
  return offset ^ (shift_ >= 0 ? source >> shift_ : source << -shift_);
}

std::int64_t Swizzle::period() const {
  return std::int64_t{1} << (bits_ == 0 ? 0 : base_ + std::abs(shift_) + bits_);
}

Swizzle Swizzle::in_bytes(int element_bytes, Location where) const {
  return Swizzle(bits_, base_ + log2_element_bytes(element_bytes, where), shift_, where);
}

TileLayout::TileLayout(Layout layout, std::optional<Swizzle> swizzle, Location where)
    : layout_(std::move(layout)), swizzle_(swizzle) {
  for (const Mode& mode : layout_.flat()) {
    if (mode.stride >= 0) continue;
    raise(ErrorCode::E0424, where,
          {.needed = "strides of at least 0 in a tile",
           .found = fmt::format("stride {} in {}", mode.stride, to_string(layout_))});
  }
  std::int64_t unit = block(swizzle_);
  checked_mul(ceil_div(tilecopy::cosize(layout_), unit), unit, where);
}

int TileLayout::rank() const { return tilecopy::rank(layout_); }

std::vector<std::int64_t> TileLayout::shape() const {
  std::vector<std::int64_t> out;
  for (int i = 0; i < rank(); ++i) out.push_back(size(layout_.shape()[i]));
  return out;
}

std::int64_t TileLayout::operator()(const IntTuple& coord, Location where) const {
  check_coordinate(coord, rank(), where);
  std::int64_t offset = layout_(coord, where);
  return swizzle_ ? (*swizzle_)(offset, where) : offset;
}

std::int64_t TileLayout::cosize() const {
  std::int64_t unit = block(swizzle_);
  return ceil_div(tilecopy::cosize(layout_), unit) * unit;
}

bool TileLayout::is_injective() const { return tilecopy::is_injective(layout_); }

bool equivalent(const TileLayout& a, const TileLayout& b) {
  if (acts(a) != acts(b)) return false;
  return equivalent(a.layout(), b.layout()) && (!acts(a) || a.swizzle() == b.swizzle());
}

Layout padded_row_major(const IntTuple& shape, std::int64_t pad, Location where) {
  if (pad < 0) {
    raise(ErrorCode::E0424, where,
          {.needed = "padding of at least 0 elements", .found = fmt::format("{}", pad)});
  }
  Layout compact = row_major(shape, where);
  int n = rank(shape);
  if (shape.is_int() || n < 2) return compact;
  std::vector<IntTuple> rows(shape.modes().begin(), shape.modes().end() - 1);
  std::int64_t pitch = layout::checked_add(size(shape[n - 1], where), pad, where);
  Layout outer = row_major(IntTuple(std::move(rows)), where);
  std::vector<std::int64_t> strides = layout::leaves(outer.stride());
  for (std::int64_t& stride : strides) stride = checked_mul(stride, pitch, where);
  std::vector<Layout> modes =
      Layout(outer.shape(), layout::rebuild(outer.shape(), strides), where).modes();
  modes.push_back(compact.mode(n - 1));
  return make_layout(modes, where);
}

TileLayout swizzled_row_major(const std::vector<std::int64_t>& shape, int element_bytes,
                              int span_bytes, Location where) {
  int log2_bytes = log2_element_bytes(element_bytes, where);
  Layout compact = row_major(shape, where);
  if (shape.size() < 2) {
    raise(ErrorCode::E0425, where,
          {.needed = "a tile of two or more dimensions",
           .found = fmt::format("{}", shape.size()),
           .help = "give the tile a dimension of rows"});
  }
  std::int64_t rows = shape[shape.size() - 2];
  std::int64_t columns = shape.back();
  check_span(columns, element_bytes, span_bytes, where);
  std::int64_t width = span_bytes / element_bytes;
  check_rows(rows, size(compact) / rows / width, where);

  std::vector<Layout> modes = compact.modes();
  modes[shape.size() - 2] = Layout(rows, width, where);
  if (columns > width) {
    modes.back() = Layout({width, columns / width}, {1, rows * width}, where);
  }
  // The hardware XORs bits 4.. of the byte address with the bits 3 higher.
  int bits = std::countr_zero(static_cast<unsigned>(span_bytes)) - 4;
  return TileLayout(make_layout(modes, where), Swizzle(bits, 4 - log2_bytes, 3, where), where);
}

}  // namespace tilecopy
