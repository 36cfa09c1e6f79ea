// CUDA sources to modules: NVRTC, the cache on disk, and loading into contexts.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "run/cuda_driver.h"

namespace tilecopy::run {

/// The machine code of one source, loaded into each context that launches it. It stays loaded as
/// long as the context: a CUDA graph may hold its functions, and unloading would wait for the GPU.
class CudaModule {
 public:
  explicit CudaModule(std::string cubin) : cubin_(std::move(cubin)) {}
  /// A source that could not be compiled here: the first launch raises `error`.
  explicit CudaModule(std::exception_ptr error) : error_(std::move(error)) {}

  /// An entry in the current context. Raises E0712, E0806 and E0808.
  void* function(const CudaDriver& driver, const std::string& entry,
                 std::int64_t shared_bytes) const;
  const std::string& cubin() const { return cubin_; }

 private:
  std::string cubin_;
  std::exception_ptr error_;
  mutable std::mutex mutex_;
  // By the id of the context: a new context may lie where a destroyed one was.
  mutable std::map<unsigned long long, void*> modules_;
  struct Function {
    unsigned long long context;
    std::string entry;
    void* handle;
  };
  mutable std::vector<Function> functions_;  ///< a few, searched by every launch
};

/// A module that is built when it is first needed. What building raises, the next call tries again.
class LateModule {
 public:
  using Build = std::function<std::shared_ptr<const CudaModule>()>;
  explicit LateModule(Build build) : build_(std::move(build)) {}

  const CudaModule& get() const {
    std::lock_guard lock(mutex_);
    if (!module_) module_ = build_();
    return *module_;
  }

 private:
  Build build_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const CudaModule> module_;
};

struct CudaBuild {
  std::shared_ptr<const CudaModule> module;
  bool hit = false;  ///< from the cache on disk, or from a live kernel of the same source
};

/// Without NVRTC, a module that raises E0608 at the first launch. Raises E0805.
CudaBuild build_cubin(const std::string& name, const std::string& source, const std::string& arch,
                      bool use_cache);

}  // namespace tilecopy::run
