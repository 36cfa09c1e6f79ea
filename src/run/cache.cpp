#include "run/cache.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/options.h"
#include "base/os.h"

namespace tilecopy {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view manifest_title = "tilecopy manifest";
constexpr std::string_view staging_name = ".staging";
constexpr std::size_t hash_digits = 32;

// <name>.<hash of the key>, with a name that no file system minds.
std::string entry_name(std::string_view name, std::string_view key) {
  std::string text(name.substr(0, 100));
  for (char& c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '_' && c != '-') c = '_';
  }
  return fmt::format("{}.{}", text.empty() ? "_" : text, content_hash(key));
}

// The inverse question, for directories that may hold anything.
bool is_entry_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view digits = name.substr(dot + 1);
  return digits.size() == hash_digits &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_version_name(std::string_view name) {
  return !name.empty() && name[0] >= '0' && name[0] <= '9' && name.find('.') != name.npos &&
         name.find_first_not_of("0123456789.abcdefghijklmnopqrstuvwxyz+-") == name.npos;
}

std::vector<fs::directory_entry> children(const fs::path& directory) {
  std::vector<fs::directory_entry> found;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    found.push_back(*at);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::uint64_t bytes_below(const fs::path& directory) {
  std::uint64_t bytes = 0;
  for (const fs::directory_entry& file : children(directory)) {
    std::error_code error;
    const std::uintmax_t size = file.file_size(error);
    if (!error) bytes += size;
  }
  return bytes;
}

std::chrono::seconds age_of(const fs::directory_entry& entry) {
  std::error_code error;
  const fs::file_time_type written = entry.last_write_time(error);
  if (error) return std::chrono::seconds(0);
  return std::chrono::duration_cast<std::chrono::seconds>(fs::file_time_type::clock::now() -
                                                          written);
}

// One line "<hash> <size> <name>" for each file, below a line with the hash of those lines.
std::string make_manifest(const fs::path& directory) {
  std::string lines;
  for (const fs::directory_entry& file : children(directory)) {
    const std::string content = os::read_file(file.path());
    lines += fmt::format("{} {} {}\n", content_hash(content), content.size(),
                         file.path().filename().string());
  }
  return fmt::format("{} {}\n{}", manifest_title, content_hash(lines), lines);
}

// Checks one line of a manifest; empty when the file is as it was written.
std::string file_fault(const fs::path& directory, std::string_view line) {
  const std::size_t name_at = line.find(' ', hash_digits + 1);
  if (name_at == std::string_view::npos) return "its manifest is damaged";
  const std::string name(line.substr(name_at + 1));
  const auto content = os::try_read_file(directory / name);
  if (!content) return name + " cannot be read";
  const bool same = fmt::format("{} {} {}", content_hash(*content), content->size(), name) == line;
  return same ? std::string() : name + " is damaged";
}

// What is wrong with an entry; empty when it is complete and made from this key.
std::string entry_fault(const fs::path& directory, std::string_view key) {
  const auto stored = os::try_read_file(directory / "key");
  if (!stored) return "its key cannot be read";
  if (*stored != key) return "it was made from another key";
  const auto manifest = os::try_read_file(directory / "manifest");
  if (!manifest) return "its manifest cannot be read";
  const std::size_t title_end = manifest->find('\n');
  if (title_end == std::string::npos) return "its manifest is damaged";
  const std::string_view title = std::string_view(*manifest).substr(0, title_end);
  std::string_view lines = std::string_view(*manifest).substr(title_end + 1);
  if (title != fmt::format("{} {}", manifest_title, content_hash(lines))) {
    return "its manifest is damaged";
  }
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    if (std::string fault = file_fault(directory, lines.substr(0, end)); !fault.empty()) {
      return fault;
    }
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return {};
}

// Removes an entry in one step as seen by other processes.
bool remove_entry(const fs::path& entry) {
  std::error_code error;
  fs::create_directory(entry.parent_path() / staging_name, error);
  const auto grave = os::TempDirectory::make(entry.parent_path() / staging_name, "removed-");
  if (grave) {
    fs::rename(entry, grave->path() / "entry", error);
    if (!error) return true;
  }
  return fs::remove_all(entry, error) > 0 && !error;
}

// Staging directories of processes that ended before they published or removed them.
void sweep_staging(const fs::path& staging) {
  for (const fs::directory_entry& old : children(staging)) {
    std::error_code ignored;
    if (age_of(old) > std::chrono::hours(1)) fs::remove_all(old.path(), ignored);
  }
}

// A fresh directory below `root` to build an entry in, or empty when `root` cannot be written.
std::optional<os::TempDirectory> make_staging(const fs::path& root) {
  std::error_code error;
  const fs::path staging = root / staging_name;
  fs::create_directories(staging, error);
  auto made = os::TempDirectory::make(staging, "build-");
  if (made) sweep_staging(staging);
  return made;
}

// Whether a file of some size can still be written: tells a full disk from a failing builder.
bool has_room(const fs::path& directory) {
  try {
    const fs::path probe = directory / "room";
    os::OutputFile file(probe, {});
    file.write(std::string(std::size_t{1} << 20, 'x'));
    file.commit();
    std::error_code error;
    return fs::remove(probe, error);
  } catch (const Error&) {
    return false;
  }
}

constexpr std::string_view private_name = "cache";

std::optional<CacheEntry> find_below(const fs::path& root, const std::string& name,
                                     std::string_view key) {
  const fs::path directory = root / name;
  std::error_code error;
  if (!fs::is_directory(directory, error)) return std::nullopt;
  const std::string fault = entry_fault(directory, key);
  if (fault.empty()) return CacheEntry{directory, true};
  // Another process may have removed it meanwhile, which is no fault of the entry.
  if (!fs::is_directory(directory, error)) return std::nullopt;
  warn(fmt::format("the cache entry {} is not used because {}; it will be built again",
                   directory.string(), fault));
  remove_entry(directory);
  return std::nullopt;
}

// Builds in a directory that no other process looks into, where losing a rename is impossible
// unless another thread builds the same entry; then both keep their own.
CacheEntry build_private(const std::string& name, std::string_view key, const Cache::Build& build) {
  const fs::path root = os::process_directory() / private_name;
  auto staging = make_staging(root);
  if (!staging) {
    raise(ErrorCode::E0804, {},
          {.needed = "a directory for temporary files",
           .found = fmt::format("{} cannot be written", root.string())});
  }
  build(staging->path());
  os::write_file(staging->path() / "key", key);
  std::error_code error;
  os::write_file(staging->path() / "manifest", make_manifest(staging->path()));
  fs::rename(staging->path(), root / name, error);
  if (error) return {staging->release(), false};
  staging->release();
  return {root / name, false};
}

// Copies what was built to a private directory, out of reach of other processes; empty when that
// does not work.
std::optional<CacheEntry> keep_private(const fs::path& staging, std::string_view key) {
  auto kept = os::TempDirectory::make(os::process_directory(), "kept-");
  if (!kept) return std::nullopt;
  std::error_code error;
  fs::copy(staging, kept->path(), fs::copy_options::recursive, error);
  // What a failing disk took and gives back need not be the same.
  if (error || !entry_fault(kept->path(), key).empty()) return std::nullopt;
  return CacheEntry{kept->release(), false};
}

void warn_unusable(const fs::path& root, std::string_view reason) {
  warn_once("cache " + root.string(),
            fmt::format("the cache {} cannot be used ({}); kernels are kept for this process only. "
                        "Set TILECOPY_CACHE_DIR to another directory, or to off",
                        root.string(), reason));
}

// Builds below `root`; empty, usually after a warning, when `root` is at fault and not the builder.
std::optional<CacheEntry> build_shared(const fs::path& root, const std::string& name,
                                       std::string_view key, const Cache::Build& build) {
  const auto staging = make_staging(root);
  if (!staging) {
    warn_unusable(root, "it cannot be written");
    return std::nullopt;
  }
  const fs::path& directory = staging->path();
  try {
    build(directory);
    os::write_file(directory / "key", key);
    os::write_file(directory / "manifest", make_manifest(directory));
  } catch (const ToolError&) {
    if (has_room(directory)) throw;
    warn_unusable(root, "its disk is full");
    return std::nullopt;
  }
  switch (os::publish_directory(directory, root / name)) {
    case os::Publish::done: return CacheEntry{root / name, false};
    case os::Publish::failed: warn_unusable(root, "an entry cannot be put in place"); break;
    case os::Publish::lost: break;  // the winner's entry is not read: it may be gone or delayed
  }
  return keep_private(directory, key);
}

}  // namespace

std::string_view library_version() { return TILECOPY_VERSION; }

std::string content_hash(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Cache::Cache() {
  const CacheLocation location = cache_location();
  directory_ = location.directory;
  if (location.enabled && directory_.empty()) {
    warn_unusable("~/.cache/tilecopy", "this user has no home directory");
  }
}

Cache::Cache(fs::path directory) : directory_(std::move(directory)) {}

std::optional<CacheEntry> Cache::find(std::string_view name, std::string_view key) const {
  const std::string entry = entry_name(name, key);
  if (enabled()) {
    if (auto found = find_below(directory_ / library_version(), entry, key)) return found;
  }
  const auto own = os::existing_process_directory();
  return own ? find_below(*own / private_name, entry, key) : std::nullopt;
}

CacheEntry Cache::get(std::string_view name, std::string_view key, const Build& build) const {
  if (auto found = find(name, key)) return *found;
  const std::string entry = entry_name(name, key);
  if (enabled()) {
    if (auto built = build_shared(directory_ / library_version(), entry, key, build)) {
      return *built;
    }
  }
  return build_private(entry, key, build);
}

std::vector<CacheListing> Cache::list() const {
  std::vector<CacheListing> listing;
  if (!enabled()) return listing;
  for (const fs::directory_entry& entry : children(directory_ / library_version())) {
    const std::string name = entry.path().filename().string();
    if (is_entry_name(name)) listing.push_back({name, bytes_below(entry.path()), age_of(entry)});
  }
  return listing;
}

CacheCleared Cache::clear() const {
  CacheCleared cleared;
  if (!enabled()) return cleared;
  for (const fs::directory_entry& version : children(directory_)) {
    if (!is_version_name(version.path().filename().string())) continue;
    for (const fs::directory_entry& entry : children(version.path())) {
      if (!is_entry_name(entry.path().filename().string())) continue;
      const std::uint64_t bytes = bytes_below(entry.path());
      if (!remove_entry(entry.path())) continue;
      cleared.entries += 1;
      cleared.bytes += bytes;
    }
    // Staging directories in use keep this one, and the version's, from being removed.
    std::error_code in_use;
    fs::remove(version.path() / staging_name, in_use);
    fs::remove(version.path(), in_use);
  }
  return cleared;
}

std::string without_line_comments(const std::string& source) {
  std::istringstream lines(source);
  std::string line, result;
  while (std::getline(lines, line)) {
    std::size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos || line.compare(first, 2, "//") != 0) result += line + '\n';
  }
  return result;
}

}  // namespace tilecopy
