#include "codegen/expand_macros.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace tilecopy::codegen {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

// Takes the first line off the text, without its end.
std::string_view take_line(std::string_view& text) {
  std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// The word that begins at `at`, which may be empty.
std::string_view word_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(at, end - at);
}

struct Macro {
  std::vector<std::string> parameters;
  std::string body;
};

struct Call {
  std::vector<std::string> arguments;
  std::size_t end;  ///< behind the closing parenthesis
};

// Reads "(argument, ...)" at `at`.
Call read_call(std::string_view text, std::size_t at) {
  Call call;
  int depth = 0;
  std::size_t begin = at + 1;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if ((text[i] == ',' && depth == 1) || depth == 0) {
      call.arguments.emplace_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
    if (depth == 0) return call.end = i + 1, call;
  }
  return call.end = text.size(), call;
}

class Expander {
 public:
  // The text without comments and directives; its macros are remembered.
  std::string read(std::string_view text) {
    std::string rest;
    while (!text.empty()) {
      std::string_view line = take_line(text);
      if (trimmed(line).starts_with("//")) continue;
      if (!line.starts_with("#")) {
        rest.append(line) += '\n';
        continue;
      }
      std::string directive(line);
      while (directive.ends_with('\\')) {
        directive.pop_back();
        directive = std::string(trimmed(directive)) + '\n';
        directive += take_line(text);
      }
      define(directive);
    }
    return rest;
  }

  std::string expand(std::string_view text) const {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
      std::string_view word = word_at(text, at);
      if (word.empty()) {
        result += text[at++];
        continue;
      }
      auto macro = macros_.find(std::string(word));
      at += word.size();
      if (macro == macros_.end()) {
        result += word;
        continue;
      }
      Call call = read_call(text, at);
      result += expand(substitute(macro->second, call.arguments));
      at = call.end;
    }
    return result;
  }

 private:
  void define(std::string_view directive) {
    constexpr std::string_view keyword = "#define ";
    if (!directive.starts_with(keyword)) return;
    directive.remove_prefix(keyword.size());
    std::string name(word_at(directive, 0));
    if (directive.size() == name.size() || directive[name.size()] != '(') return;
    Call parameters = read_call(directive, name.size());
    // Blank lines end functions, and each line of a body is one of code.
    std::string body = "\n" + std::string(directive.substr(parameters.end)) + "\n";
    macros_[name] = {std::move(parameters.arguments), std::move(body)};
  }

  static std::string substitute(const Macro& macro, const std::vector<std::string>& arguments) {
    std::string result;
    std::string_view body = macro.body;
    for (std::size_t at = 0; at < body.size();) {
      if (body.substr(at).starts_with("##")) {
        at += 2;
        continue;
      }
      std::string_view word = word_at(body, at);
      if (word.empty()) {
        result += body[at++];
        continue;
      }
      auto parameter = std::find(macro.parameters.begin(), macro.parameters.end(), word);
      auto index = static_cast<std::size_t>(parameter - macro.parameters.begin());
      result += index < arguments.size() ? std::string_view(arguments[index]) : word;
      at += word.size();
    }
    return result;
  }

  std::map<std::string, Macro> macros_;
};

// Without the indentation that its last line has, and blanks at line ends.
std::string unindented(std::string_view text) {
  std::size_t last = text.rfind('\n') + 1;
  std::size_t indent = text.find_first_not_of(' ', last) - last;
  std::string result;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    bool indented = line.substr(0, indent).find_first_not_of(' ') == line.npos;
    if (indented) line.remove_prefix(std::min(indent, line.size()));
    while (line.ends_with(' ')) line.remove_suffix(1);
    result.append(line) += '\n';
  }
  return result;
}

}  // namespace

CFunctions expand_macros(std::string_view source) {
  Expander expander;
  std::string unexpanded = expander.read(source);
  std::string text = expander.expand(unexpanded);
  CFunctions result;
  std::string_view rest = text;
  constexpr std::string_view storage = "static inline ";
  while (!(rest = trimmed(rest)).empty()) {
    if (!rest.starts_with(storage)) {
      result.typedefs.append(take_line(rest)) += '\n';
      continue;
    }
    rest.remove_prefix(storage.size());
    std::size_t at = rest.find('{') + 1;
    for (int depth = 1; depth > 0 && at < rest.size(); ++at) {
      depth += (rest[at] == '{') - (rest[at] == '}');
    }
    std::size_t name_end = rest.find('(');
    std::size_t name = rest.rfind(' ', name_end) + 1;
    result.functions.push_back(
        {std::string(rest.substr(name, name_end - name)), unindented(rest.substr(0, at))});
    rest.remove_prefix(at);
  }
  return result;
}

}  // namespace tilecopy::codegen
