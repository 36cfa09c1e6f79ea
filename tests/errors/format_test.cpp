// The text of an error, part by part.
#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "base/os.h"
#include "errors/error_case.h"
#include "run/testing.h"

namespace tilecopy::test {
namespace {

std::string text_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

TEST(ErrorFormat, NamesTheLineTheRuleAndTheAdvice) {
  testing_tools::TestDirectory directory;
  const std::string path = directory.path() / "narrow.tc";
  const std::string text =
      "function narrow(A: float32[8, 64]) {\n"
      "  kernel (bx: 1) threads 128 {\n"
      "    tile = alloc_shared float32[8, 32]\n"
      "    copy A -> tile\n"
      "  }\n"
      "}\n";
  os::write_file(path, text);
  EXPECT_EQ(
      text_of([&] { parse(text, path); }),
      "error[E0101]: the two sides of the operation have different extents\n"
      "  --> " +
          path +
          ":4\n"
          "   4 | copy A -> tile\n"
          "   = rule copy.extents: needed equal extents, dimensions of 1 apart; found (8, 64) of A "
          "and (8, 32) of tile\n"
          "   = help: give both sides equal extents; dimensions of extent 1 may differ in number "
          "and place");
}

TEST(ErrorFormat, NamesTheLineOfTheProgram) {
  Location at;
  const std::string text = text_of([&] {
    at = next_line();
    tensor("A", {8}, float32);
  });
  const std::string place = "\n  --> " __FILE__ ":" + std::to_string(at.line) + "\n";
  EXPECT_NE(text.find(place), std::string::npos) << text;
}

TEST(ErrorFormat, LeavesOutWhatIsUnknown) {
  EXPECT_EQ(text_of([] { raise(ErrorCode::E0901, {}); }),
            "error[E0901]: tilecopy made an invalid program\n"
            "   = help: this is a bug in tilecopy: please report it with this text");
  EXPECT_EQ(text_of([] { raise(ErrorCode::E0604, {}, {.found = "a", .help = "b"}); }),
            "error[E0604]: the .npy file cannot be used\n"
            "   = rule npy.format: found a\n"
            "   = help: b");
}

TEST(ErrorFormat, ShowsNoSourceLineOfAFileThatIsMissing) {
  std::string text = text_of([] {
    raise(ErrorCode::E0104, {"missing.tc", 3, 1}, {.needed = "a"});
  });
  EXPECT_EQ(text.find(" | "), std::string::npos);
  EXPECT_NE(text.find("\n  --> missing.tc:3\n   = rule region.extent: needed a\n"),
            std::string::npos);
}

TEST(ErrorFormat, ReadsBackAsAStandardException) {
  try {
    tensor("A", {8}, float32);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(std::string(error.what()).substr(0, 13).c_str(), "error[E0402]:");
  }
}

}  // namespace
}  // namespace tilecopy::test
