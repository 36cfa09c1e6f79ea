// Running and asking a compiled kernel.
#include "compiled_kernel.h"

#include <fmt/format.h>

#include "base/diagnostic.h"
#include "explain/explain.h"

namespace tilecopy {

namespace {

[[noreturn]] void raise_verdict(const Verdict& verdict) {
  raise(ErrorCode::E0809, verdict.where,
        {.needed = "a kernel without " + verdict.kind,
         .found = fmt::format("{} (block {}, schedule {})", verdict.text, verdict.block,
                              verdict.schedule),
         .help = verdict.help});
}

}  // namespace

void CompiledKernel::run(const std::vector<Argument>& arguments, const LaunchOptions& options,
                         Location where) const {
  at_line(where, [&] {
    if (impl_->cuda) return impl_->cuda->launch(arguments, options.stream);
    if (impl_->emulated) {
      const EmulatorReport report = impl_->emulated->run(arguments, options.emulator);
      return report.clean() ? void() : raise_verdict(report.verdicts.front());
    }
    impl_->host->launch(arguments, options.threads);
  });
}

EmulatorReport CompiledKernel::emulate(const std::vector<Argument>& arguments,
                                       const EmulatorOptions& options, Location where) const {
  return at_line(where, [&] {
    if (!impl_->emulated) {
      raise(ErrorCode::E0602, {},
            {.needed = "a kernel for \"emulator -arch=...\"", .found = "a kernel for " + target()});
    }
    return impl_->emulated->run(arguments, options);
  });
}

const std::string& CompiledKernel::name() const { return impl_->name; }
const std::string& CompiledKernel::target() const { return impl_->target; }
const std::string& CompiledKernel::source() const { return *impl_->source; }
const std::vector<CopyPlan>& CompiledKernel::plans() const { return impl_->plans; }
const std::vector<StageTime>& CompiledKernel::times() const { return impl_->times; }
bool CompiledKernel::from_cache() const { return impl_->from_cache; }

std::string CompiledKernel::explain() const {
  return explain::text({name(), target(), &impl_->plans, &impl_->remarks});
}
std::string CompiledKernel::explain_json() const {
  return explain::json({name(), target(), &impl_->plans, &impl_->remarks});
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

}  // namespace tilecopy
