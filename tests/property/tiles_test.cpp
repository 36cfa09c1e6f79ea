// Kernels of aligned tiles, on the target that TILECOPY_TEST_TARGET names, against the reference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "property/check.h"
#include "tilecopy/error.h"

namespace tilecopy::property {
namespace {

constexpr int parts = 10;
constexpr std::uint64_t batch_size = 10;  // seeds that are compiled at once

std::uint64_t case_count() {
  const char* text = std::getenv("TILECOPY_TEST_CASES");
  return text ? std::strtoull(text, nullptr, 10) : 1000;
}

// Every other batch leaves the choice to the planner; the others take each way in turn.
const char* method_of(std::uint64_t seed) {
  static constexpr const char* cpu[] = {"host_stream", "host_run", "host_loop"};
  static constexpr const char* cuda[] = {"bulk", "tma", "cp_async", "simt", "matrix"};
  const std::uint64_t batch = seed / batch_size;
  if (batch % 2 == 0) return "";
  return test_target() == "cpu" ? cpu[batch / 2 % std::size(cpu)]
                                : cuda[batch / 2 % std::size(cuda)];
}

// By method; `copies: METHOD NUMBER` for each goes to the log, where scripts/gpu-test adds them up.
using Copies = std::map<std::string, int>;

void run_batch(const std::vector<Description>& kernels, Copies& copies) {
  std::vector<Function> functions;
  for (const Description& kernel : kernels) functions.push_back(build(kernel));
  const std::vector<CompiledKernel> compiled =
      compile_batch(functions, 1, method_of(kernels[0].seed));
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (const CopyPlan& plan : compiled[i].plans()) ++copies[plan.method];
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
  Copies copies;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    batch.push_back(generate_tiles(seed));
    if ((seed + 1) % batch_size != 0 && seed + 1 < last) continue;
    run_batch(batch, copies);
    std::cout << "kernels: " << batch.size() << std::endl;
    batch.clear();
    if (testing::Test::HasFailure()) return;
  }
  for (const auto& [method, number] : copies) {
    std::cout << "copies: " << method << " " << number << std::endl;
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
