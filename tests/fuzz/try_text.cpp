#include "fuzz/try_text.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "lower/lower.h"
#include "run/launch_plan.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy::fuzz {
namespace {

constexpr std::int64_t symbol_value = 24;         // of every symbol and integer scalar
constexpr std::int64_t most_bytes = 1 << 18;      // of one tensor
constexpr std::int64_t most_blocks = 64;          // of a grid
constexpr std::int64_t most_block_steps = 20000;  // on the emulator

// Arguments for a kernel, or nothing where they or its grid would be large.
class Arguments {
 public:
  explicit Arguments(const run::LaunchPlan& plan)
      : symbols_(plan.symbols.size(), symbol_value), scalars_(plan.scalars.size(), symbol_value) {
    std::int64_t blocks = 1;
    for (const run::SizeProgram& extent : plan.grid) blocks = times(blocks, extent, most_blocks);
    fits_ = blocks >= 0;
    for (const run::TensorParam& param : plan.tensors) {
      std::vector<std::int64_t> shape;
      std::int64_t size = bytes(param.dtype);
      for (const run::SizeProgram& extent : param.shape) {
        size = times(size, extent, most_bytes);
        shape.push_back(size < 0 ? 0 : *extent.evaluate(symbols_, scalars_));
      }
      if (size < 0 || !param.strides.empty()) fits_ = false;
      if (fits_) tensors_.emplace_back(shape, param.dtype).fill_random(1);
    }
    if (!fits_) return;
    for (int at : plan.order) {
      if (at >= 0) {
        list_.emplace_back(tensors_[static_cast<std::size_t>(at)]);
      } else if (is_float(plan.scalars[static_cast<std::size_t>(~at)].dtype)) {
        list_.emplace_back(0.5);
      } else {
        list_.emplace_back(plan.scalars[static_cast<std::size_t>(~at)].dtype == DType::bool_
                               ? std::int64_t{1}
                               : symbol_value);
      }
    }
  }

  bool fit() const { return fits_; }
  const std::vector<Argument>& list() const { return list_; }

 private:
  // -1 where the product is above the limit, or the factor is not a size.
  std::int64_t times(std::int64_t product, const run::SizeProgram& factor, std::int64_t limit) {
    const auto value = factor.evaluate(symbols_, scalars_);
    if (product < 0 || !value || *value < 0 || *value > limit) return -1;
    return product * *value > limit ? -1 : product * *value;
  }

  std::vector<std::int64_t> symbols_, scalars_;
  std::vector<Tensor> tensors_;
  std::vector<Argument> list_;
  bool fits_ = true;
};

// With the grid, which only a variant brings.
run::LaunchPlan plan_of(const ir::Kernel& kernel) {
  run::LaunchPlan plan = lower::plan_launch(kernel, {});
  lower::SimtKernel simt;
  simt.kernel = kernel;
  lower::add_variant(plan, kernel, simt, {});
  return plan;
}

}  // namespace

Outcome try_text(const std::string& text) {
  static const char* const targets[] = {"emulator -arch=sm_80", "emulator -arch=sm_90a",
                                        "emulator -arch=sm_100a"};
  const std::string target = targets[std::hash<std::string>()(text) % std::size(targets)];
  try {
    const Function function = parse(text, "fuzz.tile");
    try {
      stage_text(function, "cpu", "lower");
    } catch (const UserError&) {  // the device level has no way to the CPU target
    }
    const CompiledKernel kernel = compile(function, target);
    kernel.explain();
    kernel.explain_json();
    const Arguments arguments(plan_of(function.kernel()));
    if (!arguments.fit()) return Outcome::too_large;
    const EmulatorReport report =
        kernel.emulate(arguments.list(), {.schedules = 2, .most_block_steps = most_block_steps});
    report.text();
    report.json();
    return Outcome::emulated;
  } catch (const UserError&) {
    return Outcome::refused;
  }
}

}  // namespace tilecopy::fuzz
