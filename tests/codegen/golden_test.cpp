// Kernels in tests/golden against what the compiler makes of them: NAME.tile gives NAME.lower
// (device level), NAME.c (the generated function) and NAME.explain. TILECOPY_UPDATE_GOLDEN=1
// rewrites them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tilecopy/tilecopy.h"

namespace tc = tilecopy;
namespace fs = std::filesystem;

namespace {

const fs::path directory = fs::path(TILECOPY_SOURCE_DIR) / "tests" / "golden";

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void compare(const fs::path& path, const std::string& text) {
  if (std::getenv("TILECOPY_UPDATE_GOLDEN")) std::ofstream(path) << text;
  EXPECT_EQ(read(path), text) << path;
}

// Lines that depend on the machine.
std::string without_vector_bytes(const std::string& text) {
  std::istringstream lines(text);
  std::string line, result;
  while (std::getline(lines, line)) {
    if (line.find("vector_bytes") == std::string::npos) result += line + "\n";
  }
  return result;
}

std::vector<std::string> golden_kernels() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".tile") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, StagesAreAsStored) {
  fs::path kernel = directory / (GetParam() + ".tile");
  tc::Function function = tc::parse(read(kernel), GetParam() + ".tile");
  EXPECT_EQ(function.text(), read(kernel)) << "the text form is not in its printed shape";
  compare(directory / (GetParam() + ".lower"), tc::stage_text(function, "cpu", "lower"));
  tc::CompiledKernel compiled = tc::compile(function, "cpu");
  const std::string& source = compiled.source();
  compare(directory / (GetParam() + ".c"),
          source.substr(source.find("\n// " + function.name()) + 1));
  compare(directory / (GetParam() + ".explain"), without_vector_bytes(compiled.explain()));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Golden, testing::ValuesIn(golden_kernels()),
                         [](const auto& name) { return name.param; });

}  // namespace
