#include "run/cuda_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
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
constexpr std::size_t kept_launches = 8;

struct Encoding {
  BoundMap map;
  EncodedMap encoded;
};

/// All of the arguments, in words: equal for equal ones.
using ArgumentKey = std::vector<std::uint64_t>;

void append(ArgumentKey& key, const TensorView& view) {
  auto word = [&](auto value) { key.push_back(static_cast<std::uint64_t>(value)); };
  word(reinterpret_cast<std::uintptr_t>(view.data));
  word(static_cast<unsigned>(view.dtype) | (view.writable ? 0x100u : 0u));
  word(view.device.type);
  word(view.device.id);
  word(view.shape.size());
  for (std::int64_t extent : view.shape) word(extent);
  word(view.strides.size());
  for (std::int64_t stride : view.strides) word(stride);
}
void append(ArgumentKey& key, std::int64_t value) {
  key.push_back(static_cast<std::uint64_t>(value));
}
void append(ArgumentKey& key, std::uint64_t value) { key.push_back(value); }
void append(ArgumentKey& key, double value) { key.push_back(std::bit_cast<std::uint64_t>(value)); }

void make_key(const std::vector<Argument>& arguments, const CudaDriver& driver, ArgumentKey& key) {
  key.clear();
  for (const Argument& argument : arguments) {
    key.push_back(argument.value().index());
    std::visit([&](const auto& value) { append(key, value); }, argument.value());
    // Memory that was freed may have come back at the same address on another device.
    const auto* view = std::get_if<TensorView>(&argument.value());
    if (view && driver.devices > 1) {
      append(key, std::int64_t{device_of(driver, *view)});
    }
  }
}

/// What a launch hands to the driver. It does not move: parameters point into it.
struct Launch {
  ArgumentKey key;
  unsigned long long context = 0;  ///< the id of the current one
  void* function = nullptr;
  unsigned blocks = 0, threads = 0, shared_bytes = 0;
  std::vector<DevicePointer> pointers;
  std::vector<std::int64_t> symbols;
  std::vector<std::uint64_t> scalars;
  std::vector<EncodedMap> maps;
  std::vector<void*> parameters;

  void point() {
    parameters.reserve(pointers.size() + symbols.size() + scalars.size() + maps.size());
    for (DevicePointer& pointer : pointers) parameters.push_back(&pointer);
    for (std::int64_t& symbol : symbols) parameters.push_back(&symbol);
    for (std::uint64_t& scalar : scalars) parameters.push_back(&scalar);
    for (EncodedMap& map : maps) parameters.push_back(&map);
  }

  void run(const CudaDriver& driver, void* stream) const {
    driver.check(driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared_bytes, stream,
                                       const_cast<void**>(parameters.data()), nullptr),
                 "cuLaunchKernel");
  }
};

// The id of the current context, 0 without one.
unsigned long long current_context(const CudaDriver& driver) {
  void* context = nullptr;
  unsigned long long id = 0;
  driver.check(driver.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  if (context) driver.check(driver.cuCtxGetId(context, &id), "cuCtxGetId");
  return id;
}

}  // namespace

struct CudaKernel::State {
  std::shared_ptr<const CudaModule> module;
  std::shared_ptr<const LateModule> others;
  LaunchPlan plan;
  std::mutex mutex;
  std::deque<Encoding> encodings;                      ///< the latest last
  std::deque<std::shared_ptr<const Launch>> launches;  ///< the latest last
  std::atomic<bool> remembers = false;                 ///< whether there are any

  EncodedMap encoding(const BoundMap& map, const CudaDriver& driver) {
    std::lock_guard lock(mutex);
    for (const Encoding& known : encodings) {
      if (known.map.same_as(map)) return known.encoded;
    }
    if (encodings.size() == kept_encodings) encodings.pop_front();
    encodings.push_back({map, encode(map, driver)});
    return encodings.back().encoded;
  }

  // A launch with the same arguments in the same context: nothing that was checked then has
  // changed.
  std::shared_ptr<const Launch> known_launch(const ArgumentKey& key, unsigned long long context) {
    std::lock_guard lock(mutex);
    for (auto it = launches.rbegin(); it != launches.rend(); ++it) {
      if ((*it)->context == context && (*it)->key == key) return *it;
    }
    return nullptr;
  }

  void remember(std::shared_ptr<const Launch> launch) {
    std::lock_guard lock(mutex);
    if (launches.size() == kept_launches) launches.pop_front();
    launches.push_back(std::move(launch));
    remembers.store(true, std::memory_order_release);
  }

  std::shared_ptr<Launch> make_launch(const BoundArguments& bound,
                                      const std::vector<DevicePointer>& pointers, unsigned blocks,
                                      const CudaDriver& driver) {
    const ChosenVariant chosen = choose_variant(plan, bound, pointers);
    const Variant& variant = plan.variants[chosen.index];
    auto launch = std::make_shared<Launch>();
    const CudaModule& code = chosen.index == 0 || !others ? *module : others->get();
    launch->function = code.function(driver, variant.entry, variant.shared_bytes);
    launch->blocks = blocks;
    launch->threads = static_cast<unsigned>(plan.threads);
    launch->shared_bytes = static_cast<unsigned>(variant.shared_bytes);
    launch->pointers = pointers;
    launch->symbols = bound.symbols;
    launch->scalars = bound.scalars;
    launch->maps.reserve(chosen.maps.size());
    for (const BoundMap& map : chosen.maps) launch->maps.push_back(encoding(map, driver));
    launch->point();
    return launch;
  }
};

CudaKernel::CudaKernel(std::shared_ptr<const CudaModule> module, LaunchPlan plan,
                       std::shared_ptr<const LateModule> others)
    : state_(std::make_shared<State>()) {
  state_->module = std::move(module);
  state_->others = std::move(others);
  state_->plan = std::move(plan);
}

const LaunchPlan& CudaKernel::plan() const { return state_->plan; }

void CudaKernel::launch(const std::vector<Argument>& arguments, void* stream) const {
  const LaunchPlan& plan = state_->plan;
  thread_local ArgumentKey key;  // keeps its memory from launch to launch
  if (state_->remembers.load(std::memory_order_acquire)) {
    const CudaDriver& driver = CudaDriver::get();
    make_key(arguments, driver, key);
    if (auto known = state_->known_launch(key, current_context(driver))) {
      return known->run(driver, stream);
    }
  }
  BoundArguments bound = bind_arguments(plan, arguments);
  const std::int64_t blocks = block_count(grid_of(plan, bound));
  if (blocks == 0) return;
  const CudaDriver& driver = CudaDriver::get();
  ContextScope context(driver, bound, plan);
  DeviceArguments device(driver, bound, plan, stream);
  auto launch =
      state_->make_launch(bound, device.pointers(), static_cast<unsigned>(blocks), driver);
  launch->run(driver, stream);
  device.copy_back();
  if (context.pushed() || device.copies()) return;
  make_key(arguments, driver, key);
  launch->key = key;
  launch->context = current_context(driver);
  state_->remember(std::move(launch));
}

}  // namespace tilecopy::run
