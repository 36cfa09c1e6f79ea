#include "codegen/cuda_text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <vector>

#include "codegen/expand_macros.h"

namespace tilecopy::codegen {
namespace {

const char* const prelude_text =
#include "codegen/cuda_prelude.inc"
    ;
const char* const division_text =
#include "codegen/cuda_division.inc"
    ;
const char* const async_text =
#include "codegen/cuda_async.inc"
    ;
const char* const hardware_text =
#include "codegen/cuda_numeric.inc"
    ;
const char* const numeric_text =
#include "base/numeric_text.inc"
    ;

using NameSet = std::set<std::string, std::less<>>;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The next name of ours, one that begins with tc_, from `at` on; moves `at` behind it.
std::string_view next_name(std::string_view text, std::size_t& at) {
  for (at = text.find("tc_", at); at != text.npos; at = text.find("tc_", at + 1)) {
    if (at > 0 && is_word(text[at - 1])) continue;
    std::size_t begin = at;
    while (at < text.size() && is_word(text[at])) ++at;
    return text.substr(begin, at - begin);
  }
  return {};
}

NameSet names_in(std::string_view text) {
  NameSet names;
  std::size_t at = 0;
  for (auto name = next_name(text, at); !name.empty(); name = next_name(text, at)) {
    names.emplace(name);
  }
  return names;
}

// A piece of source that is printed whole or not at all.
struct Part {
  std::string text;
  NameSet defined;
};

// The names that a part defines: in a line that declares a function the one before the
// parenthesis, in one that declares a type the first.
NameSet defined_in(std::string_view part) {
  NameSet names;
  while (!part.empty()) {
    std::size_t end = std::min(part.find('\n'), part.size());
    std::string_view line = part.substr(0, end);
    part.remove_prefix(std::min(end + 1, part.size()));
    std::size_t at = 0;
    if (line.starts_with("TC_INLINE")) {
      std::size_t open = std::min(line.find('('), line.size());
      at = open;
      while (at > 0 && is_word(line[at - 1])) --at;
      names.emplace(line.substr(at, open - at));
    } else if (line.starts_with("struct") || line.starts_with("using") ||
               line.starts_with("typedef")) {
      names.emplace(next_name(line, at));
    }
  }
  return names;
}

// Parts end at an empty line. The comment that a file begins with is none.
void add_parts(std::string_view text, std::vector<Part>& parts) {
  text.remove_prefix(text.find("\n\n") + 2);
  while (!text.empty()) {
    std::size_t end = text.find("\n\n");
    std::size_t length = end == text.npos ? text.size() : end + 1;
    std::string_view part = text.substr(0, length);
    parts.push_back({std::string(part), defined_in(part)});
    text.remove_prefix(std::min(text.size(), length + 1));
  }
}

void add_function(const std::string& name, std::string text, std::vector<Part>& parts) {
  // Parameters on a second line stand below the first, behind words of another length.
  constexpr std::size_t moved =
      std::string_view("static inline").size() - std::string_view("TC_INLINE").size();
  std::size_t end = text.find('\n');
  if (text.find('{') > end) text.erase(end + 1, moved);
  parts.push_back({"TC_INLINE " + text, {name}});
}

// The functions of base/numeric.h, with the hardware's in place of those that it has.
void add_numeric(std::vector<Part>& parts) {
  std::vector<Part> hardware;
  add_parts(hardware_text, hardware);
  CFunctions numeric = expand_macros(numeric_text);
  parts.push_back({numeric.typedefs, defined_in(numeric.typedefs)});
  for (const CFunction& f : numeric.functions) {
    auto better = std::find_if(hardware.begin(), hardware.end(),
                               [&](const Part& part) { return part.defined.contains(f.name); });
    if (better == hardware.end()) {
      add_function(f.name, f.text, parts);
      continue;
    }
    std::string soft = "tc_soft_" + f.name.substr(3);
    std::string text = f.text;
    add_function(soft, text.replace(text.find(f.name + "("), f.name.size(), soft), parts);
    parts.push_back(*better);
  }
}

const std::vector<Part>& library() {
  static const std::vector<Part> parts = [] {
    std::vector<Part> result;
    add_parts(prelude_text, result);
    add_parts(division_text, result);
    add_parts(async_text, result);
    add_numeric(result);
    return result;
  }();
  return parts;
}

}  // namespace

std::string cuda_prelude(std::string_view source) {
  static const std::map<std::string_view, std::size_t> definitions = [] {
    std::map<std::string_view, std::size_t> result;
    for (std::size_t i = 0; i < library().size(); ++i) {
      for (const std::string& name : library()[i].defined) result.emplace(name, i);
    }
    return result;
  }();
  std::set<std::size_t> used = {0};  // the types
  std::vector<std::string_view> unread = {source};
  while (!unread.empty()) {
    std::string_view text = unread.back();
    unread.pop_back();
    for (const std::string& name : names_in(text)) {
      auto part = definitions.find(name);
      if (part == definitions.end() || !used.insert(part->second).second) continue;
      unread.push_back(library()[part->second].text);
    }
  }
  std::string result;
  for (std::size_t i : used) result += library()[i].text + '\n';
  return result;
}

}  // namespace tilecopy::codegen
