// Kernels of aligned tiles, on the target that TILECOPY_TEST_TARGET names, against the reference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "property/check.h"
#include "tilecopy/error.h"

namespace tilecopy::property {
namespace {

constexpr int parts = 10;
constexpr std::size_t batch_size = 50;

std::uint64_t case_count() {
  const char* text = std::getenv("TILECOPY_TEST_CASES");
  return text ? std::strtoull(text, nullptr, 10) : 1000;
}

void run_batch(const std::vector<Description>& kernels) {
  std::vector<Function> functions;
  for (const Description& kernel : kernels) functions.push_back(build(kernel));
  const std::vector<CompiledKernel> compiled = compile_batch(functions, 1);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    std::string what;
    if (std::getenv("TILECOPY_TEST_VERBOSE")) std::cerr << "seed " << kernels[i].seed << std::endl;
    try {
      what = check_launches(kernels[i], compiled[i]);
    } catch (const Error& error) {
      what = error.what();
    }
    EXPECT_EQ(what, "") << "tiles seed " << kernels[i].seed << "\n"
                        << functions[i].text() << compiled[i].explain();
    if (!what.empty()) return;  // the context may be lost
  }
}

void run_seeds(std::uint64_t first, std::uint64_t last) {
  std::vector<Description> batch;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    batch.push_back(generate_tiles(seed));
    if (batch.size() < batch_size && seed + 1 < last) continue;
    run_batch(batch);
    std::cout << "kernels: " << batch.size() << std::endl;
    batch.clear();
    if (testing::Test::HasFailure()) return;
  }
}

class Tiles : public testing::TestWithParam<int> {};

TEST_P(Tiles, AgreeWithTheReference) {
  if (const char* seed = std::getenv("TILECOPY_TEST_SEED")) {
    const std::uint64_t value = std::strtoull(seed, nullptr, 10);
    if (value % parts == static_cast<std::uint64_t>(GetParam())) run_seeds(value, value + 1);
    return;
  }
  const std::uint64_t count = case_count();
  const auto part = static_cast<std::uint64_t>(GetParam());
  run_seeds(count * part / parts, count * (part + 1) / parts);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Tiles, testing::Range(0, parts));

}  // namespace
}  // namespace tilecopy::property
