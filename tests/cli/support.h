// Runs the built command, and what the tests of it share.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/os.h"
#include "run/testing.h"
#include "tilecopy/tensor.h"

namespace tilecopy::cli_test {

using testing_tools::ScopedEnv;

/// Runs `tilecopy` with these words.
inline os::ProcessResult tilecopy(std::vector<std::string> words) {
  words.insert(words.begin(), TILECOPY_COMMAND);
  return os::run_process(words, {.merge_streams = false, .timeout = std::chrono::minutes(2)});
}

/// A directory for files and a kernel cache of its own, away from the user's settings.
class Cli : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (directory_.path() / name).string(); }

  std::string write(const std::string& name, const std::string& content) const {
    os::write_file(path(name), content);
    return path(name);
  }

  /// Writes a tensor of random numbers.
  Tensor random_npy(const std::string& name, std::vector<std::int64_t> shape, DType dtype) const {
    Tensor tensor(std::move(shape), dtype);
    tensor.fill_random(42);
    save_npy(path(name), tensor);
    return tensor;
  }

 private:
  testing_tools::TestDirectory directory_;
  // One cache for all tests, so that equal kernels are compiled once.
  ScopedEnv cache_{"TILECOPY_CACHE_DIR", TILECOPY_TEST_CACHE};
  ScopedEnv target_{"TILECOPY_TARGET", nullptr};
  ScopedEnv threads_{"OMP_NUM_THREADS", "2"};
  ScopedEnv cc_{"CC", nullptr};
};

/// Expects success and returns what was printed.
inline std::string output_of(const std::vector<std::string>& words) {
  const os::ProcessResult result = tilecopy(words);
  EXPECT_TRUE(result.ok()) << os::join_words(words) << ": " << result.ending() << "\n"
                           << result.output << result.errors;
  return result.output;
}

inline nlohmann::json json_of(const std::vector<std::string>& words) {
  const std::string text = output_of(words);
  auto json = nlohmann::json::parse(text, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << text;
  return json;
}

inline void expect_contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), text.npos) << "no \"" << part << "\" in:\n" << text;
  }
}

/// Expects a failure with this status, whose message on stderr contains the parts, and nothing on
/// stdout.
inline void expect_failure(const std::vector<std::string>& words, int status,
                           const std::vector<std::string>& parts) {
  SCOPED_TRACE(os::join_words(words));
  const os::ProcessResult result = tilecopy(words);
  EXPECT_EQ(result.ending(), "exit status " + std::to_string(status)) << result.errors;
  EXPECT_EQ(result.output, "");
  expect_contains(result.errors, parts);
}

inline bool same_elements(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

}  // namespace tilecopy::cli_test
