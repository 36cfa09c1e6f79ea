#include "base/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

namespace tilecopy {
namespace {

constexpr std::array rows = {
#define TILECOPY_ERROR(code, class_, name, headline, advice) \
  ErrorRow{ErrorCode::code, ErrorClass::class_, #code, name, headline, advice},
#include "base/errors.def"
#undef TILECOPY_ERROR
};

// The user's line of source, without its indentation; empty when the file is not at hand.
std::string source_line(Location where) {
  std::ifstream file(where.file);
  std::string line;
  for (int number = 0; number < where.line; ++number) {
    if (!std::getline(file, line)) return {};
  }
  // A file that is no text would garble the message.
  bool text = std::none_of(line.begin(), line.end(), [](unsigned char c) {
    return std::iscntrl(c) && c != '\t' && c != '\r';
  });
  auto first = line.find_first_not_of(" \t");
  return !text || first == std::string::npos ? std::string{} : line.substr(first);
}

std::string render(const ErrorReport& report) {
  std::string text = fmt::format("error[{}]: {}", report.code, report.headline);
  if (report.where.known()) {
    text += fmt::format("\n  --> {}:{}", report.where.file, report.where.line);
    if (std::string line = source_line(report.where); !line.empty()) {
      text += fmt::format("\n{:>4} | {}", report.where.line, line);
    }
  }
  if (!report.needed.empty() || !report.found.empty()) {
    text += fmt::format("\n   = rule {}:", report.name);
    if (!report.needed.empty()) text += fmt::format(" needed {}", report.needed);
    if (!report.needed.empty() && !report.found.empty()) text += ";";
    if (!report.found.empty()) text += fmt::format(" found {}", report.found);
  }
  if (!report.help.empty()) text += fmt::format("\n   = help: {}", report.help);
  return text;
}

[[noreturn]] void throw_as(ErrorClass class_, ErrorReport report) {
  switch (class_) {
    case ErrorClass::user: throw UserError(std::move(report));
    case ErrorClass::tool: throw ToolError(std::move(report));
    case ErrorClass::internal: break;
  }
  throw InternalError(std::move(report));
}

}  // namespace

Error::Error(ErrorReport report) : std::runtime_error(render(report)), report_(std::move(report)) {}

std::span<const ErrorRow> error_table() { return rows; }

const ErrorRow& error_row(ErrorCode code) { return rows[static_cast<std::size_t>(code)]; }

void raise(ErrorCode code, Location where, Details details) {
  const ErrorRow& row = error_row(code);
  ErrorReport report{std::string(row.code),
                     std::string(row.name),
                     std::string(row.headline),
                     std::move(details.needed),
                     std::move(details.found),
                     details.help.empty() ? std::string(row.advice) : std::move(details.help),
                     where};
  throw_as(row.class_, std::move(report));
}

void rethrow_at(const Error& error, Location where) {
  if (error.where().known() || !where.known()) throw;
  ErrorReport report = error.report();
  report.where = where;
  if (dynamic_cast<const UserError*>(&error)) throw_as(ErrorClass::user, std::move(report));
  if (dynamic_cast<const ToolError*>(&error)) throw_as(ErrorClass::tool, std::move(report));
  throw_as(ErrorClass::internal, std::move(report));
}

void raise_internal(std::string found, Location where) {
  raise(ErrorCode::E0901, where, {.found = std::move(found)});
}

}  // namespace tilecopy
