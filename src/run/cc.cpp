#include "run/cc.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/diagnostic.h"
#include "base/options.h"
#include "base/os.h"

namespace tilecopy {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kind_names = {"gcc", "clang", "tcc", "other"};
constexpr std::chrono::minutes compile_timeout{10};
constexpr std::chrono::seconds version_timeout{30};

// Uses what generated kernels use: the C library's headers, libm and OpenMP.
constexpr std::string_view probe_source = R"(#include <math.h>
#include <stdint.h>
#include <string.h>
#if TILECOPY_PROBE_OPENMP && !defined(_OPENMP)
#error "no OpenMP"
#endif
double tilecopy_probe(const double* x, int64_t n) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += sqrt(x[i]);
  return exp(sum);
}
)";

// The first `count` lines of a text.
std::string first_lines(std::string_view text, int count) {
  std::size_t end = 0;
  for (int line = 0; line < count && end != text.npos; ++line) {
    end = text.find('\n', line == 0 ? 0 : end + 1);
  }
  return std::string(text.substr(0, end));
}

std::string flags_for(const CcIdentity& identity, const CcOptions& options) {
  if (options.opt_level < 0 || options.opt_level > 3) {
    raise(ErrorCode::E0603, {},
          {.needed = "opt_level 0 to 3", .found = fmt::format("opt_level {}", options.opt_level)});
  }
  std::string flags = fmt::format("-std=c11 -O{}", options.opt_level);
  if (identity.march_native) flags += " -march=native";
  flags += " -fPIC -shared";
  // tcc neither knows these flags nor makes the transformations that they forbid.
  if (identity.kind != CcKind::tcc) {
    // -fno-math-errno drops only the errno of libm: a square root is then one instruction with the
    // same value.
    flags += " -ffp-contract=off -fno-math-errno -fwrapv -fno-strict-aliasing";
  }
  if (identity.openmp && options.openmp) flags += " -fopenmp";
  return flags;
}

struct Attempt {
  std::vector<std::string> command;
  os::ProcessResult result;
};

Attempt run_compiler(const std::vector<std::string>& compiler, const std::string& flags,
                     const fs::path& source, const fs::path& output) {
  Attempt attempt{compiler, {}};
  for (std::string& flag : os::split_words(flags)) attempt.command.push_back(std::move(flag));
  for (const std::string& word :
       {std::string("-o"), output.string(), source.string(), std::string("-lm")}) {
    attempt.command.push_back(word);
  }
  attempt.result = os::run_process(attempt.command, {.timeout = compile_timeout});
  return attempt;
}

std::string describe(const Attempt& attempt) {
  return fmt::format("{} from: {}\n{}", attempt.result.ending(), os::join_words(attempt.command),
                     first_lines(attempt.result.output, 20));
}

// A place for the source of a failed compile that outlives the directory it was compiled in.
std::string keep_source(const std::string& c_source) {
  try {
    fs::path directory;
    if (auto dump = dump_directory()) {
      directory = *dump;
      fs::create_directories(directory);
    } else {
      directory = os::TempDirectory::make_anywhere("tilecopy-failed-").release();
    }
    const fs::path file = directory / fmt::format("failed.{}.c", content_hash(c_source));
    os::write_file(file, c_source);
    return fmt::format("the source is kept in {}; check that CC names a working C11 compiler",
                       file.string());
  } catch (const std::exception&) {
    return "set TILECOPY_DUMP_DIR to a directory that can keep the source";
  }
}

CcKind kind_of(std::string_view version_text) {
  const auto has = [&](std::string_view word) { return version_text.find(word) != word.npos; };
  if (has("clang")) return CcKind::clang;
  if (has("tcc version")) return CcKind::tcc;
  if (has("Free Software Foundation") || has("gcc") || has("GCC")) return CcKind::gcc;
  return CcKind::other;
}

// Compiles and loads the probe; what failed is in `reason`.
bool probe(const std::vector<std::string>& compiler, const CcIdentity& identity,
           const fs::path& directory, std::string& reason) {
  const std::string name = fmt::format("probe{}{}", identity.march_native, identity.openmp);
  const fs::path source = directory / (name + ".c");
  const fs::path output = directory / (name + ".so");
  os::write_file(
      source, fmt::format("#define TILECOPY_PROBE_OPENMP {:d}\n{}", identity.openmp, probe_source));
  const Attempt attempt = run_compiler(compiler, flags_for(identity, {}), source, output);
  if (!attempt.result.ok()) {
    reason = describe(attempt);
    return false;
  }
  // Loading finds a missing runtime library; running it would start OpenMP's threads in the host.
  const auto library = os::SharedLibrary::try_open(output, &reason);
  return library && library->try_symbol("tilecopy_probe") != nullptr;
}

// Tries the compiler out, the most useful flags first; empty, with the reason, when it fails.
std::optional<CcIdentity> identify(const std::vector<std::string>& compiler, std::string& reason) {
  std::vector<std::string> command = compiler;
  command.push_back("--version");
  const auto result =
      os::run_process(command, {.merge_streams = false, .timeout = version_timeout});
  if (!result.ok()) {
    reason = describe({command, result});
    return std::nullopt;
  }
  CcIdentity identity;
  identity.kind = kind_of(result.output + result.errors);
  identity.version = first_lines(result.output.empty() ? result.errors : result.output, 1);
  const auto directory = os::TempDirectory::make_anywhere("tilecopy-cc-");
  constexpr std::array<std::array<bool, 2>, 4> ladder = {
      {{true, true}, {false, true}, {true, false}, {false, false}}};
  for (auto [openmp, march_native] : ladder) {
    identity.openmp = openmp;
    identity.march_native = march_native;
    if (probe(compiler, identity, directory.path(), reason)) return identity;
  }
  return std::nullopt;
}

// Names each program that takes part in a command by its real file, time and size.
std::string program_stamps(const std::vector<std::string>& compiler) {
  std::string stamps;
  for (const std::string& word : compiler) {
    const auto file = word.starts_with('-') ? std::nullopt : os::find_executable(word);
    if (!file) continue;
    std::error_code error;
    const fs::path real = fs::canonical(*file, error);
    struct stat status {};
    if (error || stat(real.c_str(), &status) != 0) continue;
    stamps += fmt::format("{} {}.{:09} {}\n", real.string(), status.st_mtim.tv_sec,
                          status.st_mtim.tv_nsec, status.st_size);
  }
  return stamps;
}

// Programs that start a compiler which their own file says nothing about.
bool is_wrapper(const std::vector<std::string>& compiler) {
  const auto file = os::find_executable(compiler[0]);
  std::error_code error;
  const std::string name =
      file ? fs::weakly_canonical(*file, error).filename().string() : compiler[0];
  constexpr std::array<std::string_view, 7> wrappers = {"ccache", "sccache", "distcc", "icecc",
                                                        "python", "env",     "busybox"};
  return std::any_of(wrappers.begin(), wrappers.end(),
                     [&](std::string_view wrapper) { return name.starts_with(wrapper); });
}

std::string print_identity(const CcIdentity& identity) {
  return fmt::format("{} {:d} {:d} {}", to_string(identity.kind), identity.openmp,
                     identity.march_native, identity.version);
}

std::optional<CcIdentity> parse_identity(std::string_view text) {
  CcIdentity identity;
  const std::size_t space = text.find(' ');
  const auto kind = std::find(kind_names.begin(), kind_names.end(), text.substr(0, space));
  if (space == text.npos || text.size() < space + 5 || kind == kind_names.end()) {
    return std::nullopt;
  }
  identity.kind = static_cast<CcKind>(kind - kind_names.begin());
  identity.openmp = text[space + 1] == '1';
  identity.march_native = text[space + 3] == '1';
  identity.version = text.substr(space + 5);
  return identity;
}

// The identity of a compiler from this process, from the cache, or by trying it out.
std::optional<CcIdentity> recall_or_identify(const std::vector<std::string>& compiler,
                                             const Cache& cache, std::string& reason) {
  static std::mutex mutex;
  static std::map<std::string, CcIdentity> known;
  const std::string key = fmt::format("C compiler\n{}\n{}{}\n", os::join_words(compiler),
                                      program_stamps(compiler), cpu_fingerprint());
  {
    std::lock_guard lock(mutex);
    if (auto found = known.find(key); found != known.end()) return found->second;
  }
  if (const auto entry = cache.find("cc", key)) {
    if (auto text = os::try_read_file(entry->file("identity"))) {
      if (auto identity = parse_identity(*text)) return identity;
    }
  }
  const auto identity = identify(compiler, reason);
  if (!identity) return std::nullopt;
  // OpenMP may be installed later without a change of the compiler, so its lack is not remembered.
  if (identity->openmp && !is_wrapper(compiler)) {
    cache.get("cc", key, [&](const fs::path& directory) {
      os::write_file(directory / "identity", print_identity(*identity));
    });
  } else {
    std::lock_guard lock(mutex);
    known.emplace(key, *identity);
  }
  return identity;
}

// The commands to try, with the program's full path; `searched` says where nothing was found.
std::vector<std::vector<std::string>> candidates(std::vector<std::string>& searched) {
  std::vector<std::vector<std::string>> commands;
  if (const auto value = option_value(Option::cc)) commands.push_back(os::split_words(*value));
  // A compiler that the user named is not replaced by another.
  if (commands.empty() || commands[0].empty()) commands = {{"cc"}, {"gcc"}, {"clang"}};
  std::vector<std::vector<std::string>> found;
  for (std::vector<std::string>& command : commands) {
    const auto file = os::find_executable(command[0]);
    if (!file) {
      searched.push_back(command[0]);
      continue;
    }
    std::error_code error;
    command[0] = fs::absolute(*file, error).string();
    found.push_back(std::move(command));
  }
  return found;
}

[[noreturn]] void raise_missing(const std::vector<std::string>& searched) {
  const auto value = option_value(Option::cc);
  const auto path = os::env("PATH");
  raise(ErrorCode::E0801, {},
        {.needed = "an executable C compiler",
         .found = fmt::format("{}; no {} in {}", value ? fmt::format("CC=\"{}\"", *value) : "no CC",
                              fmt::join(searched, ", "),
                              path ? "PATH=" + *path : std::string("an empty PATH")),
         .help = "install one (Debian and Ubuntu: apt-get install gcc libc6-dev), or set CC to the "
                 "path of one"});
}

}  // namespace

std::string_view to_string(CcKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

Cc Cc::find(const Cache& cache) {
  std::vector<std::string> searched;
  std::string reason;
  for (std::vector<std::string>& command : candidates(searched)) {
    if (auto identity = recall_or_identify(command, cache, reason)) {
      return Cc(std::move(command), std::move(*identity));
    }
  }
  if (reason.empty()) raise_missing(searched);
  raise(ErrorCode::E0802, {},
        {.needed = "a compiler that makes and loads a small shared library",
         .found = reason,
         .help = "install a working one (Debian and Ubuntu: apt-get install gcc libc6-dev), or set "
                 "CC to the path of one"});
}

std::string Cc::flags(const CcOptions& options) const { return flags_for(identity_, options); }

std::string Cc::key_text(const CcOptions& options) const {
  return fmt::format("cc: {}\nversion: {}\nflags: {}\ncpu: {}\n", os::join_words(command_),
                     identity_.version, flags(options), cpu_fingerprint());
}

void Cc::compile(const std::string& c_source, const fs::path& output,
                 const CcOptions& options) const {
  const std::string flags_text = flags(options);
  std::error_code error;
  const fs::path library = fs::absolute(output, error);
  fs::path source = library;
  source.replace_extension(".c");
  os::write_file(source, c_source);
  const Attempt attempt = run_compiler(command_, flags_text, source, library);
  if (attempt.result.ok()) return;
  fs::remove(library, error);
  raise(ErrorCode::E0802, {},
        {.needed = "exit status 0", .found = describe(attempt), .help = keep_source(c_source)});
}

}  // namespace tilecopy
