#include "emulator/reporter.h"

#include <fmt/format.h>

#include "base/diagnostic.h"

namespace tilecopy::emulator {
namespace {

enum End : std::uint8_t { goes_on, halts };

struct FaultRow {
  const char* kind;
  End end;
  const char* headline;
  const char* help;
};

constexpr FaultRow rows[] = {
#define TILECOPY_FAULT(name, end, headline, help) {#name, end, headline, help},
#include "emulator/faults.def"
};

Fault ignored_fault(const std::string& kind) {
  std::string known;
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    if (rows[i].end == halts) continue;
    if (kind == rows[i].kind) return static_cast<Fault>(i);
    known += (known.empty() ? "" : ", ") + std::string(rows[i].kind);
  }
  raise(ErrorCode::E0603, {},
        {.needed = "verdicts to ignore among those that a kernel can run past: " + known,
         .found = kind});
}

}  // namespace

Reporter::Reporter(const EmulatorOptions& options, EmulatorReport& report)
    : options_(options), report_(report) {
  if (options.schedules < 1 || options.most_verdicts < 1 || options.most_block_steps < 1) {
    raise(ErrorCode::E0603, {},
          {.needed = "one schedule, one verdict and one step of a block or more",
           .found = fmt::format("{}, {} and {}", options.schedules, options.most_verdicts,
                                options.most_block_steps)});
  }
  for (const std::string& kind : options.ignore) ignored_.insert(ignored_fault(kind));
}

void Reporter::add(Fault fault, const Site* site, std::string text, const Site* other,
                   std::string help) {
  if (ignores(fault)) return;
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
