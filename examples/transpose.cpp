// A matrix transpose through shared memory. Both copies move whole rows of memory; the tile is
// turned in between. The padding puts each row of the turned tile into other banks of a GPU's
// shared memory, so that writing a column of it is as quick as writing a row.
#include <tilecopy/tilecopy.h>

#include <iostream>

namespace tc = tilecopy;

tc::Function transpose() {
  return tc::function("transpose", [] {
    auto m = tc::symbol("m");
    auto n = tc::symbol("n");
    auto a = tc::tensor("A", {m, n}, tc::float32);
    auto b = tc::tensor("B", {n, m}, tc::float32);
    auto [bx, by] = tc::kernel({tc::ceildiv(n, 32), tc::ceildiv(m, 64)});
    auto tile = tc::alloc_shared({64, 32}, tc::float32, "tile");
    auto turned = tc::alloc_shared({32, 64}, tc::float32, "turned");
    tc::annotate_layout(turned, tc::padded_row_major({32, 64}, 1));
    tc::copy(a(by * 64, bx * 32), tile);
    tc::transpose(tile, turned);
    tc::copy(turned, b(bx * 32, by * 64));
  });
}

int main() {
  const tc::Function function = transpose();
  std::cout << function.text() << "\n";
  const tc::CompiledKernel kernel = tc::compile(function);

  const int64_t m = 700, n = 1001;
  tc::Tensor a({m, n}, tc::float32);
  tc::Tensor b({n, m}, tc::float32);
  a.fill_random(1);
  kernel(a, b);

  int64_t wrong = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) wrong += b.at<float>(j, i) == a.at<float>(i, j) ? 0 : 1;
  }
  std::cout << "transpose: " << m << "x" << n << ", " << wrong << " wrong\n";
  return wrong == 0 ? 0 : 1;
}
