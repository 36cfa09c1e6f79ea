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
  for (const std::string& remark : plan.remarks) out += fmt::format("  hint {}\n", remark);
}

}  // namespace

std::string text(const Subject& subject) {
  std::string out = fmt::format("{} for {}: {} tile operation{}\n", subject.kernel, subject.target,
                                subject.plans->size(), subject.plans->size() == 1 ? "" : "s");
  for (const CopyPlan& plan : *subject.plans) add_plan(plan, out);
  return out;
}

}  // namespace tilecopy::explain
