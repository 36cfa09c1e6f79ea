// The first kernel: each block brings a tile of A into shared memory, doubles it and writes it to
// B. The hints ask for the best way on a GPU and change no result anywhere; explain() tells what
// became of each copy and of its hints.
#include <tilecopy/tilecopy.h>

#include <iostream>

namespace tc = tilecopy;

tc::Function scale(int64_t rows, int64_t cols) {
  return tc::function("scale", [&] {
    auto a = tc::tensor("A", {rows, cols}, tc::float16);
    auto b = tc::tensor("B", {rows, cols}, tc::float16);
    auto [bx, by] = tc::kernel({tc::ceildiv(cols, 128), tc::ceildiv(rows, 64)}, {.threads = 128});
    auto tile = tc::alloc_shared({64, 128}, tc::float16);
    tc::cuda::copy(a(by * 64, bx * 128), tile,
                   {.eviction_policy = "evict_first", .prefer_instruction = "tma"});
    tc::parallel({64, 128}, [&](tc::Var i, tc::Var j) { tile(i, j) = tile(i, j) * 2; });
    tc::cuda::copy(tile, b(by * 64, bx * 128));
  });
}

int main() {
  const int64_t rows = 1000, cols = 600;
  tc::CompiledKernel kernel = tc::compile(scale(rows, cols), "cpu");
  std::cout << kernel.explain() << "\n";

  tc::Tensor a({rows, cols}, tc::float16);
  tc::Tensor b({rows, cols}, tc::float16);
  a.fill_random(1);
  kernel(a, b);

  // C++20 has no 16-bit float, so look at the bits: twice as much is one more in the exponent.
  const auto from = a.elements<uint16_t>();
  const auto to = b.elements<uint16_t>();
  int64_t wrong = 0;
  for (size_t i = 0; i < from.size(); ++i) wrong += to[i] == from[i] + (1 << 10) ? 0 : 1;
  std::cout << "scale: " << from.size() << " elements, " << wrong << " wrong\n";
  return wrong == 0 ? 0 : 1;
}
