#include "emulator/tensor_copy.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilecopy::emulator {
namespace {

constexpr std::int64_t granule = 16;  // of swizzles and of the unit's accesses

std::int64_t element_bytes(const run::BoundMap& map) { return bytes(map.dtype); }

// The elements of a box along a dimension: it walks in steps of the element stride.
std::int64_t count(const run::TensorMapRecipe& recipe, std::size_t d) {
  std::int64_t step = recipe.element_strides[d];
  return (recipe.box[d] + step - 1) / step;
}

// 16-byte chunks change places with those of other rows. PTX ISA, swizzling modes.
std::int64_t swizzled(std::int64_t address, int span) {
  if (span == 0) return address;
  const std::int64_t chunks = span / granule;
  return address ^ ((address >> 7 & (chunks - 1)) << 4);
}

// Splits one row of the box into pieces.
class Rows {
 public:
  Rows(const run::BoundMap& map, std::int64_t shared) : map_(map), shared_(shared) {
    row_bytes_ = count(*map.recipe, 0) * element_bytes(map);
    pitch_ = map.recipe->swizzle_bytes ? map.recipe->swizzle_bytes : row_bytes_;
  }

  /// Row number `row`, from element `first` of the innermost dimension on; the rest of the
  /// coordinates are at `outer` bytes, or outside.
  void add(std::int64_t row, std::int64_t first, std::int64_t outer, bool inside) {
    const std::int64_t element = element_bytes(map_);
    const auto limit = static_cast<std::int64_t>(map_.dims[0]) * element;
    for (std::int64_t at = 0; at < row_bytes_;) {
      std::int64_t begin = first * element + at;
      std::int64_t size = std::min(granule - at % granule, row_bytes_ - at);
      bool here = inside && begin >= 0 && begin < limit;
      if (here) size = std::min(size, limit - begin);
      if (inside && begin < 0) size = std::min(size, -begin);
      std::int64_t address = swizzled(shared_ + row * pitch_ + at, map_.recipe->swizzle_bytes);
      pieces.push_back({address, here ? outer + begin : 0, static_cast<int>(size), here});
      at += size;
    }
  }

  std::vector<Piece> pieces;

 private:
  const run::BoundMap& map_;
  std::int64_t shared_, row_bytes_, pitch_;
};

}  // namespace

std::vector<Piece> tile_pieces(const run::BoundMap& map, const std::vector<std::int64_t>& start,
                               std::int64_t shared) {
  const run::TensorMapRecipe& recipe = *map.recipe;
  const std::size_t rank = map.dims.size();
  std::int64_t rows = 1;
  for (std::size_t d = 1; d < rank; ++d) rows *= count(recipe, d);
  Rows result(map, shared);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t rest = row, outer = 0;
    bool inside = true;
    for (std::size_t d = 1; d < rank; ++d) {
      std::int64_t at = start[d] + rest % count(recipe, d) * recipe.element_strides[d];
      rest /= count(recipe, d);
      inside = inside && at >= 0 && at < static_cast<std::int64_t>(map.dims[d]);
      if (inside) outer += at * static_cast<std::int64_t>(map.strides[d - 1]);
    }
    result.add(row, start[0], outer, inside);
  }
  return std::move(result.pieces);
}

std::vector<Piece> im2col_pieces(const run::BoundMap& map, const std::vector<std::int64_t>& start,
                                 const std::vector<std::int64_t>& tap, std::int64_t shared) {
  const run::TensorMapRecipe& recipe = *map.recipe;
  const auto extent = [&](std::size_t d) { return static_cast<std::int64_t>(map.dims[d]); };
  std::int64_t at[2] = {start[1], start[2]};
  std::int64_t image = start[3];
  Rows result(map, shared);
  for (std::int64_t pixel = 0; pixel < recipe.box[1]; ++pixel) {
    const std::int64_t w = at[0] + tap[0], h = at[1] + tap[1];
    const bool inside =
        w >= 0 && w < extent(1) && h >= 0 && h < extent(2) && image >= 0 && image < extent(3);
    std::int64_t outer = 0;
    if (inside) {
      outer = w * static_cast<std::int64_t>(map.strides[0]) +
              h * static_cast<std::int64_t>(map.strides[1]) +
              image * static_cast<std::int64_t>(map.strides[2]);
    }
    result.add(pixel, start[0], outer, inside);
    // The corners bound where filters begin; past the last of a row comes the next row.
    for (std::size_t d = 0; d < 2; ++d) {
      at[d] += recipe.element_strides[d + 1];
      if (at[d] < extent(d + 1) + recipe.upper[d]) break;
      at[d] = recipe.lower[d];
      if (d == 1) ++image;
    }
  }
  return std::move(result.pieces);
}

std::int64_t box_bytes(const run::BoundMap& map) {
  const run::TensorMapRecipe& recipe = *map.recipe;
  if (recipe.im2col) return recipe.box[0] * recipe.box[1] * element_bytes(map);
  std::int64_t result = element_bytes(map);
  for (std::size_t d = 0; d < map.dims.size(); ++d) result *= count(recipe, d);
  return result;
}

std::string broken_rule(const run::BoundMap& map, const std::vector<std::int64_t>& start,
                        std::int64_t shared, bool store) {
  const std::int64_t element = element_bytes(map);
  if (shared % 128 != 0) {
    return fmt::format("needed a shared address that is a multiple of 128, found {}", shared);
  }
  if (start[0] * element % granule != 0) {
    return fmt::format(
        "needed an innermost start at a multiple of 16 bytes, found element {} of "
        "{} bytes",
        start[0], element);
  }
  for (std::int64_t at : start) {
    if (at < INT32_MIN || at > INT32_MAX) {
      return fmt::format("needed coordinates of 32 bits, found {}", at);
    }
    if (store && at < 0)
      return fmt::format("needed a store that starts at 0 or above, found {}", at);
  }
  // It would overwrite up to the end of the 16-byte granule.
  const std::int64_t row = static_cast<std::int64_t>(map.dims[0]) * element;
  const std::int64_t last = (start[0] + map.recipe->box[0]) * element;
  if (store && row % granule != 0 && last > row) {
    return fmt::format("needed a store that does not end inside 16 bytes, found rows of {} bytes",
                       row);
  }
  return {};
}

}  // namespace tilecopy::emulator
