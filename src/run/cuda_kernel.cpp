#include "run/cuda_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "base/diagnostic.h"
#include "run/arguments.h"
#include "run/cuda_memory.h"
#include "run/tensor_map.h"
#include "run/variant.h"

namespace tilecopy::run {
namespace {

constexpr std::size_t kept_encodings = 16;

struct Encoding {
  BoundMap map;
  EncodedMap encoded;
};

}  // namespace

struct CudaKernel::State {
  std::shared_ptr<const CudaModule> module;
  LaunchPlan plan;
  std::mutex mutex;
  std::deque<Encoding> encodings;  ///< the latest last

  EncodedMap encoding(const BoundMap& map, const CudaDriver& driver) {
    std::lock_guard lock(mutex);
    for (const Encoding& known : encodings) {
      if (known.map.same_as(map)) return known.encoded;
    }
    if (encodings.size() == kept_encodings) encodings.pop_front();
    encodings.push_back({map, encode(map, driver)});
    return encodings.back().encoded;
  }

  void launch(const Variant& variant, const std::vector<BoundMap>& maps,
              const BoundArguments& bound, std::vector<DevicePointer>& pointers, unsigned blocks,
              const CudaDriver& driver, void* stream) {
    std::vector<EncodedMap> encoded;
    encoded.reserve(maps.size());
    for (const BoundMap& map : maps) encoded.push_back(encoding(map, driver));
    std::vector<void*> parameters;
    parameters.reserve(pointers.size() + bound.symbols.size() + bound.scalars.size() +
                       encoded.size());
    for (DevicePointer& pointer : pointers) parameters.push_back(&pointer);
    for (const std::int64_t& symbol : bound.symbols) {
      parameters.push_back(const_cast<std::int64_t*>(&symbol));
    }
    for (const std::uint64_t& scalar : bound.scalars) {
      parameters.push_back(const_cast<std::uint64_t*>(&scalar));
    }
    for (EncodedMap& map : encoded) parameters.push_back(&map);
    void* function = module->function(driver, variant.entry, variant.shared_bytes);
    driver.check(driver.cuLaunchKernel(function, blocks, 1, 1, static_cast<unsigned>(plan.threads),
                                       1, 1, static_cast<unsigned>(variant.shared_bytes), stream,
                                       parameters.data(), nullptr),
                 "cuLaunchKernel");
  }
};

CudaKernel::CudaKernel(std::shared_ptr<const CudaModule> module, LaunchPlan plan)
    : state_(std::make_shared<State>()) {
  state_->module = std::move(module);
  state_->plan = std::move(plan);
}

const LaunchPlan& CudaKernel::plan() const { return state_->plan; }

void CudaKernel::launch(const std::vector<Argument>& arguments, void* stream) const {
  const LaunchPlan& plan = state_->plan;
  BoundArguments bound = bind_arguments(plan, arguments);
  const std::int64_t blocks = block_count(grid_of(plan, bound));
  if (blocks == 0) return;
  const CudaDriver& driver = CudaDriver::get();
  ContextScope context(driver, bound, plan);
  DeviceArguments device(driver, bound, plan, stream);
  const ChosenVariant chosen = choose_variant(plan, bound, device.pointers());
  state_->launch(plan.variants[chosen.index], chosen.maps, bound, device.pointers(),
                 static_cast<unsigned>(blocks), driver, stream);
  device.copy_back();
}

}  // namespace tilecopy::run
