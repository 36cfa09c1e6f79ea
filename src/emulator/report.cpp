#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "emulator/reporter.h"

namespace tilecopy {
namespace {

std::string place(Location where) {
  return where.known() ? fmt::format("{}:{}", where.file, where.line) : std::string();
}

void add_statement(std::string& text, Location where, const std::string& statement) {
  if (statement.empty() && !where.known()) return;
  text += fmt::format("  --> {}{}{}\n", place(where), where.known() ? ": " : "", statement);
}

}  // namespace

std::string EmulatorReport::text() const {
  if (clean()) {
    return fmt::format(
        "clean: {} schedules, {} blocks, {} steps of warps, {} accesses, {} asynchronous copies, "
        "{} barriers\n",
        schedules, blocks, steps, accesses, operations, barriers);
  }
  std::string result;
  for (const Verdict& verdict : verdicts) {
    result += fmt::format("{}: {}\n", verdict.kind, emulator::headline_of(verdict.kind));
    add_statement(result, verdict.where, verdict.statement);
    result += fmt::format("  = block {}, schedule {}: {}\n", verdict.block, verdict.schedule,
                          verdict.text);
    add_statement(result, verdict.other_where, verdict.other_statement);
    result += fmt::format("  = help: {}\n", verdict.help);
  }
  return result;
}

std::string EmulatorReport::json() const {
  using Json = nlohmann::ordered_json;
  Json root = {{"clean", clean()},    {"schedules", schedules}, {"blocks", blocks},
               {"steps", steps},      {"accesses", accesses},   {"operations", operations},
               {"barriers", barriers}};
  root["verdicts"] = Json::array();
  for (const Verdict& verdict : verdicts) {
    Json item = {{"kind", verdict.kind},   {"text", verdict.text},
                 {"help", verdict.help},   {"schedule", verdict.schedule},
                 {"block", verdict.block}, {"statement", verdict.statement}};
    auto add_place = [&](const char* file, const char* line, Location where) {
      if (!where.known()) return;
      item[file] = where.file;
      item[line] = where.line;
    };
    add_place("file", "line", verdict.where);
    if (!verdict.other_statement.empty()) item["other_statement"] = verdict.other_statement;
    add_place("other_file", "other_line", verdict.other_where);
    root["verdicts"].push_back(std::move(item));
  }
  return root.dump(2);
}

}  // namespace tilecopy
