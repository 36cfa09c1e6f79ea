#include <fmt/format.h>

#include "explain/explain.h"

namespace tilecopy::explain {
namespace {

void add_plan(const CopyPlan& plan, std::string& out) {
  out += fmt::format("\n#{} {}", plan.id, plan.operation);
  if (plan.where.known()) out += fmt::format("  ({}:{})", plan.where.file, plan.where.line);
  out += fmt::format("\n  by {}\n", plan.method);
  for (const auto& [name, value] : plan.parameters) {
    out += fmt::format("    {:<14}{}\n", name, value);
  }
  for (const RejectedMethod& rejected : plan.rejected) {
    const RuleReport& rule = rejected.rule;
    out += fmt::format("  not {}: rule {}: needed {}; found {}\n", rejected.method, rule.id,
                       rule.needed, rule.found);
    if (!rule.advice.empty()) out += fmt::format("    help: {}\n", rule.advice);
  }
  for (const std::string& guard : plan.guards) out += fmt::format("  guard {}\n", guard);
  if (plan.otherwise) {
    out += fmt::format("  otherwise by {}\n", plan.otherwise->method);
    for (const auto& [name, value] : plan.otherwise->parameters) {
      out += fmt::format("    {:<14}{}\n", name, value);
    }
  }
  for (const std::string& remark : plan.remarks) out += fmt::format("  hint {}\n", remark);
  for (const std::string& missed : plan.missed) out += fmt::format("  missed {}\n", missed);
}

}  // namespace

std::string text(const Subject& subject) {
  std::string out = fmt::format("{} for {}: {} tile operation{}\n", subject.kernel, subject.target,
                                subject.plans->size(), subject.plans->size() == 1 ? "" : "s");
  for (const std::string& remark : *subject.remarks) out += fmt::format("layout {}\n", remark);
  for (const CopyPlan& plan : *subject.plans) add_plan(plan, out);
  return out;
}

}  // namespace tilecopy::explain
