// im2col of a photograph: a 3x3 convolution with stride 2 and padding 1, unfolded into a matrix
// with a row for each output pixel and a column for each weight. `im2col_photo [IMAGE.npy]` takes
// any uint8 array of shape (N, H, W, C).
#include <tilecopy/tilecopy.h>

#include <iostream>

namespace tc = tilecopy;

constexpr int64_t kernel_size = 3, stride = 2, pad = 1;

int64_t output_extent(int64_t input) { return (input + 2 * pad - kernel_size) / stride + 1; }

tc::Function unfold(const std::vector<int64_t>& shape, int64_t rows, int64_t cols) {
  return tc::function("unfold", [&] {
    auto img = tc::tensor("img", {shape[0], shape[1], shape[2], shape[3]}, tc::uint8);
    auto matrix = tc::tensor("matrix", {rows, cols}, tc::uint8);
    auto [bk, bm] = tc::kernel({tc::ceildiv(cols, 32), tc::ceildiv(rows, 64)});
    auto tile = tc::alloc_shared({64, 32}, tc::uint8);
    tc::im2col(img, tile, bm, bk, kernel_size, stride, 1, pad);
    tc::copy(tile, matrix(bm * 64, bk * 32));
  });
}

int main(int argc, char** argv) try {
  tc::Tensor img = tc::load_npy(argc > 1 ? argv[1] : TILECOPY_EXAMPLE_IMAGE, tc::uint8);
  if (img.rank() != 4) throw std::runtime_error("im2col_photo needs an array of rank 4");
  const int64_t h = img.shape()[1], w = img.shape()[2], channels = img.shape()[3];
  const int64_t oh = output_extent(h), ow = output_extent(w);
  tc::Tensor matrix({img.shape()[0] * oh * ow, kernel_size * kernel_size * channels}, tc::uint8);
  const int64_t rows = matrix.shape()[0], cols = matrix.shape()[1];
  tc::compile(unfold(img.shape(), rows, cols))(img, matrix);

  int64_t wrong = 0, padding = 0;
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t k = 0; k < cols; ++k) {
      const int64_t y = m / ow % oh * stride + k / channels / kernel_size - pad;
      const int64_t x = m % ow * stride + k / channels % kernel_size - pad;
      const bool inside = y >= 0 && y < h && x >= 0 && x < w;
      const uint8_t needed = inside ? img.at<uint8_t>(m / (oh * ow), y, x, k % channels) : 0;
      padding += inside ? 0 : 1;
      wrong += matrix.at<uint8_t>(m, k) == needed ? 0 : 1;
    }
  }
  std::cout << "im2col_photo: " << w << "x" << h << " pixels, a matrix of " << rows << "x" << cols
            << ", " << padding << " elements of padding, " << wrong << " wrong\n";
  return wrong == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
