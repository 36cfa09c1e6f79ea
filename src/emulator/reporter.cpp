#include "emulator/reporter.h"

#include <fmt/format.h>

namespace tilecopy::emulator {
namespace {

struct FaultRow {
  const char* kind;
  const char* headline;
  const char* help;
};

constexpr FaultRow rows[] = {
#define TILECOPY_FAULT(name, headline, help) {#name, headline, help},
#include "emulator/faults.def"
};

}  // namespace

void Reporter::add(Fault fault, const Site* site, std::string text, const Site* other,
                   std::string help) {
  const FaultRow& row = rows[static_cast<std::size_t>(fault)];
  auto statement = [](const Site* s) { return s ? s->text : std::string(); };
  if (!known_.insert({fault, statement(site), statement(other)}).second) return;
  Verdict& verdict = report_.verdicts.emplace_back();
  verdict.kind = row.kind;
  verdict.text = std::move(text);
  verdict.help = help.empty() ? row.help : std::move(help);
  verdict.statement = statement(site);
  if (site) verdict.where = site->where;
  verdict.other_statement = statement(other);
  if (other) verdict.other_where = other->where;
  verdict.schedule = schedule_;
  verdict.block = block_;
  if (static_cast<int>(report_.verdicts.size()) >= options_.most_verdicts) throw Halt{};
}

std::string headline_of(const std::string& kind) {
  for (const FaultRow& row : rows) {
    if (kind == row.kind) return row.headline;
  }
  return {};
}

}  // namespace tilecopy::emulator
