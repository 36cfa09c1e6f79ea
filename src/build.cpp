#include "build.h"

#include <fmt/format.h>

#include <set>

#include "codegen/c.h"
#include "codegen/cuda.h"
#include "run/cache.h"
#include "run/cc.h"
#include "run/cuda_build.h"

namespace tilecopy {
namespace {

// Entry functions of one module need names of their own.
void make_entries_unique(std::vector<std::unique_ptr<Passage>>& passages) {
  std::set<std::string> taken;
  auto name = [&](std::string& entry) {
    const std::string stem = entry;
    for (int i = 1; !taken.insert(entry).second; ++i) entry = fmt::format("{}_{}", stem, i);
  };
  for (auto& passage : passages) {
    if (passage->launch.variants.empty()) name(passage->launch.entry);
    for (std::size_t i = 0; i < passage->launch.variants.size(); ++i) {
      run::Variant& variant = passage->launch.variants[i];
      if (i > 0) variant.entry += "_any";
      name(variant.entry);
    }
  }
}

// ---- Cpu ----

std::string generate_c(const std::vector<std::unique_ptr<Passage>>& passages) {
  std::vector<codegen::CKernel> kernels;
  for (const auto& p : passages) kernels.push_back({&p->device, &p->memory, &p->launch});
  return codegen::generate_c(kernels);
}

struct Library {
  std::shared_ptr<const os::SharedLibrary> library;
  bool from_cache = false;
};

Library compile_c(const std::string& name, const std::string& source,
                  const CompileOptions& options) {
  constexpr const char* library_file = "kernel.so";
  Cache cache = options.use_cache ? Cache() : Cache(std::filesystem::path{});
  Cc cc = Cc::find(Cache());
  CcOptions cc_options{.opt_level = options.opt_level};
  std::string key = fmt::format("tilecopy {}\ntarget cpu\n{}\n{}", library_version(),
                                cc.key_text(cc_options), without_line_comments(source));
  CacheEntry entry = cache.get(name, key, [&](const std::filesystem::path& directory) {
    cc.compile(source, directory / library_file, cc_options);
  });
  return {std::make_shared<os::SharedLibrary>(entry.file(library_file)), entry.hit};
}

// ---- Cuda ----

// All entry functions in one source, for people; and in two, for the compiler: that of the first
// variants, which most launches take, and that of the others.
struct CudaSources {
  std::string all, first, others;  ///< the last is empty when there are none
};

CudaSources generate_cuda(const std::vector<std::unique_ptr<Passage>>& passages) {
  std::string all, first, others;
  for (const auto& p : passages) {
    for (std::size_t i = 0; i < p->variants.size(); ++i) {
      const lower::SimtKernel& lowered = p->variants[i]->lowered;
      codegen::CudaKernel kernel;
      kernel.kernel = &lowered.kernel;
      kernel.shared_offsets = &lowered.shared_offsets;
      kernel.shared_bytes = lowered.shared_bytes;
      kernel.entry = p->launch.variants[i].entry;
      for (const run::TensorParam& tensor : p->launch.tensors) {
        kernel.written.push_back(tensor.written);
      }
      const std::string entry = codegen::cuda_entry(kernel);
      all += entry;
      (i == 0 ? first : others) += entry;
    }
  }
  CudaSources sources{codegen::cuda_source(all), codegen::cuda_source(first), {}};
  if (!others.empty()) sources.others = codegen::cuda_source(others);
  return sources;
}

// ---- Emulator ----

emulator::EmulatedKernel emulate(Passage& p) {
  std::vector<emulator::Program> programs;
  for (const auto& variant : p.variants) {
    programs.push_back(emulator::assemble(variant->lowered));
  }
  return {std::move(programs), std::move(p.launch)};
}

}  // namespace

Module build(std::vector<std::unique_ptr<Passage>>& passages, const target::Target& target,
             const CompileOptions& options) {
  make_entries_unique(passages);
  // Shared stages count for the first function.
  Passage& first = *passages.front();
  Module module;
  bool cuda = target::is_simt(target);
  CudaSources sources;
  first.watch.time("codegen", [&] {
    if (cuda) {
      sources = generate_cuda(passages);
    } else {
      sources.all = generate_c(passages);
    }
  });
  module.source = std::make_shared<const std::string>(std::move(sources.all));
  dump(fmt::format("{}.4-source.{}", first.tile->name, cuda ? "cu" : "c"),
       [&] { return *module.source; });
  if (target.kind == target::TargetKind::emulator) {
    first.watch.time("build", [&] {
      for (auto& p : passages) module.emulated.push_back(emulate(*p));
    });
    return module;
  }
  if (cuda) {
    auto build = [name = first.tile->name, arch = target.arch,
                  use_cache = options.use_cache](const std::string& source) {
      return run::build_cubin(name, source, arch, use_cache);
    };
    run::CudaBuild built = first.watch.time("build", [&] { return build(sources.first); });
    module.from_cache = built.hit;
    std::shared_ptr<const run::LateModule> others;
    if (!sources.others.empty()) {
      others = std::make_shared<const run::LateModule>(
          [build, source = std::move(sources.others)] { return build(source).module; });
    }
    for (auto& p : passages) module.cuda.emplace_back(built.module, std::move(p->launch), others);
    return module;
  }
  Library built = first.watch.time(
      "build", [&] { return compile_c(first.tile->name, *module.source, options); });
  module.from_cache = built.from_cache;
  for (auto& p : passages) module.host.emplace_back(built.library, std::move(p->launch));
  return module;
}

}  // namespace tilecopy
