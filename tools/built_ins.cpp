#include "built_ins.h"

#include <algorithm>

namespace tilecopy::tool {
namespace {

using Extents = std::vector<std::int64_t>;

std::vector<Expr> exprs(const Extents& extents) { return {extents.begin(), extents.end()}; }

// The part of a tensor that a block works on: one tile of the last two dimensions.
struct TilePlace {
  std::vector<Expr> outer;  // an index for each dimension before the last two
  Expr row, column;         // where the tile begins
};

// A grid of blocks over the tiles of a tensor of rank 2 or more: columns, rows (or the other way
// round), and one dimension that counts through all the others, the last of them fastest.
TilePlace start_kernel(const BuiltIn& built_in, bool rows_first = false) {
  const std::size_t outer = built_in.shape.size() - 2;
  const Extents& tile = built_in.tile;
  std::vector<Expr> grid = {ceildiv(built_in.shape[outer + 1], tile[1]),
                            ceildiv(built_in.shape[outer], tile[0])};
  if (rows_first) std::swap(grid[0], grid[1]);
  Expr outer_size = 1;
  for (std::size_t d = 0; d < outer; ++d) outer_size = outer_size * built_in.shape[d];
  if (outer > 0) grid.push_back(outer_size);
  const std::vector<Var> block =
      kernel_grid(grid, {.threads = built_in.threads}, SourceLocation::current());

  const Var &row = block[rows_first ? 0 : 1], &column = block[rows_first ? 1 : 0];
  TilePlace place{std::vector<Expr>(outer), row * tile[0], column * tile[1]};
  Expr rest = outer > 0 ? Expr(block[2]) : Expr(0);
  for (std::size_t d = outer; d-- > 0;) {
    place.outer[d] = d == 0 ? rest : rest % built_in.shape[d];
    rest = rest / built_in.shape[d];
  }
  return place;
}

Access region(const Buffer& tensor, const TilePlace& place, const Extents& tile) {
  std::vector<Index> indices(place.outer.begin(), place.outer.end());
  indices.push_back(range(place.row, place.row + tile[0]));
  indices.push_back(range(place.column, place.column + tile[1]));
  return {tensor, indices};
}

// From one region to the other, by a tile or directly.
void copy_region(const Access& from, const Access& to, const BuiltIn& built_in) {
  if (built_in.through == Through::nothing) {
    cuda::copy(from, to, built_in.hints);
    return;
  }
  const std::vector<Expr> shape = exprs(built_in.tile);
  Buffer tile = built_in.through == Through::shared ? alloc_shared(shape, built_in.dtype, "tile")
                                                    : alloc_fragment(shape, built_in.dtype, "tile");
  cuda::copy(from, tile, built_in.hints);
  cuda::copy(tile, to, built_in.hints);
}

Function copy_function(const BuiltIn& built_in) {
  return function("copy", [&] {
    Buffer a = tensor("A", exprs(built_in.shape), built_in.dtype);
    Buffer b = tensor("B", exprs(built_in.shape), built_in.dtype);
    TilePlace place = start_kernel(built_in);
    copy_region(region(a, place, built_in.tile), region(b, place, built_in.tile), built_in);
  });
}

Function copy_vector_function(const BuiltIn& built_in) {
  return function("copy", [&] {
    const std::int64_t size = built_in.shape[0], step = built_in.tile[0];
    Buffer a = tensor("A", {size}, built_in.dtype);
    Buffer b = tensor("B", {size}, built_in.dtype);
    auto [bx] = kernel({ceildiv(size, step)}, {.threads = built_in.threads});
    copy_region(a(range(bx * step, bx * step + step)), b(range(bx * step, bx * step + step)),
                built_in);
  });
}

Function transpose_function(const BuiltIn& built_in) {
  return function("transpose", [&] {
    const Extents turned_tile = {built_in.tile[1], built_in.tile[0]};
    Buffer a = tensor("A", exprs(built_in.shape), built_in.dtype);
    Buffer b = tensor("B", exprs(output_shape(built_in)), built_in.dtype);
    TilePlace place = start_kernel(built_in, built_in.direct);
    TilePlace turned_place{place.outer, place.column, place.row};
    Buffer tile = alloc_shared(exprs(built_in.tile), built_in.dtype, "tile");
    cuda::copy(region(a, place, built_in.tile), tile, built_in.hints);
    if (built_in.direct) {
      transpose(tile, region(b, turned_place, turned_tile));
      return;
    }
    Buffer turned = alloc_shared(exprs(turned_tile), built_in.dtype, "turned");
    transpose(tile, turned);
    cuda::copy(turned, region(b, turned_place, turned_tile), built_in.hints);
  });
}

Function im2col_function(const BuiltIn& built_in) {
  return function("im2col", [&] {
    const Extents matrix = output_shape(built_in);
    const std::int64_t block_m = built_in.tile[0], block_k = built_in.tile[1];
    const Window& w = built_in.window;
    Buffer img = tensor("img", exprs(built_in.shape), built_in.dtype);
    Buffer col = tensor("col", exprs(matrix), built_in.dtype);
    auto [bk, bm] = kernel({ceildiv(matrix[1], block_k), ceildiv(matrix[0], block_m)},
                           {.threads = built_in.threads});
    Buffer tile = alloc_shared({block_m, block_k}, built_in.dtype, "tile");
    cuda::im2col(img, tile, bm, bk, w.kernel, w.stride, w.dilation, w.pad,
                 {.eviction_policy = built_in.hints.eviction_policy});
    cuda::copy(tile,
               col(range(bm * block_m, bm * block_m + block_m),
                   range(bk * block_k, bk * block_k + block_k)),
               built_in.hints);
  });
}

std::int64_t output_extent(std::int64_t input, std::int64_t kernel, std::int64_t stride,
                           std::int64_t dilation, std::int64_t pad) {
  const std::int64_t room = input + 2 * pad - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

// The product of extents, which TensorView checks for overflow.
std::int64_t product(Extents extents) {
  return TensorView(nullptr, DType::int8, std::move(extents)).size();
}

}  // namespace

std::vector<std::int64_t> output_shape(const BuiltIn& kernel) {
  Extents shape = kernel.shape;
  if (kernel.kind == BuiltInKind::transpose) std::swap(shape.rbegin()[0], shape.rbegin()[1]);
  if (kernel.kind != BuiltInKind::im2col) return shape;
  const Window& w = kernel.window;
  const std::int64_t oh = output_extent(shape[1], w.kernel.h, w.stride.h, w.dilation.h, w.pad.h);
  const std::int64_t ow = output_extent(shape[2], w.kernel.w, w.stride.w, w.dilation.w, w.pad.w);
  return {product({shape[0], oh, ow}), product({w.kernel.h, w.kernel.w, shape[3]})};
}

Function make_built_in(const BuiltIn& kernel) {
  switch (kernel.kind) {
    case BuiltInKind::copy:
      return kernel.shape.size() == 1 ? copy_vector_function(kernel) : copy_function(kernel);
    case BuiltInKind::transpose: return transpose_function(kernel);
    case BuiltInKind::im2col: break;
  }
  return im2col_function(kernel);
}

}  // namespace tilecopy::tool
