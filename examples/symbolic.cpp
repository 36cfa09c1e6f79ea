// One kernel for all sizes: n and pitch get their values from the arrays of each launch. Arguments
// that do not fit are refused before anything is written, with an error that says what was needed.
#include <tilecopy/tilecopy.h>

#include <iostream>

namespace tc = tilecopy;

tc::Function axpy() {
  return tc::function("axpy", [] {
    auto n = tc::symbol("n");
    auto pitch = tc::symbol("pitch");
    auto x = tc::tensor("x", {n, 16}, tc::float32, {pitch, 1});  // rows with a gap between them
    auto y = tc::tensor("y", {n, 16}, tc::float32);
    auto factor = tc::scalar("factor", tc::float32);
    auto [bx] = tc::kernel({tc::ceildiv(n, 8)});
    auto tx = tc::alloc_fragment({8, 16}, tc::float32);
    auto ty = tc::alloc_fragment({8, 16}, tc::float32);
    tc::copy(x(bx * 8, 0), tx);
    tc::copy(y(bx * 8, 0), ty);
    tc::parallel({8, 16}, [&](tc::Var i, tc::Var j) { ty(i, j) += factor * tx(i, j); });
    tc::copy(ty, y(bx * 8, 0));
  });
}

int main() {
  const tc::CompiledKernel kernel = tc::compile(axpy());
  int64_t wrong = 0, launches = 0;
  for (int64_t n : {0, 1, 8, 100}) {
    for (int64_t pitch : {16, 40}) {
      std::vector<float> x(static_cast<size_t>(n * pitch), 3);
      std::vector<float> y(static_cast<size_t>(n * 16), 1);
      kernel(tc::TensorView(x.data(), tc::float32, {n, 16}, {pitch, 1}), tc::TensorView(y, {n, 16}),
             0.5);
      for (float value : y) wrong += value == 2.5f ? 0 : 1;
      ++launches;
    }
  }

  tc::Tensor x({8, 16}, tc::float32);
  tc::Tensor y({9, 16}, tc::float32);
  try {
    kernel(x, y, 0.5);
    ++wrong;
  } catch (const tc::UserError& error) {
    std::cout << error.what() << "\n\n";
    wrong += error.code() == "E0704" ? 0 : 1;
  }
  std::cout << "symbolic: " << launches << " launches of one kernel, " << wrong << " wrong\n";
  return wrong == 0 ? 0 : 1;
}
