// A program outside the project: it sees what a user sees, and runs a kernel as a user would.
#include <tilecopy/tilecopy.h>

#include <iostream>

namespace tc = tilecopy;

int main() try {
  const tc::CompiledKernel kernel = tc::compile(tc::function("add_one", [] {
    auto n = tc::symbol("n");
    auto a = tc::tensor("A", {n}, tc::float32);
    auto b = tc::tensor("B", {n}, tc::float32);
    auto [bx] = tc::kernel({tc::ceildiv(n, 64)});
    auto tile = tc::alloc_shared({64}, tc::float32);
    tc::copy(a(bx * 64), tile);
    tc::parallel({64}, [&](tc::Var i) { tile(i) += 1; });
    tc::copy(tile, b(bx * 64));
  }));
  std::vector<float> a(1000, 41), b(1000);
  kernel(tc::TensorView(a, {1000}), tc::TensorView(b, {1000}));
  for (float value : b) {
    if (value != 42) throw std::runtime_error("add_one gave a wrong result");
  }
  std::cout << "tilecopy " << tc::version() << " added one to " << b.size() << " numbers\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
