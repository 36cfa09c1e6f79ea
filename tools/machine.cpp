// `tilecopy targets`, `cache` and `doctor`: what this machine has.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/options.h"
#include "base/os.h"
#include "built_ins.h"
#include "commands.h"
#include "reference.h"
#include "run/cache.h"
#include "run/cc.h"
#include "run/host_kernel.h"
#include "words.h"

namespace tilecopy::tool {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// ---- The parts of a report; each is JSON that the text is made from ----

Json compiler_report() {
  try {
    const Cc cc = Cc::find(Cache());
    const CcIdentity& identity = cc.identity();
    return {{"ok", true},
            {"command", os::join_words(cc.command())},
            {"version", identity.version},
            {"openmp", identity.openmp},
            {"march_native", identity.march_native},
            {"flags", cc.flags()}};
  } catch (const Error& error) {
    return {{"ok", false}, {"error", error.what()}};
  }
}

// Compiles, runs and checks a small ragged copy, without the cache's help.
Json kernel_report() {
  try {
    const BuiltIn copy{.shape = {5, 7}, .tile = {4, 4}};
    Tensor from(copy.shape, copy.dtype), to(copy.shape, copy.dtype);
    from.fill_random(1);
    compile(make_built_in(copy), "cpu", {.use_cache = false}, Location{})(from, to);
    if (!compare(copy, from, to)) return {{"ok", true}};
    return {{"ok", false}, {"error", "error: a small copy gave a wrong result"}};
  } catch (const Error& error) {
    return {{"ok", false}, {"error", error.what()}};
  }
}

// Whether a directory can be made there or in the nearest parent that exists.
bool writable(fs::path directory) {
  std::error_code error;
  while (!directory.empty() && !fs::exists(directory, error) &&
         directory != directory.root_path()) {
    directory = directory.parent_path();
  }
  return os::TempDirectory::make(directory, ".tilecopy-doctor-").has_value();
}

Json cache_report() {
  const CacheLocation location = cache_location();
  if (!location.enabled) return {{"enabled", false}};
  if (location.directory.empty()) {
    return {{"enabled", true}, {"directory", nullptr}, {"writable", false}};
  }
  return {{"enabled", true},
          {"directory", location.directory.string()},
          {"writable", writable(location.directory)},
          {"entries", Cache(location.directory).list().size()}};
}

Json options_report() {
  Json options = Json::array();
  for (const OptionRow& row : option_table()) {
    const auto value = option_value(row.id);
    options.push_back({{"name", row.name},
                       {"value", value ? Json(*value) : Json(nullptr)},
                       {"default", row.default_},
                       {"meaning", row.meaning}});
  }
  return options;
}

Json targets_report() {
  Json list = Json::array();
  for (const TargetInfo& target : targets()) {
    list.push_back(
        {{"name", target.name}, {"available", target.available}, {"detail", target.detail}});
  }
  return list;
}

// ---- The reports as text ----

const char* yes_no(const Json& value) { return value.get<bool>() ? "yes" : "no"; }

void print_targets(const Json& list, const char* indent) {
  for (const Json& target : list) {
    fmt::print("{}{:<24}{:<15}{}\n", indent, target["name"].get<std::string>(),
               target["available"].get<bool>() ? "available" : "not available",
               target["detail"].get<std::string>());
  }
}

void print_compiler(const Json& compiler) {
  if (!compiler["ok"].get<bool>()) {
    fmt::print("C compiler: none that works\n{}\n", compiler["error"].get<std::string>());
    return;
  }
  fmt::print("C compiler: {}\n  version       {}\n  OpenMP        {}{}\n  march=native  {}\n",
             compiler["command"].get<std::string>(), compiler["version"].get<std::string>(),
             yes_no(compiler["openmp"]),
             compiler["openmp"].get<bool>() ? "" : ": kernels run on one thread",
             yes_no(compiler["march_native"]));
}

void print_cache(const Json& cache) {
  if (!cache["enabled"].get<bool>()) {
    fmt::print("kernel cache: off\n");
  } else if (cache["directory"].is_null()) {
    fmt::print("kernel cache: no home directory; set TILECOPY_CACHE_DIR\n");
  } else {
    fmt::print("kernel cache: {}\n  writable      {}{}\n  entries       {}\n",
               cache["directory"].get<std::string>(), yes_no(cache["writable"]),
               cache["writable"].get<bool>() ? "" : ": kernels are compiled in every process",
               cache["entries"].get<std::size_t>());
  }
}

void print_options(const Json& options) {
  fmt::print("environment:\n");
  for (const Json& option : options) {
    const std::string fallback = option["default"].get<std::string>();
    fmt::print("  {:<20}{}\n", option["name"].get<std::string>(),
               option["value"].is_null()
                   ? fmt::format("not set{}{}", fallback.empty() ? "" : ": ", fallback)
                   : option["value"].get<std::string>());
  }
}

void print_doctor(const Json& report) {
  fmt::print("tilecopy {}\n\n", report["version"].get<std::string>());
  print_compiler(report["compiler"]);
  const Json& kernel = report["kernel"];
  if (kernel["ok"].get<bool>()) {
    fmt::print("a small copy for the cpu: compiled, ran, right result\n");
  } else {
    fmt::print("a small copy for the cpu: failed\n{}\n", kernel["error"].get<std::string>());
  }
  fmt::print("threads of the cpu target: {} ({} processors)\n\n", report["threads"].get<int>(),
             report["processors"].get<unsigned>());
  print_cache(report["cache"]);
  fmt::print("\ntargets:\n");
  print_targets(report["targets"], "  ");
  fmt::print("\n");
  print_options(report["options"]);
  fmt::print("\n{}\n", report["ok"].get<bool>() ? "The cpu target can run."
                                                : "The cpu target cannot run: see above.");
}

std::string age_text(std::chrono::seconds age) {
  const auto seconds = age.count();
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / 86400);
}

int list_cache(const Cache& cache) {
  std::uint64_t bytes = 0;
  const std::vector<CacheListing> entries = cache.list();
  for (const CacheListing& entry : entries) {
    fmt::print("{:<64}{:>9.1f} KB  {}\n", entry.name, static_cast<double>(entry.bytes) / 1e3,
               age_text(entry.age));
    bytes += entry.bytes;
  }
  fmt::print("{} entries, {:.1f} KB in {}\n", entries.size(), static_cast<double>(bytes) / 1e3,
             cache.directory().string());
  return good;
}

}  // namespace

int targets_command(const Request&) {
  print_targets(targets_report(), "");
  return good;
}

int cache_command(const Request& request) {
  if (request.action != "ls" && request.action != "clear") {
    refuse("cache ls or cache clear", fmt::format("cache {}", request.action));
  }
  const Cache cache;
  if (!cache.enabled()) {
    fmt::print("the kernel cache is off\n");
    return good;
  }
  if (request.action == "ls") return list_cache(cache);
  const CacheCleared cleared = cache.clear();
  fmt::print("removed {} entries, {:.1f} KB, from {}\n", cleared.entries,
             static_cast<double>(cleared.bytes) / 1e3, cache.directory().string());
  return good;
}

int doctor_command(const Request& request) {
  Json report = {{"version", version()}};
  report["compiler"] = compiler_report();
  report["kernel"] = report["compiler"]["ok"].get<bool>()
                         ? kernel_report()
                         : Json{{"ok", false}, {"error", "not tried"}};
  report["threads"] = run::thread_count(0);
  report["processors"] = std::thread::hardware_concurrency();
  report["cache"] = cache_report();
  report["targets"] = targets_report();
  report["options"] = options_report();
  report["ok"] = report["kernel"]["ok"];
  request.json ? fmt::print("{}\n", report.dump(2)) : print_doctor(report);
  return report["ok"].get<bool>() ? good : machine_lacks;
}

}  // namespace tilecopy::tool
