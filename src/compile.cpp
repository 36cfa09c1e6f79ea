// The pipe: every stage of the compiler, in order.
#include "tilecopy/compile.h"

#include <fmt/format.h>

#include <set>
#include <sstream>

#include "base/diagnostic.h"
#include "base/options.h"
#include "base/os.h"
#include "codegen/c.h"
#include "explain/explain.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "pipe.h"
#include "run/cache.h"
#include "run/cc.h"
#include "run/host_kernel.h"

namespace tilecopy {

struct CompiledKernel::Impl {
  std::string target;
  std::uint64_t function = 0;  ///< ir::Kernel::serial
  std::shared_ptr<const std::string> source;
  std::vector<CopyPlan> plans;
  std::vector<StageTime> times;
  bool from_cache = false;
  run::HostKernel kernel;
};

void lower_through(Passage& p, const target::Target& target, const std::string& stop_after) {
  auto done = [&](const char* stage) { return stop_after == stage; };
  auto dump_tile = [&](const char* stage) {
    dump(fmt::format("{}.{}.tile", p.tile->name, stage), ir::print(*p.tile));
  };

  p.watch.time("verify", [&] { ir::verify(*p.tile); });
  dump_tile("1-language");
  if (done("language")) return;

  p.watch.time("infer_layouts", [&] {
    p.facts = lower::all_facts(*p.tile);
    p.layouts = lower::infer_layouts(*p.tile);
    p.memory = lower::place_tiles(*p.tile, p.layouts);
  });
  if (done("infer_layouts")) return;

  p.watch.time("select_copies",
               [&] { p.decisions = lower::select_copies(*p.tile, target, p.facts, p.layouts); });
  if (done("select_copies")) return;

  p.watch.time("lower", [&] {
    p.device = lower::to_device(*p.tile, p.decisions, p.facts, p.layouts);
    p.launch = lower::plan_launch(*p.tile, p.memory);
  });
  dump(fmt::format("{}.2-lower.tile", p.tile->name), ir::print(p.device));
  p.watch.time("verify_device", [&] { ir::verify(p.device); });
}

namespace {

// Entry functions of one module need names of their own.
void make_entries_unique(std::vector<std::unique_ptr<Passage>>& passages) {
  std::set<std::string> taken;
  for (auto& passage : passages) {
    std::string& entry = passage->launch.entry;
    const std::string stem = entry;
    for (int i = 1; !taken.insert(entry).second; ++i) entry = fmt::format("{}_{}", stem, i);
  }
}

std::string generate(const std::vector<std::unique_ptr<Passage>>& passages) {
  std::vector<codegen::CKernel> kernels;
  for (const auto& p : passages) kernels.push_back({&p->device, &p->memory, &p->launch});
  std::string source = codegen::generate_c(kernels);
  dump(passages.front()->tile->name + ".3-source.c", source);
  return source;
}

// What decides the code: a user's lines that moved do not.
std::string without_comments(const std::string& source) {
  std::istringstream lines(source);
  std::string line, result;
  while (std::getline(lines, line)) {
    std::size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos || line.compare(first, 2, "//") != 0) result += line + '\n';
  }
  return result;
}

struct Built {
  std::shared_ptr<const os::SharedLibrary> library;
  bool from_cache = false;
};

Built build(const std::string& name, const std::string& source, const CompileOptions& options) {
  constexpr const char* library_file = "kernel.so";
  Cache cache = options.use_cache ? Cache() : Cache(std::filesystem::path{});
  Cc cc = Cc::find(Cache());
  CcOptions cc_options{.opt_level = options.opt_level};
  std::string key = fmt::format("tilecopy {}\ntarget cpu\n{}\n{}", library_version(),
                                cc.key_text(cc_options), without_comments(source));
  CacheEntry entry = cache.get(name, key, [&](const std::filesystem::path& directory) {
    cc.compile(source, directory / library_file, cc_options);
  });
  return {std::make_shared<os::SharedLibrary>(entry.file(library_file)), entry.hit};
}

CompiledKernel finish(Passage& p, const target::Target& target,
                      std::shared_ptr<const std::string> source, const Built& built) {
  std::vector<CopyPlan> plans;
  for (planner::Decision& decision : p.decisions) plans.push_back(std::move(decision.report));
  return CompiledKernel(std::make_shared<CompiledKernel::Impl>(
      CompiledKernel::Impl{target.to_string(), p.tile->serial, std::move(source), std::move(plans),
                           std::move(p.watch.times), built.from_cache,
                           run::HostKernel(built.library, std::move(p.launch))}));
}

std::vector<CompiledKernel> compile_all(std::span<const Function> functions,
                                        const std::string& target_text,
                                        const CompileOptions& options) {
  if (functions.empty()) return {};
  target::Target target = target::parse_target(target_text);
  target::require_available(target);

  std::vector<std::unique_ptr<Passage>> passages;
  for (const Function& function : functions) {
    passages.push_back(std::make_unique<Passage>());
    passages.back()->tile = function.shared();
    lower_through(*passages.back(), target, {});
  }
  make_entries_unique(passages);

  // Shared stages count for the first function.
  Stopwatch& watch = passages.front()->watch;
  auto source = std::make_shared<const std::string>(
      watch.time("codegen", [&] { return generate(passages); }));
  Built built = watch.time("build", [&] { return build(functions[0].name(), *source, options); });

  std::vector<CompiledKernel> kernels;
  for (auto& passage : passages) kernels.push_back(finish(*passage, target, source, built));
  return kernels;
}

std::string text_after(const Function& function, const std::string& target_text,
                       const std::string& stage) {
  Passage passage;
  passage.tile = function.shared();
  lower_through(passage, target::parse_target(target_text), stage);
  if (stage == "language" || stage == "infer_layouts") return ir::print(*passage.tile);
  if (stage == "lower") return ir::print(passage.device);
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

void CompiledKernel::run(const std::vector<Argument>& arguments, const LaunchOptions& options,
                         Location where) const {
  at_line(where, [&] { impl_->kernel.launch(arguments, options.threads); });
}

const std::string& CompiledKernel::name() const { return impl_->kernel.plan().kernel; }
const std::string& CompiledKernel::target() const { return impl_->target; }
const std::string& CompiledKernel::source() const { return *impl_->source; }
const std::vector<CopyPlan>& CompiledKernel::plans() const { return impl_->plans; }
const std::vector<StageTime>& CompiledKernel::times() const { return impl_->times; }
bool CompiledKernel::from_cache() const { return impl_->from_cache; }

std::string CompiledKernel::explain() const {
  return explain::text({name(), target(), &impl_->plans});
}
std::string CompiledKernel::explain_json() const {
  return explain::json({name(), target(), &impl_->plans});
}

const CopyPlan& CompiledKernel::plan(CopyHandle handle, Location where) const {
  bool known = handle.function == impl_->function && handle.id >= 0 &&
               static_cast<std::size_t>(handle.id) < impl_->plans.size();
  if (known) {
    return impl_->plans[static_cast<std::size_t>(handle.id)];
  }
  raise(ErrorCode::E0603, where,
        {.needed = fmt::format("a handle of one of the {} tile operations of {}",
                               impl_->plans.size(), name()),
         .found = fmt::format("handle {}", handle.id),
         .help = "pass what copy, im2col or transpose returned inside this kernel's function"});
}

std::string_view version() { return library_version(); }

void dump(const std::string& file, const std::string& text) {
  auto directory = dump_directory();
  if (!directory) return;
  std::error_code ignored;  // write_file reports a directory that is missing
  std::filesystem::create_directories(*directory, ignored);
  os::write_file(*directory / file, text);
}

}  // namespace tilecopy
