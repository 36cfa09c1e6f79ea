#include "copy/arrays.h"

#include <gtest/gtest.h>

#include <random>

#include "lower/lower.h"

namespace tilecopy::test {

Arrays::Arrays(const Function& function) {
  const run::LaunchPlan plan = lower::plan_launch(*function.shared(), {});
  std::mt19937_64 random(1);
  for (const run::TensorParam& param : plan.tensors) {
    std::vector<std::int64_t> shape, strides;
    for (const auto& size : param.shape) shape.push_back(*size.evaluate({}, {}));
    for (const auto& size : param.strides) strides.push_back(*size.evaluate({}, {}));
    std::int64_t last = strides.empty() ? shape[0] * shape[1] : 1;
    for (std::size_t d = 0; d < strides.size(); ++d) last += (shape[d] - 1) * strides[d];
    auto& memory = memory_.emplace_back(static_cast<std::size_t>(last * bytes(param.dtype)));
    for (std::uint8_t& byte : memory) {
      byte = static_cast<std::uint8_t>(random() & (param.dtype == bool_ ? 1 : 0xff));
    }
    views_.push_back({memory.data(), param.dtype, shape, strides});
  }
}

void expect_same_as_on_cpu(const Function& function, const CompiledKernel& kernel) {
  Arrays wanted(function), got(function);
  compile(function, "cpu", {.opt_level = 0}).run(wanted.arguments());
  const EmulatorReport report = kernel.emulate(got.arguments(), {.schedules = 2});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_TRUE(got.memory() == wanted.memory()) << "other bytes than on the cpu";
}

}  // namespace tilecopy::test
