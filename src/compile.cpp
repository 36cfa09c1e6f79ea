// The pipe: every stage of the compiler, in order.
#include "tilecopy/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostic.h"
#include "base/options.h"
#include "base/os.h"
#include "build.h"
#include "compiled_kernel.h"
#include "ir/make.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "pipe.h"
#include "run/cache.h"

namespace tilecopy {
namespace {

void infer_layouts(Passage& p, const target::Target& target) {
  if (target::is_simt(target)) {
    lower::InferredLayouts inferred = lower::infer_simt_layouts(p.tile, target);
    p.tile = std::move(inferred.kernel);
    p.layouts = std::move(inferred.layouts);
    p.remarks = std::move(inferred.remarks);
    p.simt = lower::make_simt(*p.tile, inferred.fragments);
  } else {
    p.layouts = lower::infer_layouts(*p.tile);
    p.memory = lower::place_tiles(*p.tile, p.layouts);
  }
  p.facts = lower::all_facts(*p.tile);
  if (target::is_simt(target)) {
    p.facts.bind_loop(p.simt.thread, ir::make_int(0), ir::make_int(p.simt.threads));
  }
}

std::unique_ptr<Variant> select_variant(Passage& p, const target::Target& target,
                                        const CompileOptions& options, bool usual) {
  auto variant = std::make_unique<Variant>();
  if (usual) variant->assumptions = lower::usual_assumptions(*p.tile, p.facts);
  variant->decisions =
      lower::select_copies(*p.tile, target, p.facts, p.layouts,
                           {.simt = &p.simt,
                            .assumptions = usual ? &*variant->assumptions : nullptr,
                            .method = options.method});
  return variant;
}

bool has_guards(const Variant& variant) {
  return std::any_of(variant.decisions.begin(), variant.decisions.end(),
                     [](const planner::Decision& d) { return !d.plan->guards.empty(); });
}

void select_copies(Passage& p, const target::Target& target, const CompileOptions& options) {
  planner::require_method(options.method);
  if (!target::is_simt(target)) {
    p.decisions =
        lower::select_copies(*p.tile, target, p.facts, p.layouts, {.method = options.method});
    return;
  }
  p.variants.push_back(select_variant(p, target, options, true));
  if (!has_guards(*p.variants.front())) return;
  p.variants.push_back(select_variant(p, target, options, false));
  auto& usual = p.variants.front()->decisions;
  for (std::size_t i = 0; i < usual.size(); ++i) {
    const CopyPlan& other = p.variants.back()->decisions[i].report;
    bool same =
        other.method == usual[i].report.method && other.parameters == usual[i].report.parameters;
    if (!same) usual[i].report.otherwise = std::make_shared<CopyPlan>(other);
  }
}

void require_hints(Passage& p) {
  for (const planner::Decision& decision : p.chosen()) {
    const CopyPlan& plan = decision.report;
    if (plan.missed.empty()) continue;
    raise(ErrorCode::E0207, plan.where,
          {.needed = "every hint met, by strict_hints",
           .found = fmt::format("{}: {}", plan.operation, plan.missed.front())});
  }
}

void lower_kernel(Passage& p, const target::Target& target) {
  p.launch = lower::plan_launch(*p.tile, p.memory);
  if (!target::is_simt(target)) {
    p.device = lower::to_device(*p.tile, p.decisions, p.facts, p.layouts);
    return;
  }
  for (auto& variant : p.variants) {
    variant->lowered =
        lower::to_simt(*p.tile, variant->decisions, p.simt, p.facts, p.layouts, target);
    lower::add_variant(p.launch, *p.tile, variant->lowered, variant->decisions);
  }
}

// A kernel that somebody wrote, or printed, at device level.
void place_kernel(Passage& p, const target::Target& target) {
  p.variants.push_back(std::make_unique<Variant>());
  p.variants.back()->lowered = lower::place_device_kernel(*p.tile, target);
  p.launch = lower::plan_launch(*p.tile, p.memory);
  lower::add_variant(p.launch, *p.tile, p.variants.back()->lowered, {});
}

void verify_device(const Passage& p) {
  if (p.variants.empty()) return ir::verify(p.device);
  for (const auto& variant : p.variants) ir::verify(variant->lowered.kernel);
}

}  // namespace

void lower_through(Passage& p, const target::Target& target, const std::string& stop_after,
                   const CompileOptions& options) {
  auto done = [&](const char* stage) { return stop_after == stage; };
  auto dump_stage = [&](const char* stage, const ir::Kernel& kernel) {
    dump(fmt::format("{}.{}.tile", p.tile->name, stage), [&] { return ir::print(kernel); });
  };

  p.watch.time("verify", [&] { ir::verify(*p.tile); });
  dump_stage("1-language", *p.tile);
  if (done("language")) return;

  if (p.tile->level == ir::Level::device) {
    return p.watch.time("lower", [&] { place_kernel(p, target); });
  }

  p.watch.time("infer_layouts", [&] { infer_layouts(p, target); });
  dump_stage("2-infer_layouts", *p.tile);
  if (done("infer_layouts")) return;

  p.watch.time("select_copies", [&] { select_copies(p, target, options); });
  if (options.strict_hints) require_hints(p);
  if (done("select_copies")) return;

  p.watch.time("lower", [&] { lower_kernel(p, target); });
  dump_stage("3-lower", p.lowered());
  p.watch.time("verify_device", [&] { verify_device(p); });
}

namespace {

CompiledKernel finish(Passage& p, std::size_t index, const target::Target& target,
                      const Module& module) {
  auto impl = std::make_shared<CompiledKernel::Impl>();
  impl->name = p.tile->name;
  impl->target = target.to_string();
  impl->function = p.tile->serial;
  impl->source = module.source;
  for (planner::Decision& decision : p.chosen()) impl->plans.push_back(std::move(decision.report));
  impl->remarks = std::move(p.remarks);
  impl->times = std::move(p.watch.times);
  impl->from_cache = module.from_cache;
  switch (target.kind) {
    case target::TargetKind::cpu: impl->host.emplace(module.host[index]); break;
    case target::TargetKind::cuda: impl->cuda.emplace(module.cuda[index]); break;
    case target::TargetKind::emulator: impl->emulated.emplace(module.emulated[index]); break;
  }
  return CompiledKernel(std::move(impl));
}

std::vector<CompiledKernel> compile_all(std::span<const Function> functions,
                                        const std::string& target_text,
                                        const CompileOptions& options) {
  if (functions.empty()) return {};
  target::Target target = target::parse_target(target_text);

  std::vector<std::unique_ptr<Passage>> passages;
  for (const Function& function : functions) {
    passages.push_back(std::make_unique<Passage>());
    passages.back()->tile = function.shared();
    lower_through(*passages.back(), target, {}, options);
  }
  Module module = build(passages, target, options);

  std::vector<CompiledKernel> kernels;
  for (std::size_t i = 0; i < passages.size(); ++i) {
    kernels.push_back(finish(*passages[i], i, target, module));
  }
  return kernels;
}

std::string text_after(const Function& function, const std::string& target_text,
                       const std::string& stage) {
  Passage passage;
  passage.tile = function.shared();
  lower_through(passage, target::parse_target(target_text), stage);
  if (stage == "language" || stage == "infer_layouts") return ir::print(*passage.tile);
  if (stage == "lower") return ir::print(passage.lowered());
  raise(ErrorCode::E0603, {},
        {.needed = "a stage: language, infer_layouts or lower",
         .found = fmt::format("\"{}\"", stage)});
}

}  // namespace

std::vector<CompiledKernel> compile(std::span<const Function> functions, const std::string& target,
                                    const CompileOptions& options, Location where) {
  return at_line(where, [&] { return compile_all(functions, target, options); });
}

CompiledKernel compile(const Function& function, const std::string& target,
                       const CompileOptions& options, Location where) {
  return compile(std::span(&function, 1), target, options, where).front();
}

std::string stage_text(const Function& function, const std::string& target,
                       const std::string& stage, Location where) {
  return at_line(where, [&] { return text_after(function, target, stage); });
}

std::string_view version() { return library_version(); }

void dump(const std::string& file, const std::function<std::string()>& text) {
  auto directory = dump_directory();
  if (!directory) return;
  std::error_code ignored;  // write_file reports a directory that is missing
  std::filesystem::create_directories(*directory, ignored);
  os::write_file(*directory / file, text());
}

}  // namespace tilecopy
