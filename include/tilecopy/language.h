// The common dialect: how a kernel of tile copies is written in C++.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tilecopy/expr.h"
#include "tilecopy/layout.h"
#include "tilecopy/types.h"

namespace tilecopy {

namespace ir {
struct Kernel;
}

using SourceLocation = std::source_location;

/// A kernel that has been written and checked, ready to compile for any target.
class Function {
 public:
  explicit Function(std::shared_ptr<const ir::Kernel> kernel) : kernel_(std::move(kernel)) {}

  const std::string& name() const;
  /// The text form, which `parse` reads back.
  std::string text() const;
  const ir::Kernel& kernel() const { return *kernel_; }
  const std::shared_ptr<const ir::Kernel>& shared() const { return kernel_; }

 private:
  std::shared_ptr<const ir::Kernel> kernel_;
};

/// Records the kernel that `body` writes. Errors carry the line of the statement at fault.
Function function(const std::string& name, const std::function<void()>& body,
                  SourceLocation at = SourceLocation::current());

/// Reads a kernel in the text form (docs/text-form.md); `file` is the name used in errors.
Function parse(const std::string& text, const std::string& file = "<text>");

/// A size or stride known at launch; it gets its value from the tensors that use it.
Var symbol(const std::string& name, SourceLocation at = SourceLocation::current());

/// A tensor parameter. `strides` are in elements; without them the tensor is row-major. A dimension
/// of extent 0 is legal.
Buffer tensor(const std::string& name, const std::vector<Expr>& shape, DType dtype,
              const std::vector<Expr>& strides = {}, SourceLocation at = SourceLocation::current());

/// A scalar parameter.
Var scalar(const std::string& name, DType dtype, SourceLocation at = SourceLocation::current());

struct KernelOptions {
  int threads = 128;  ///< threads of a block, 1 to 1024
};

std::vector<Var> kernel_grid(const std::vector<Expr>& grid, const KernelOptions& options,
                             SourceLocation at);

/// Starts the kernel: a grid of one to three dimensions of blocks. Returns the block indices, the
/// fastest-varying first.
template <std::size_t N>
std::array<Var, N> kernel(const Expr (&grid)[N], KernelOptions options = {},
                          SourceLocation at = SourceLocation::current()) {
  std::vector<Var> indices = kernel_grid(std::vector<Expr>(grid, grid + N), options, at);
  std::array<Var, N> result;
  for (std::size_t i = 0; i < N; ++i) result[i] = indices[i];
  return result;
}

/// A tile of the block's shared memory; constant extents. An empty name is made up. Its elements
/// have no defined value until they are written; the same holds for every tile.
Buffer alloc_shared(const std::vector<Expr>& shape, DType dtype, const std::string& name = {},
                    SourceLocation at = SourceLocation::current());
/// A register tile shared out over the threads of the block.
Buffer alloc_fragment(const std::vector<Expr>& shape, DType dtype, const std::string& name = {},
                      SourceLocation at = SourceLocation::current());
/// Registers private to each thread. Inside a parallel loop, private to each iteration.
Buffer alloc_local(const std::vector<Expr>& shape, DType dtype, const std::string& name = {},
                   SourceLocation at = SourceLocation::current());

/// Places the elements of a tile; the layout's shape is the tile's, and it is one-to-one.
void annotate_layout(const Buffer& tile, const TileLayout& layout,
                     SourceLocation at = SourceLocation::current());
/// Shares the elements of a fragment tile out over threads and registers.
void annotate_layout(const Buffer& tile, const Fragment& layout,
                     SourceLocation at = SourceLocation::current());
/// The value that later copies and reads see for elements of `buffer` out of bounds; 0 without.
/// Holds until the end of the enclosing loop or branch.
void annotate_safe_value(const Buffer& buffer, const Expr& value,
                         SourceLocation at = SourceLocation::current());

/// What a tile operation acts on: a whole buffer, an element, or a region. A bare element borrows
/// the other side's extents.
class Operand {
 public:
  Operand(Buffer buffer) : buffer_(std::move(buffer)) {}  // NOLINT: buffers are operands
  Operand(const Access& access)                           // NOLINT: accesses are operands
      : buffer_(access.buffer()), indices_(access.indices()), whole_(false) {}

  const Buffer& buffer() const { return buffer_; }
  const std::vector<Index>& indices() const { return indices_; }
  bool whole() const { return whole_; }

 private:
  Buffer buffer_;
  std::vector<Index> indices_;
  bool whole_ = true;
};

/// A value of `annotations`.
using AnnotationValue = std::variant<bool, std::int64_t, std::string, Fragment>;

struct Annotation {
  Annotation(bool v) : value(v) {}                               // NOLINT
  Annotation(int v) : value(std::int64_t{v}) {}                  // NOLINT
  Annotation(std::int64_t v) : value(v) {}                       // NOLINT
  Annotation(const char* v) : value(std::string(v ? v : "")) {}  // NOLINT
  Annotation(std::string v) : value(std::move(v)) {}             // NOLINT
  Annotation(Fragment v) : value(std::move(v)) {}                // NOLINT

  AnnotationValue value;
};

/// Hints by name; a value here beats the option of the same name. Unknown names, wrong types and
/// unknown values are errors on every target.
using Annotations = std::map<std::string, Annotation>;

/// Names a recorded tile operation: `kernel.plan(handle)` tells how it is carried out.
struct CopyHandle {
  int id = -1;                 ///< its place among the tile operations of the function
  std::uint64_t function = 0;  ///< which function
};

struct CopyOptions {
  std::optional<std::int64_t> coalesced_width = {};  ///< elements of one access of a thread
  Annotations annotations = {};
  std::optional<Fragment> loop_layout = {};  ///< thread and register of each element of the tile
};

/// Copies src to dst, casting to dst's dtype. The extents of the two sides are equal after dropping
/// dimensions of extent 1. Source elements outside of the region or buffer read as the safe value;
/// destination elements outside are not written.
CopyHandle copy(const Operand& src, const Operand& dst, const CopyOptions& options = {},
                SourceLocation at = SourceLocation::current());

/// An int for both directions, or (height, width).
struct HeightWidth {
  HeightWidth(std::int64_t both) : h(both), w(both) {}  // NOLINT
  HeightWidth(std::int64_t height, std::int64_t width) : h(height), w(width) {}
  std::int64_t h, w;
};

struct Im2colOptions {
  Annotations annotations = {};
};

/// One tile of the im2col matrix of a convolution. `img` is (N, H, W, C); the last two dimensions
/// of `col` are (block_m, block_k). Row m = nhw_step * block_m + i is output pixel (n, oh, ow),
/// column k = c_step * block_k + j is (kh, kw, c) in that order, c fastest. The value is img[n,
/// oh*stride + kh*dilation - pad, ow*stride + kw*dilation - pad, c], or 0 where that lies outside
/// of the image, and 0 for rows and columns past the end of the matrix.
CopyHandle im2col(const Buffer& img, const Operand& col, const Expr& nhw_step, const Expr& c_step,
                  HeightWidth kernel, HeightWidth stride, HeightWidth dilation, HeightWidth pad,
                  const Im2colOptions& options = {}, SourceLocation at = SourceLocation::current());

/// Swaps the last two dimensions; otherwise a copy.
CopyHandle transpose(const Operand& src, const Operand& dst,
                     SourceLocation at = SourceLocation::current());
/// Sets every element; the value is cast to the dtype of dst.
void fill(const Operand& dst, const Expr& value, SourceLocation at = SourceLocation::current());
void clear(const Operand& dst, SourceLocation at = SourceLocation::current());

/// Output extent of a convolution along one axis.
inline Expr conv_extent(const Expr& input, std::int64_t kernel, std::int64_t stride,
                        std::int64_t dilation, std::int64_t pad) {
  return (input + (2 * pad - dilation * (kernel - 1) - 1)) / stride + 1;
}

struct ParallelOptions {
  std::optional<std::int64_t> coalesced_width = {};
  std::optional<Fragment> loop_layout = {};
};

void parallel_loop(const std::vector<Expr>& extents,
                   const std::function<void(const std::vector<Var>&)>& body,
                   const ParallelOptions& options, SourceLocation at);

namespace detail {
template <std::size_t N, typename Body, std::size_t... I>
void call_with(const Body& body, const std::vector<Var>& vars, std::index_sequence<I...>) {
  body(vars[I]...);
}
}  // namespace detail

/// An element loop nest, its iterations shared out over the threads of the block. Iterations must
/// not depend on each other.
template <std::size_t N, typename Body>
void parallel(const Expr (&extents)[N], Body body, ParallelOptions options = {},
              SourceLocation at = SourceLocation::current()) {
  parallel_loop(
      std::vector<Expr>(extents, extents + N),
      [&](const std::vector<Var>& vars) {
        detail::call_with<N>(body, vars, std::make_index_sequence<N>{});
      },
      options, at);
}

/// A loop over [0, extent) or [begin, end), run in order by the whole block.
void serial(const Expr& extent, const std::function<void(Var)>& body,
            SourceLocation at = SourceLocation::current());
void serial(const Expr& begin, const Expr& end, const std::function<void(Var)>& body,
            SourceLocation at = SourceLocation::current());
/// A serial loop that the compiler unrolls; the extent is constant.
void unrolled(const Expr& extent, const std::function<void(Var)>& body,
              SourceLocation at = SourceLocation::current());
void if_then(const Expr& condition, const std::function<void()>& then_body,
             const std::function<void()>& else_body = nullptr,
             SourceLocation at = SourceLocation::current());

}  // namespace tilecopy
