#include "run/nvrtc.h"

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/options.h"
#include "base/os.h"
#include "tilecopy/error.h"

namespace tilecopy::run {
namespace {

struct Nvrtc {
  os::SharedLibrary library;
  int (*version)(int* major, int* minor) = nullptr;
  int (*create)(void** program, const char* source, const char* name, int headers,
                const char* const* texts, const char* const* names) = nullptr;
  int (*compile)(void* program, int count, const char* const* options) = nullptr;
  int (*cubin_size)(void* program, std::size_t* size) = nullptr;
  int (*cubin)(void* program, char* to) = nullptr;
  int (*log_size)(void* program, std::size_t* size) = nullptr;
  int (*log)(void* program, char* to) = nullptr;
  int (*destroy)(void** program) = nullptr;
};

// The folder that the user names comes first, whatever its version; then the usual place, and where
// the dynamic linker searches.
std::vector<std::filesystem::path> candidates() {
  const std::filesystem::path usual = "/usr/local/cuda/lib64";
  std::vector<std::filesystem::path> folders;
  if (auto home = option_value(Option::cuda_home)) {
    folders.push_back(std::filesystem::path(*home) / "lib64");
  }
  folders.insert(folders.end(), {usual, std::filesystem::path{}});
  std::vector<std::filesystem::path> paths;
  for (const std::filesystem::path& folder : folders) {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) paths.push_back(folder / name);
  }
  return paths;
}

std::optional<Nvrtc> open_nvrtc() {
  for (const std::filesystem::path& path : candidates()) {
    auto library = os::SharedLibrary::try_open(path);
    if (!library) continue;
    Nvrtc nvrtc{.library = std::move(*library)};
    auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(nvrtc.library.try_symbol(name));
      return function != nullptr;
    };
    bool complete =
        load(nvrtc.version, "nvrtcVersion") && load(nvrtc.create, "nvrtcCreateProgram") &&
        load(nvrtc.compile, "nvrtcCompileProgram") && load(nvrtc.cubin_size, "nvrtcGetCUBINSize") &&
        load(nvrtc.cubin, "nvrtcGetCUBIN") && load(nvrtc.log_size, "nvrtcGetProgramLogSize") &&
        load(nvrtc.log, "nvrtcGetProgramLog") && load(nvrtc.destroy, "nvrtcDestroyProgram");
    if (complete) return nvrtc;
  }
  return std::nullopt;
}

std::atomic<bool> hidden{false};

const std::optional<Nvrtc>& opened() {
  static const std::optional<Nvrtc> nvrtc = open_nvrtc();
  static const std::optional<Nvrtc> none;
  return hidden ? none : nvrtc;
}

const Nvrtc& require_nvrtc() {
  if (opened()) return *opened();
  std::string tried;
  for (const auto& path : candidates()) tried += (tried.empty() ? "" : ", ") + path.string();
  raise(ErrorCode::E0608, {}, {.needed = "one of " + tried, .found = "none that opens"});
}

class Program {
 public:
  Program(const Nvrtc& nvrtc, const std::string& source, const std::string& name) : nvrtc_(nvrtc) {
    nvrtc_.create(&handle_, source.c_str(), name.c_str(), 0, nullptr, nullptr);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { nvrtc_.destroy(&handle_); }

  bool compile(const std::vector<const char*>& options) {
    return nvrtc_.compile(handle_, static_cast<int>(options.size()), options.data()) == 0;
  }
  std::string cubin() const { return text(nvrtc_.cubin_size, nvrtc_.cubin); }
  std::string log() const { return text(nvrtc_.log_size, nvrtc_.log); }

 private:
  std::string text(int (*size_of)(void*, std::size_t*), int (*get)(void*, char*)) const {
    std::size_t size = 0;
    size_of(handle_, &size);
    std::string result(size, '\0');
    if (size > 0) get(handle_, result.data());
    return result;
  }

  const Nvrtc& nvrtc_;
  void* handle_ = nullptr;
};

// The first lines of a log that say error.
std::string first_errors(const std::string& log) {
  constexpr int most_lines = 8;
  std::istringstream lines(log);
  std::string line, result;
  for (int count = 0; count < most_lines && std::getline(lines, line);) {
    if (line.find("error") == line.npos) continue;
    result += (count++ ? "\n" : "") + line;
  }
  if (result.empty()) result = log.substr(0, 500);
  return result.empty() ? "a failure without a log" : result;
}

// Where the source of a failed compile can be read, in words: the failure itself is what has to be
// reported, also when the disk is full.
std::string kept_source(const std::string& source, const std::string& name,
                        const std::string& arch) {
  try {
    std::filesystem::path folder = os::TempDirectory::make_anywhere("tilecopy-").release();
    std::filesystem::path copy = folder / fmt::format("{}-{}.cu", name, arch);
    os::write_file(copy, source);
    return fmt::format("the source is in {}", copy.string());
  } catch (const Error&) {
    return "the source could not be kept";
  }
}

}  // namespace

void hide_nvrtc_for_testing(bool hide) { hidden = hide; }

bool nvrtc_available() { return opened().has_value(); }

std::string nvrtc_version() {
  int major = 0, minor = 0;
  require_nvrtc().version(&major, &minor);
  return fmt::format("{}.{}", major, minor);
}

std::string compile_cubin(const std::string& source, const std::string& name,
                          const std::string& arch) {
  const Nvrtc& nvrtc = require_nvrtc();
  Program program(nvrtc, source, name + ".cu");
  std::string architecture = "--gpu-architecture=" + arch;
  std::vector<const char*> options = {architecture.c_str()};
  options.insert(options.end(), std::begin(nvrtc_options), std::end(nvrtc_options));
  int major = 0, minor = 0;
  nvrtc.version(&major, &minor);
  if (std::pair(major, minor) >= std::pair(12, 4)) options.push_back(nvrtc_minimal_option);
  if (program.compile(options)) return program.cubin();
  raise(ErrorCode::E0805, {},
        {.needed = fmt::format("CUDA C++ for {}", arch),
         .found = first_errors(program.log()),
         .help = kept_source(source, name, arch)});
}

}  // namespace tilecopy::run
