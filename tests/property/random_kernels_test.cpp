// Random kernels on the cpu target against the reference. TILECOPY_TEST_CASES sets their number,
// TILECOPY_TEST_SEED runs one of them.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "property/check.h"
#include "tilecopy/error.h"

namespace tilecopy::property {
namespace {

constexpr int parts = 20;
constexpr std::size_t batch_size = 100;

// The case that runs, for a kernel that crashes.
char crash_note[64] = "";

void on_crash(int signal) {
  if (write(STDERR_FILENO, crash_note, std::strlen(crash_note)) < 0) std::_Exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::uint64_t case_count() {
  const char* text = std::getenv("TILECOPY_TEST_CASES");
  return text ? std::strtoull(text, nullptr, 10) : 4000;
}

struct Case {
  Description kernel;
  Function function;
};

/// The kernel of a seed; empty when it breaks a rule of the language.
std::optional<Case> make_case(std::uint64_t seed) {
  Description kernel = generate(seed);
  try {
    Function function = build(kernel);
    return Case{std::move(kernel), std::move(function)};
  } catch (const UserError& error) {
    // Whether an expression of constants overflows, and whether regions of one buffer overlap, is
    // not foreseen; no other rule may be broken.
    EXPECT_TRUE(error.code() == "E0410" || error.code() == "E0112")
        << "seed " << seed << ": " << error.what();
    return std::nullopt;
  }
}

void report(const Case& failed, const std::string& what) {
  const Description least = shrink(failed.kernel);
  std::string least_text, least_what;
  try {
    least_text = build(least).text();
    least_what = check_alone(least);
  } catch (const Error& error) {
    least_what = error.what();
  }
  ADD_FAILURE() << "seed " << failed.kernel.seed << " (opt_level " << failed.kernel.opt_level
                << "): " << what << "\nshrunk, " << least_what << "\n"
                << least_text << "\nthe whole kernel:\n"
                << failed.function.text();
}

void check_text(const Case& c) {
  const std::string text = c.function.text();
  try {
    ASSERT_EQ(parse(text).text(), text) << "seed " << c.kernel.seed;
  } catch (const Error& error) {
    FAIL() << "seed " << c.kernel.seed << ": " << error.what() << "\n" << text;
  }
}

void run_batch(const std::vector<Case>& cases, int opt_level) {
  std::vector<Function> functions;
  std::vector<const Case*> owners;
  for (const Case& c : cases) {
    if (c.kernel.opt_level != opt_level) continue;
    check_text(c);
    functions.push_back(c.function);
    owners.push_back(&c);
    if (c.kernel.seed % 10 != 0) continue;
    functions.push_back(parse(c.function.text()));
    owners.push_back(&c);
  }
  const std::vector<CompiledKernel> kernels = compile_batch(functions, opt_level);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto end = fmt::format_to_n(crash_note, sizeof crash_note - 1, "crash in seed {}\n",
                                      owners[i]->kernel.seed);
    *end.out = 0;
    const std::string what = check_launches(owners[i]->kernel, kernels[i]);
    if (!what.empty()) return report(*owners[i], what);
  }
}

void run_seeds(std::uint64_t first, std::uint64_t last) {
  std::vector<Case> cases;
  std::uint64_t refused = 0;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    if (auto c = make_case(seed)) {
      cases.push_back(std::move(*c));
    } else {
      ++refused;
    }
    if (cases.size() < batch_size && seed + 1 < last) continue;
    for (int opt_level : {0, 1, 3}) run_batch(cases, opt_level);
    std::cout << "kernels: " << cases.size() << std::endl;
    cases.clear();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_LE(refused * 20, last - first) << "too many kernels break a rule of the language";
}

class RandomKernels : public testing::TestWithParam<int> {};

TEST_P(RandomKernels, AgreeWithTheReference) {
  std::signal(SIGSEGV, on_crash);
  std::signal(SIGABRT, on_crash);
  if (const char* seed = std::getenv("TILECOPY_TEST_SEED")) {
    const std::uint64_t value = std::strtoull(seed, nullptr, 10);
    if (value % parts == static_cast<std::uint64_t>(GetParam())) run_seeds(value, value + 1);
    return;
  }
  const std::uint64_t count = case_count();
  const auto part = static_cast<std::uint64_t>(GetParam());
  run_seeds(count * part / parts, count * (part + 1) / parts);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomKernels, testing::Range(0, parts));

}  // namespace
}  // namespace tilecopy::property
