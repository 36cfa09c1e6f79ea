// Chooses the way to carry out an operation, and records every answer on the way.
#include <fmt/format.h>

#include <algorithm>

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

PreferInstruction family(const Method& method) {
  if (&method == &cp_async) return PreferInstruction::cp_async;
  if (&method == &tma || &method == &bulk || &method == &tma_im2col) return PreferInstruction::tma;
  return PreferInstruction::sync;
}

namespace {

// By cost, cheapest first (docs/planner.md says why).
std::vector<const Method*> cuda_methods(const Site& site) {
  if (site.im2col()) return {&tma_im2col, &im2col_gather};
  if (!site.src) return {&simt};
  Scope from = site.src->buffer.scope();
  Scope to = site.dst.buffer.scope();
  bool shared = from == Scope::shared || to == Scope::shared;
  bool fragment = from == Scope::fragment || to == Scope::fragment;
  bool transposed = site.op->kind == ir::StmtKind::Transpose;
  std::vector<const Method*> methods;
  // Into a tile that is column-major itself, a transpose is a copy to the TMA unit.
  if (transposed) methods.push_back(&register_transpose);
  if (from == Scope::global && to == Scope::shared) {
    methods.insert(methods.end(), {&bulk, &tma, &cp_async});
  } else if (from == Scope::shared && to == Scope::global) {
    methods.insert(methods.end(), {&bulk, &tma});
  } else if (from == Scope::global && to == Scope::global && !transposed) {
    methods.push_back(&realigned);
  } else if (shared && fragment && !transposed) {
    methods.push_back(&matrix);
  }
  methods.push_back(&simt);
  return methods;
}

// Why no method of the preferred family was taken: the rules that they failed.
std::string why_unmet(const Site& site, PreferInstruction preferred, const CopyPlan& report) {
  if (report.method == site.method) return "the option `method` comes first";
  std::string why;
  for (const Method* method : cuda_methods(site)) {
    if (family(*method) != preferred) continue;
    for (const RejectedMethod& rejected : report.rejected) {
      if (rejected.method != method->name) continue;
      why += fmt::format("{}rule {}: needed {}, found {}", why.empty() ? "" : "; ",
                         rejected.rule.id, rejected.rule.needed, rejected.rule.found);
    }
  }
  return why.empty() ? "this operation has no such way" : why;
}

// What became of the hints of a copy on CUDA.
void add_cuda_remarks(const Site& site, const Method* chosen, const Rules& rules,
                      CopyPlan& report) {
  const ir::Hints& hints = *site.hints;
  auto met = [&](std::string text) { report.remarks.push_back(std::move(text)); };
  if (hints.prefer_instruction) {
    std::string hint = fmt::format("prefer_instruction={}", to_string(*hints.prefer_instruction));
    if (family(*chosen) == *hints.prefer_instruction) {
      met(hint + ": met");
    } else {
      report.missed.push_back(
          fmt::format("{}: not met, {}", hint, why_unmet(site, *hints.prefer_instruction, report)));
    }
  }
  if (hints.disable_tma == true) met("disable_tma=true: met");
  if (hints.eviction_policy) {
    bool global = site.dst.buffer.scope() == Scope::global || site.im2col() ||
                  (site.src && site.src->buffer.scope() == Scope::global);
    std::string hint = fmt::format("eviction_policy={}", to_string(*hints.eviction_policy));
    met(hint + (global ? ": met" : ": no effect, neither side is in global memory"));
  }
  bool by_threads = family(*chosen) != PreferInstruction::tma && chosen != &matrix;
  auto for_threads = [&](std::string hint, std::string_view name) {
    bool missed = std::any_of(rules.missed_hints().begin(), rules.missed_hints().end(),
                              [&](const std::string& text) { return text.starts_with(name); });
    if (missed) return;
    met(hint + (by_threads ? ": met" : ": no effect, the copy is not made by threads"));
  };
  if (hints.coalesced_width) {
    for_threads(fmt::format("coalesced_width={}", *hints.coalesced_width), "coalesced_width");
  }
  if (hints.loop_layout) {
    for_threads(fmt::format("loop_layout={}", to_string(*hints.loop_layout)), "loop_layout");
  }
  for (const std::string& text : rules.missed_hints()) report.missed.push_back(text);
}

}  // namespace

std::vector<const Method*> methods_for(const Site& site) {
  std::vector<const Method*> methods;
  if (target::is_simt(*site.target)) {
    methods = cuda_methods(site);
  } else if (site.im2col()) {
    methods = {&host_im2col};
  } else {
    methods = {&host_stream, &host_run, &host_loop};
  }
  auto to_front = [&](auto&& wanted) {
    std::stable_partition(methods.begin(), methods.end(), wanted);
  };
  if (auto preferred = site.hints->prefer_instruction) {
    to_front([&](const Method* m) { return family(*m) == *preferred; });
  }
  to_front([&](const Method* m) { return m->name == site.method; });
  return methods;
}

void require_method(std::string_view name) {
  if (name.empty()) return;
  std::string names;
  for (const Method* method :
       {&host_stream, &host_run, &host_loop, &host_im2col, &bulk, &tma, &cp_async, &simt, &matrix,
        &realigned, &register_transpose, &tma_im2col, &im2col_gather}) {
    if (method->name == name) return;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", method->name);
  }
  raise(ErrorCode::E0603, {},
        {.needed = "a method: " + names, .found = fmt::format("\"{}\"", name)});
}

Decision decide(Site site) {
  Decision decision;
  CopyPlan& report = decision.report;
  report.id = site.op->id;
  report.operation = site.operation;
  report.where = site.op->where;
  for (const Method* method : methods_for(site)) {
    Rules rules(method->name, site);
    decision.plan = method->plan(site, rules);
    if (decision.plan) {
      decision.plan->method = method;
      report.method = method->name;
      for (const Guard& guard : decision.plan->guards) report.guards.push_back(guard.text);
      if (target::is_simt(*site.target)) {
        add_cuda_remarks(site, method, rules, report);
      } else {
        add_hint_remarks(site, report.remarks);
      }
      break;
    }
    const RuleReport* failed = rules.failed();
    if (!failed) raise_internal(fmt::format("{} gave no plan and no reason", method->name));
    report.rejected.push_back({std::string(method->name), *failed});
  }
  if (!decision.plan) raise_internal("no method for " + site.operation, site.op->where);
  report.parameters = decision.plan->parameters;
  decision.site = std::move(site);
  return decision;
}

}  // namespace tilecopy::planner
