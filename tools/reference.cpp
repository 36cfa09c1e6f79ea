#include "reference.h"

namespace tilecopy::tool {
namespace {

// Walks the output in row-major order: each call compares the next element.
template <typename T>
class Comparison {
 public:
  Comparison(const Tensor& input, const Tensor& output)
      : input_(input.elements<T>().data()), output_(output.elements<T>().data()) {}

  void next_is(std::int64_t source) { next(input_[source], source); }
  void next_is_zero() { next(T{0}, std::nullopt); }

  const std::optional<Mismatch>& result() const { return result_; }

 private:
  void next(T needed, std::optional<std::int64_t> source) {
    if (output_[at_] != needed && !result_) result_ = {at_, source};
    ++at_;
  }

  const T* input_;
  const T* output_;
  std::int64_t at_ = 0;
  std::optional<Mismatch> result_;
};

template <typename T>
void compare_copy(const BuiltIn& kernel, Comparison<T>& comparison) {
  std::int64_t size = 1;
  for (std::int64_t extent : kernel.shape) size *= extent;
  for (std::int64_t i = 0; i < size; ++i) comparison.next_is(i);
}

template <typename T>
void compare_transpose(const BuiltIn& kernel, Comparison<T>& comparison) {
  const std::size_t rank = kernel.shape.size();
  const std::int64_t rows = kernel.shape[rank - 2], columns = kernel.shape[rank - 1];
  std::int64_t matrices = 1;
  for (std::size_t d = 0; d + 2 < rank; ++d) matrices *= kernel.shape[d];
  for (std::int64_t m = 0; m < matrices; ++m)
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t r = 0; r < rows; ++r) comparison.next_is((m * rows + r) * columns + c);
}

// One row of the matrix: the pixels under the window whose corner lies at (top, left).
template <typename T>
void compare_window(const BuiltIn& kernel, std::int64_t n, std::int64_t top, std::int64_t left,
                    Comparison<T>& comparison) {
  const std::int64_t height = kernel.shape[1], width = kernel.shape[2], channels = kernel.shape[3];
  const Window& w = kernel.window;
  for (std::int64_t kh = 0; kh < w.kernel.h; ++kh)
    for (std::int64_t kw = 0; kw < w.kernel.w; ++kw)
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t y = top + kh * w.dilation.h, x = left + kw * w.dilation.w;
        if (y < 0 || y >= height || x < 0 || x >= width) {
          comparison.next_is_zero();
        } else {
          comparison.next_is(((n * height + y) * width + x) * channels + c);
        }
      }
}

template <typename T>
void compare_im2col(const BuiltIn& kernel, Comparison<T>& comparison) {
  const Window& w = kernel.window;
  const std::int64_t last_top = kernel.shape[1] + w.pad.h - w.dilation.h * (w.kernel.h - 1) - 1;
  const std::int64_t last_left = kernel.shape[2] + w.pad.w - w.dilation.w * (w.kernel.w - 1) - 1;
  for (std::int64_t n = 0; n < kernel.shape[0]; ++n)
    for (std::int64_t top = -w.pad.h; top <= last_top; top += w.stride.h)
      for (std::int64_t left = -w.pad.w; left <= last_left; left += w.stride.w)
        compare_window(kernel, n, top, left, comparison);
}

template <typename T>
std::optional<Mismatch> compare_bits(const BuiltIn& kernel, const Tensor& input,
                                     const Tensor& output) {
  Comparison<T> comparison(input, output);
  switch (kernel.kind) {
    case BuiltInKind::copy: compare_copy(kernel, comparison); break;
    case BuiltInKind::transpose: compare_transpose(kernel, comparison); break;
    case BuiltInKind::im2col: compare_im2col(kernel, comparison); break;
  }
  return comparison.result();
}

}  // namespace

std::optional<Mismatch> compare(const BuiltIn& kernel, const Tensor& input, const Tensor& output) {
  switch (bytes(kernel.dtype)) {
    case 1: return compare_bits<std::uint8_t>(kernel, input, output);
    case 2: return compare_bits<std::uint16_t>(kernel, input, output);
    case 4: return compare_bits<std::uint32_t>(kernel, input, output);
    default: return compare_bits<std::uint64_t>(kernel, input, output);
  }
}

}  // namespace tilecopy::tool
