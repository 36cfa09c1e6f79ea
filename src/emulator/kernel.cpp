#include "emulator/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/diagnostic.h"
#include "emulator/block.h"
#include "run/variant.h"

namespace tilecopy::emulator {
namespace {

// Grids above are in order: the list of their blocks would take more memory than their kernels.
constexpr std::int64_t most_shuffled = std::int64_t{1} << 24;

void require_host(const run::BoundArguments& bound, const run::LaunchPlan& plan) {
  for (std::size_t i = 0; i < bound.views.size(); ++i) {
    if (bound.views[i]->device.is_host()) continue;
    raise(ErrorCode::E0709, {},
          {.needed = fmt::format("{} in host memory, for the emulator", plan.tensors[i].name),
           .found = to_string(bound.views[i]->device)});
  }
}

std::vector<std::int64_t> indices_of(std::int64_t flat, const std::vector<std::int64_t>& grid) {
  std::vector<std::int64_t> result;
  for (std::int64_t extent : grid) {
    result.push_back(flat % extent);
    flat /= extent;
  }
  return result;
}

std::vector<std::vector<std::byte>> results_of(const Inputs& inputs) {
  std::vector<std::vector<std::byte>> results;
  for (const TensorMemory& tensor : inputs.tensors) {
    if (tensor.is_written()) results.push_back(tensor.contents());
  }
  return results;
}

// All blocks, in an order of the schedule's own.
void run_schedule(const Program& program, Inputs& inputs, const std::vector<std::int64_t>& grid,
                  Reporter& reporter, int number, Trace* trace) {
  Random random(reporter.options().seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(number));
  EmulatorProgress progress{number, 0, run::block_count(grid)};
  const std::int64_t blocks = progress.blocks;
  auto run_block = [&](std::int64_t flat) {
    Block(program, inputs, reporter, random, number, trace).run(flat, indices_of(flat, grid));
    ++progress.block;
    if (reporter.options().progress) reporter.options().progress(progress);
  };
  if (blocks > most_shuffled) {
    for (std::int64_t flat = 0; flat < blocks; ++flat) run_block(flat);
    return;
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(blocks));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::shuffle(order.begin(), order.end(), random);
  for (std::int64_t flat : order) run_block(flat);
}

}  // namespace

EmulatorReport EmulatedKernel::run(const std::vector<Argument>& arguments,
                                   const EmulatorOptions& options) const {
  EmulatorReport report;
  Reporter reporter(options, report);
  const run::BoundArguments bound = run::bind_arguments(plan_, arguments);
  require_host(bound, plan_);
  const std::vector<std::int64_t> grid = run::grid_of(plan_, bound);
  if (run::block_count(grid) == 0) return report;
  std::vector<run::DevicePointer> pointers;
  for (void* pointer : bound.tensors) {
    pointers.push_back(reinterpret_cast<run::DevicePointer>(pointer));
  }
  run::ChosenVariant chosen = run::choose_variant(plan_, bound, pointers);
  for (const run::BoundMap& map : chosen.maps) run::require_encodable(map);

  Inputs inputs{{}, bound.symbols, bound.scalars, std::move(chosen.maps)};
  for (std::size_t i = 0; i < bound.views.size(); ++i) {
    inputs.tensors.emplace_back(*bound.views[i], plan_.tensors[i].written);
    if (plan_.tensors[i].written) inputs.tensors.back().save();
  }
  auto restore = [&] {
    for (TensorMemory& tensor : inputs.tensors) tensor.restore();
  };
  std::vector<std::vector<std::byte>> first;
  Trace trace;
  try {
    for (int number = 0; number < options.schedules && report.clean(); ++number) {
      if (number > 0) {
        restore();
        for (TensorMemory& tensor : inputs.tensors) tensor.forget_blocks();
      }
      reporter.start_schedule(number);
      report.schedules = number + 1;
      run_schedule(variants_[chosen.index], inputs, grid, reporter, number,
                   options.trace && number == 0 ? &trace : nullptr);
      if (number == 0) {
        first = results_of(inputs);
      } else if (results_of(inputs) != first) {
        reporter.add(Fault::schedule_dependent, nullptr,
                     fmt::format("schedules 0 and {} leave different bytes", number));
      }
    }
  } catch (const Halt&) {
  }
  if (options.trace) report.trace = trace.json();
  if (!report.clean()) restore();
  return report;
}

}  // namespace tilecopy::emulator
