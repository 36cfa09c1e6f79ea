#include "run/cuda_build.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "base/diagnostic.h"
#include "base/os.h"
#include "run/cache.h"
#include "run/nvrtc.h"
#include "tilecopy/error.h"

namespace tilecopy::run {
namespace {

// CUDA driver API, CUfunction_attribute.
constexpr int max_dynamic_shared_bytes = 8;
// A block gets more shared memory only when it is asked for.
constexpr std::int64_t plain_shared_bytes = 48 * 1024;
constexpr const char* cubin_file = "kernel.cubin";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Modules that are in use, so that equal kernels share one.
class LiveModules {
 public:
  std::shared_ptr<const CudaModule> find(const std::string& key) {
    std::lock_guard lock(mutex_);
    auto it = modules_.find(key);
    return it == modules_.end() ? nullptr : it->second.lock();
  }

  void add(const std::string& key, const std::shared_ptr<const CudaModule>& module) {
    std::lock_guard lock(mutex_);
    std::erase_if(modules_, [](const auto& entry) { return entry.second.expired(); });
    modules_[key] = module;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const CudaModule>> modules_;
};

LiveModules& live_modules() {
  static LiveModules modules;
  return modules;
}

}  // namespace

void* CudaModule::function(const CudaDriver& driver, const std::string& entry,
                           std::int64_t shared_bytes) const {
  if (error_) std::rethrow_exception(error_);
  void* context = nullptr;
  unsigned long long id = 0;
  driver.check(driver.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  driver.check(driver.cuCtxGetId(context, &id), "cuCtxGetId");
  std::lock_guard lock(mutex_);
  for (const Function& known : functions_) {
    if (known.context == id && known.entry == entry) return known.handle;
  }
  void*& module = modules_[id];
  if (!module) driver.check(driver.cuModuleLoadData(&module, cubin_.data()), "cuModuleLoadData");
  void* found = nullptr;
  driver.check(driver.cuModuleGetFunction(&found, module, entry.c_str()), "cuModuleGetFunction");
  if (shared_bytes > plain_shared_bytes) {
    driver.check(
        driver.cuFuncSetAttribute(found, max_dynamic_shared_bytes, static_cast<int>(shared_bytes)),
        "cuFuncSetAttribute");
  }
  functions_.push_back({id, entry, found});
  return found;
}

CudaBuild build_cubin(const std::string& name, const std::string& source, const std::string& arch,
                      bool use_cache) {
  if (!nvrtc_available()) {
    try {
      nvrtc_version();
    } catch (const Error&) {
      return {std::make_shared<const CudaModule>(std::current_exception()), false};
    }
  }
  std::string key = fmt::format("tilecopy {}\ntarget cuda -arch={}\nnvrtc {}", library_version(),
                                arch, nvrtc_version());
  for (const char* option : nvrtc_options) key += fmt::format(" {}", option);
  key += '\n' + without_line_comments(source);
  if (use_cache) {
    if (auto module = live_modules().find(key)) return {module, true};
  }
  Cache cache = use_cache ? Cache() : Cache(std::filesystem::path{});
  CacheEntry entry = cache.get(name, key, [&](const std::filesystem::path& directory) {
    os::write_file(directory / cubin_file, compile_cubin(source, name, arch));
  });
  auto module = std::make_shared<const CudaModule>(read_file(entry.file(cubin_file)));
  if (use_cache) live_modules().add(key, module);
  return {module, entry.hit};
}

}  // namespace tilecopy::run
