// The texts that fuzzing starts from, and those that it once broke something with.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "fuzz/try_text.h"

namespace tilecopy::fuzz {
namespace {

// None where the folder is missing, as git has no empty ones.
std::vector<std::filesystem::path> texts_of(const char* folder) {
  std::vector<std::filesystem::path> texts;
  const auto path = std::filesystem::path(TILECOPY_SOURCE_DIR) / "tests/fuzz" / folder;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(path, missing)) {
    texts.push_back(entry.path());
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::string read(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string stem(const testing::TestParamInfo<std::filesystem::path>& info) {
  return info.param.stem().string();
}

class Corpus : public testing::TestWithParam<std::filesystem::path> {};

// A text that no longer runs would leave the fuzzer nothing to begin with.
TEST_P(Corpus, RunsToItsEnd) {
  EXPECT_EQ(try_text(read(GetParam())), Outcome::emulated) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Texts, Corpus, testing::ValuesIn(texts_of("corpus")), stem);

class Found : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Found, IsOnlyTheUsersFault) { EXPECT_NO_THROW(try_text(read(GetParam()))) << GetParam(); }

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Found);
INSTANTIATE_TEST_SUITE_P(Texts, Found, testing::ValuesIn(texts_of("found")), stem);

}  // namespace
}  // namespace tilecopy::fuzz
