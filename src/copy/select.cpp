// Chooses the way to carry out an operation, and records every answer on the way.
#include <fmt/format.h>

#include "base/diagnostic.h"
#include "copy/method.h"

namespace tilecopy::planner {
namespace {

// The cpu target has no use for any hint, and says so for each.
void add_hint_remarks(const Site& site, std::vector<std::string>& remarks) {
  const ir::Hints& hints = *site.hints;
  auto add = [&](std::string hint, std::string_view reason) {
    remarks.push_back(fmt::format("{}: recorded; no effect on cpu, {}", hint, reason));
  };
  if (hints.coalesced_width) {
    add(fmt::format("coalesced_width={}", *hints.coalesced_width),
        "where one thread runs a whole block");
  }
  if (hints.disable_tma) {
    add(fmt::format("disable_tma={}", *hints.disable_tma), "which has no TMA unit");
  }
  if (hints.eviction_policy) {
    add(fmt::format("eviction_policy={}", to_string(*hints.eviction_policy)),
        "whose caches take no priorities");
  }
  if (hints.prefer_instruction) {
    add(fmt::format("prefer_instruction={}", to_string(*hints.prefer_instruction)),
        "which has plain loads and stores only");
  }
  if (hints.loop_layout) {
    add(fmt::format("loop_layout={}", to_string(*hints.loop_layout)),
        "where one thread runs a whole block");
  }
}

}  // namespace

bool Rules::require(std::string_view name, bool ok, std::string needed, std::string found,
                    std::string advice) {
  reports_.push_back({fmt::format("{}.{}", method_, name), ok, std::move(needed), std::move(found),
                      std::move(advice)});
  return ok;
}

const RuleReport* Rules::failed() const {
  for (const RuleReport& report : reports_) {
    if (!report.ok) return &report;
  }
  return nullptr;
}

std::vector<const Method*> methods_for(const Site& site) {
  if (site.im2col()) return {&host_im2col};
  return {&host_stream, &host_run, &host_loop};
}

Decision decide(Site site) {
  Decision decision;
  CopyPlan& report = decision.report;
  report.id = site.op->id;
  report.operation = site.operation;
  report.where = site.op->where;
  for (const Method* method : methods_for(site)) {
    Rules rules(method->name);
    decision.plan = method->plan(site, rules);
    if (decision.plan) {
      decision.plan->method = method;
      break;
    }
    const RuleReport* failed = rules.failed();
    if (!failed) raise_internal(fmt::format("{} gave no plan and no reason", method->name));
    report.rejected.push_back({std::string(method->name), *failed});
  }
  if (!decision.plan) raise_internal("no method for " + site.operation, site.op->where);
  report.method = decision.plan->method->name;
  report.parameters = decision.plan->parameters;
  add_hint_remarks(site, report.remarks);
  decision.site = std::move(site);
  return decision;
}

}  // namespace tilecopy::planner
