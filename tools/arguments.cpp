#include "arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "array_data.h"
#include "base/diagnostic.h"
#include "base/os.h"
#include "lower/lower.h"
#include "scalar_values.h"
#include "words.h"

namespace tilecopy::tool {
namespace {

namespace fs = std::filesystem;

run::LaunchPlan parameters(const Kernel& kernel) {
  return lower::plan_launch(kernel.function.kernel(), {});
}

std::vector<std::string> tensor_names(const run::LaunchPlan& plan) {
  std::vector<std::string> names;
  for (const run::TensorParam& tensor : plan.tensors) names.push_back(tensor.name);
  return names;
}

void check_tensor_names(std::string_view flag, const std::vector<std::string>& words,
                        const run::LaunchPlan& plan) {
  const std::vector<std::string> names = tensor_names(plan);
  for (const auto& [name, path] : file_bindings(flag, words)) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    refuse(fmt::format("{} with a tensor of {}: {}", flag, plan.kernel, fmt::join(names, ", ")),
           fmt::format("{}={}", name, path));
  }
}

// Two tensors in one file would leave only the second.
void check_paths(const Request& request) {
  std::set<std::string> paths;
  for (const auto& [name, path] : file_bindings("--out", request.out)) {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(path, error);
    if (paths.insert(error ? path : real.string()).second) continue;
    refuse("--out with a file of its own for each tensor", fmt::format("{} twice", path));
  }
}

Tensor read_input(Kernel& kernel, const run::TensorParam& param, const std::string& path) {
  if (auto loaded = kernel.loaded.find(param.name); loaded != kernel.loaded.end()) {
    return std::move(loaded->second);
  }
  Tensor tensor = load_npy(path, param.dtype, {});
  if (tensor.shape().size() == param.shape.size()) return tensor;
  raise(ErrorCode::E0703, {},
        {.needed =
             fmt::format("rank {} for {}, declared {}", param.shape.size(), param.name, param.text),
         .found = fmt::format("{} of shape {}", path, shape_text(tensor.shape()))});
}

}  // namespace

std::uint64_t seed_of(const Request& request) {
  return request.seed ? static_cast<std::uint64_t>(parse_integer("--seed", *request.seed, 0)) : 0;
}

const Array& Arguments::array(const std::string& name) const {
  return *std::find_if(arrays.begin(), arrays.end(),
                       [&](const Array& array) { return array.name == name; });
}

std::int64_t Arguments::bytes() const {
  std::int64_t sum = 0;
  for (const Array& array : arrays) sum += array.bytes();
  return sum;
}

void check_names(const Kernel& kernel, const Request& request) {
  const run::LaunchPlan plan = parameters(kernel);
  check_tensor_names("--in", request.in, plan);
  check_tensor_names("--out", request.out, plan);
  check_paths(request);
  ScalarValues(plan, request.set);
}

Arguments make_arguments(Kernel& kernel, const Request& request) {
  const run::LaunchPlan plan = parameters(kernel);
  const auto files = file_bindings("--in", request.in);
  ScalarValues values(plan, request.set);
  std::map<std::string, Tensor> inputs;
  for (const run::TensorParam& param : plan.tensors) {
    const auto file = files.find(param.name);
    if (file == files.end()) continue;
    Tensor tensor = read_input(kernel, param, file->second);
    values.bind_symbols(param, tensor.shape(), file->second);
    inputs.emplace(param.name, std::move(tensor));
  }
  values.require_all();

  Arguments arguments;
  std::uint64_t seed = seed_of(request);
  for (const run::TensorParam& param : plan.tensors) {
    const auto input = inputs.find(param.name);
    if (input != inputs.end()) {
      arguments.arrays.push_back(array_of(param, values, std::move(input->second)));
      arguments.arrays.back().origin = files.at(param.name);
    } else {
      arguments.arrays.push_back(fresh_array(param, values, seed++));
    }
  }
  for (int at : plan.order) {
    if (at >= 0) {
      arguments.list.emplace_back(arguments.arrays[static_cast<std::size_t>(at)].view);
    } else {
      arguments.list.push_back(values.scalar(static_cast<std::size_t>(~at)));
    }
  }
  return arguments;
}

void check_outputs(const Request& request) {
  for (const auto& [name, path] : file_bindings("--out", request.out)) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    // Opening a pipe or device and closing it again can be seen at the other end.
    if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) continue;
    os::OutputFile untouched(path, {});
  }
}

void save_outputs(const Arguments& arguments, const Request& request) {
  for (const auto& [name, path] : file_bindings("--out", request.out)) {
    save_npy(path, arguments.array(name).view, Location{});
  }
}

}  // namespace tilecopy::tool
