// Compiling a function for a target, and running and asking the result.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tilecopy/emulator.h"
#include "tilecopy/language.h"
#include "tilecopy/tensor.h"

namespace tilecopy {

struct CompileOptions {
  /// Optimisation level of the system C compiler, 0 to 3.
  int opt_level = 3;
  /// Whether to look in and add to the kernel cache.
  bool use_cache = true;
  /// Whether a hint that cannot be met is an error (E0207) instead of a remark.
  bool strict_hints = false;
  /// A way to copy, such as "bulk" (docs/planner.md), that is taken wherever its rules hold, before
  /// the order of costs and the hints: for comparing ways. Empty for none; an unknown one is E0603.
  std::string method = {};
};

/// One rule of a way to carry out a copy, and what the planner found.
struct RuleReport {
  std::string id;  ///< such as "host_run.contiguous"
  bool ok = false;
  std::string needed;
  std::string found;
  std::string advice;  ///< what would satisfy the rule; may be empty
};

/// A better way that was not taken, and the first rule it failed.
struct RejectedMethod {
  std::string method;
  RuleReport rule;
};

/// The decision about one tile operation.
struct CopyPlan {
  int id = -1;
  std::string operation;  ///< such as "copy A -> tile"
  Location where;
  std::string method;
  /// What was chosen, by name, such as {"run_bytes", "256"}.
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<RejectedMethod> rejected;
  /// What became of each hint that was met or has no use here, in sentences.
  std::vector<std::string> remarks;
  /// Hints that could not be met, and why.
  std::vector<std::string> missed;
  /// Facts about the arguments that the plan relies on, checked at launch: another variant of the
  /// kernel runs when one does not hold.
  std::vector<std::string> guards;
  /// What that other variant does; null when it does the same or there is none.
  std::shared_ptr<const CopyPlan> otherwise;
};

/// The time a stage of the compiler took.
struct StageTime {
  std::string stage;
  double milliseconds = 0;
};

/// An argument of a launch: a tensor or a scalar, converted from what the caller has.
class Argument {
 public:
  Argument(TensorView view) : value_(std::move(view)) {}     // NOLINT
  Argument(Tensor& tensor) : value_(tensor.view()) {}        // NOLINT
  Argument(const Tensor& tensor) : value_(tensor.view()) {}  // NOLINT
  template <std::signed_integral T>
  Argument(T value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT
  template <std::unsigned_integral T>
  Argument(T value) : value_(static_cast<std::uint64_t>(value)) {}  // NOLINT
  template <std::floating_point T>
  Argument(T value) : value_(static_cast<double>(value)) {}  // NOLINT

  using Value = std::variant<TensorView, std::int64_t, std::uint64_t, double>;
  const Value& value() const { return value_; }

 private:
  Value value_;
};

/// An argument and the user's line that launches with it.
struct ArgumentAt {
  template <typename T>
  requires std::constructible_from<Argument, T> ArgumentAt(
      T&& value, Location where = std::source_location::current())  // NOLINT
      : argument(std::forward<T>(value)), at(where) {}

  Argument argument;
  Location at;
};

struct LaunchOptions {
  /// Threads of the cpu target; 0 for OMP_NUM_THREADS, or all cores without it.
  int threads = 0;
  /// The CUDA stream of a launch, as the driver's or the runtime's handle; null for the default
  /// one.
  void* stream = nullptr;
  /// Of an emulator target.
  EmulatorOptions emulator = {};
};

/// A kernel that is ready to run. Copies share one kernel; launches may run concurrently.
class CompiledKernel {
 public:
  struct Impl;
  explicit CompiledKernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  /// Runs the kernel on tensors and scalars in the order of the function's parameters, and waits;
  /// a CUDA kernel whose tensors all live in device memory is only launched, and its stream has to
  /// be waited for. Raises E07xx before anything is written when an argument does not fit, and
  /// E0809 with the first verdict of the emulator.
  template <typename... Rest>
  void operator()(ArgumentAt first, Rest&&... rest) const {
    run({std::move(first.argument), Argument(std::forward<Rest>(rest))...}, {}, first.at);
  }
  void operator()(Location where = std::source_location::current()) const { run({}, {}, where); }
  void run(const std::vector<Argument>& arguments, const LaunchOptions& options = {},
           Location where = std::source_location::current()) const;

  /// Of a kernel for an emulator target: runs it on arguments in host memory and reports what it
  /// found. With verdicts the tensors are left as they were. E0602 for another target, E07xx.
  EmulatorReport emulate(const std::vector<Argument>& arguments,
                         const EmulatorOptions& options = {},
                         Location where = std::source_location::current()) const;

  const std::string& name() const;
  const std::string& target() const;
  /// The generated source, as it was compiled.
  const std::string& source() const;
  /// What was chosen for each tile operation and why, as text and as JSON.
  std::string explain() const;
  std::string explain_json() const;
  const std::vector<CopyPlan>& plans() const;
  /// E0603 for a handle of another function.
  const CopyPlan& plan(CopyHandle handle, Location where = std::source_location::current()) const;
  /// Each stage's time, in order; "build" is the C compiler's or, on a hit, the cache's.
  const std::vector<StageTime>& times() const;
  bool from_cache() const;

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Compiles for a target such as "cpu". An empty target is TILECOPY_TARGET, or "cpu" without it.
/// Raises E04xx for programs that break a rule, E06xx for targets, E08xx when building fails.
CompiledKernel compile(const Function& function, const std::string& target = {},
                       const CompileOptions& options = {},
                       Location where = std::source_location::current());
/// Compiles several functions into one module, which is quicker than one by one. Names may repeat.
std::vector<CompiledKernel> compile(std::span<const Function> functions,
                                    const std::string& target = {},
                                    const CompileOptions& options = {},
                                    Location where = std::source_location::current());

/// The IR after a stage, in the text form: "language", "infer_layouts" or "lower".
std::string stage_text(const Function& function, const std::string& target,
                       const std::string& stage, Location where = std::source_location::current());

struct TargetInfo {
  std::string name;
  bool available = false;
  std::string detail;  ///< what runs it here, or what is missing
};
std::vector<TargetInfo> targets();

std::string_view version();

}  // namespace tilecopy
