// Sizes that no tile divides, a cast on the way, and a safe value. A copy reads what lies outside
// of its source as the safe value and writes nothing outside of its destination, so the kernel has
// no conditions for the edges. B is larger than A: its margin gets the safe value.
#include <tilecopy/tilecopy.h>

#include <bit>
#include <iostream>

namespace tc = tilecopy;

tc::Function ragged_cast() {
  return tc::function("ragged_cast", [] {
    auto a = tc::tensor("A", {100, 37}, tc::float32);
    auto b = tc::tensor("B", {110, 45}, tc::bfloat16);
    auto [bx, by] = tc::kernel({tc::ceildiv(45, 16), tc::ceildiv(110, 32)});
    auto tile = tc::alloc_shared({32, 16}, tc::bfloat16);
    tc::annotate_safe_value(a, -1);
    tc::copy(a(by * 32, bx * 16), tile);  // float32 to bfloat16, rounded to nearest even
    tc::copy(tile, b(by * 32, bx * 16));  // the last tiles reach past the end of B
  });
}

// bfloat16 is the upper half of float32.
float widen(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

int main() {
  tc::Tensor a({100, 37}, tc::float32);
  tc::Tensor b({110, 45}, tc::bfloat16);
  // Small integers, which bfloat16 holds exactly.
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 37; ++j) a.at<float>(i, j) = static_cast<float>((i * 37 + j) % 251);
  }
  tc::compile(ragged_cast())(a, b);

  int wrong = 0, margin = 0;
  for (int i = 0; i < 110; ++i) {
    for (int j = 0; j < 45; ++j) {
      const bool inside = i < 100 && j < 37;
      const float needed = inside ? a.at<float>(i, j) : -1;
      margin += inside ? 0 : 1;
      wrong += widen(b.at<uint16_t>(i, j)) == needed ? 0 : 1;
    }
  }
  std::cout << "ragged_cast: 100x37 float32 to 110x45 bfloat16, " << margin
            << " elements of margin, " << wrong << " wrong\n";
  return wrong == 0 ? 0 : 1;
}
