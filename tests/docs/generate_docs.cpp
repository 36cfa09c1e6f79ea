// Writes the pages of docs/ that are made from tables, or checks that they are current:
// `generate_docs write|check DOCS`.
#include <fmt/format.h>

#include <array>
#include <iostream>

#include "base/diagnostic.h"
#include "base/options.h"
#include "base/os.h"
#include "tilecopy/language.h"

namespace tilecopy {
namespace {

constexpr std::string_view notice = "<!-- Made by scripts/update-docs; edit {} instead. -->\n\n";

struct Group {
  std::string_view prefix, title;
};

constexpr std::array<Group, 9> groups = {{
    {"E01", "Operands and regions of tile operations"},
    {"E02", "Hints"},
    {"E03", "im2col"},
    {"E04", "The program around the tile operations"},
    {"E05", "The text form"},
    {"E06", "Targets, options and files"},
    {"E07", "Arguments at launch"},
    {"E08", "Building"},
    {"E09", "Our own faults"},
}};

std::string sentence(std::string_view text) {
  std::string result(text);
  // Words of the language keep their case.
  const std::size_t word = std::min(result.find_first_of(" ,."), result.size());
  if (result.find_first_of("_0123456789") >= word) {
    result[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(result[0])));
  }
  return result + ".";
}

std::string_view class_name(ErrorClass class_) {
  switch (class_) {
    case ErrorClass::user: return "UserError";
    case ErrorClass::tool: return "ToolError";
    case ErrorClass::internal: return "InternalError";
  }
  return {};
}

// A real error, so that the page shows what a user will see.
std::string sample() {
  try {
    parse(
        "function narrow(A: float32[8, 64]) {\n"
        "  kernel (bx: 1) threads 128 {\n"
        "    tile = alloc_shared float32[8, 32]\n"
        "    copy A -> tile\n"
        "  }\n"
        "}\n",
        "narrow.tc");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string errors_page() {
  std::string text = "# Errors\n\n";
  text += fmt::format(fmt::runtime(notice), "src/base/errors.def");
  text +=
      "Every error has a stable code, and says what is wrong, where, which rule it breaks with "
      "the\n"
      "value needed and the value found, and what to do:\n\n```\n" +
      sample() + "\n```\n\n";
  text +=
      "`UserError`: the program, its hints or its arguments break a rule. `ToolError`: the "
      "machine\n"
      "lacks something, or a tool failed. `InternalError`: a bug in tilecopy. All are a\n"
      "`tilecopy::Error`, whose `report()` has the parts.\n";
  std::size_t written = 0;
  for (const Group& group : groups) {
    text += fmt::format("\n## {}xx: {}\n", group.prefix, group.title);
    for (const ErrorRow& row : error_table()) {
      if (!row.code.starts_with(group.prefix)) continue;
      ++written;
      text += fmt::format("\n### {}: {}\n\nRule `{}`, {}. {}\n", row.code, row.headline, row.name,
                          class_name(row.class_), sentence(row.advice));
    }
  }
  if (written != error_table().size()) raise_internal("a row of errors.def belongs to no group");
  return text;
}

std::string options_page() {
  std::string text = "# Environment variables\n\n";
  text += fmt::format(fmt::runtime(notice), "src/base/options.def");
  text +=
      "Each is read when it is needed, so a program may set it at any time. An empty value counts\n"
      "as unset.\n\n| variable | default | meaning |\n| --- | --- | --- |\n";
  for (const OptionRow& row : option_table()) {
    const bool prose = row.default_.empty() || row.default_.find(' ') != std::string_view::npos;
    const std::string value = row.default_.empty() ? "unset"
                              : prose              ? std::string(row.default_)
                                                   : fmt::format("`{}`", row.default_);
    text += fmt::format("| `{}` | {} | {} |\n", row.name, value, row.meaning);
  }
  return text;
}

int run(const std::string& mode, const std::filesystem::path& docs) {
  int status = 0;
  const std::pair<const char*, std::string> pages[] = {{"errors.md", errors_page()},
                                                       {"options.md", options_page()}};
  for (const auto& [name, text] : pages) {
    if (mode == "write") {
      os::write_file(docs / name, text);
    } else if (os::try_read_file(docs / name) != text) {
      std::cerr << "docs/" << name << " is not current: run scripts/update-docs\n";
      status = 1;
    }
  }
  return status;
}

}  // namespace
}  // namespace tilecopy

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  if (mode != "write" && mode != "check") {
    std::cerr << "usage: generate_docs write|check DOCS\n";
    return 2;
  }
  return tilecopy::run(mode, argv[2]);
}
