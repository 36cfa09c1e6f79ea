// `tilecopy explain`, `source`, `ir` and `emulate`: what the compiler makes of a kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "arguments.h"
#include "base/diagnostic.h"
#include "commands.h"
#include "words.h"

namespace tilecopy::tool {
namespace {

// An error code in capitals, or empty when the text does not look like one.
std::string error_code(std::string text) {
  if (text.size() != 5 || std::toupper(static_cast<unsigned char>(text[0])) != 'E') return {};
  text[0] = 'E';
  const bool digits = text.find_first_not_of("0123456789", 1) == text.npos;
  return digits ? text : std::string();
}

const char* fault_text(ErrorClass fault) {
  switch (fault) {
    case ErrorClass::user: return "the program, its hints or its arguments";
    case ErrorClass::tool: return "the machine, or a tool on it";
    case ErrorClass::internal: return "tilecopy itself";
  }
  return "";
}

int explain_error(const std::string& code, bool as_json) {
  const auto rows = error_table();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const ErrorRow& candidate) { return candidate.code == code; });
  if (row == rows.end()) {
    refuse("the code of an error, such as E0101", code, "docs/errors.md lists the codes");
  }
  if (as_json) {
    const nlohmann::ordered_json json = {{"code", row->code},
                                         {"name", row->name},
                                         {"fault", fault_text(row->class_)},
                                         {"headline", row->headline},
                                         {"help", row->advice}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("error[{}]: {}\n   = rule {}\n   = at fault: {}\n   = help: {}\n", row->code,
               row->headline, row->name, fault_text(row->class_), row->advice);
  }
  return good;
}

Kernel checked_kernel(const Request& request) {
  Kernel kernel = make_kernel(request);
  check_names(kernel, request);
  return kernel;
}

void print_line(const std::string& text) {
  fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
}

}  // namespace

int explain_command(const Request& request) {
  if (const std::string code = error_code(request.kernel); !code.empty()) {
    return explain_error(code, request.json);
  }
  const CompiledKernel compiled = compile_kernel(checked_kernel(request), request);
  print_line(request.json ? compiled.explain_json() : compiled.explain());
  return good;
}

int source_command(const Request& request) {
  print_line(compile_kernel(checked_kernel(request), request).source());
  return good;
}

int ir_command(const Request& request) {
  const Kernel kernel = checked_kernel(request);
  print_line(without_location(kernel.built_in.has_value(), [&] {
    return stage_text(kernel.function, request.target.value_or(""), request.stop_after, Location{});
  }));
  return good;
}

}  // namespace tilecopy::tool
