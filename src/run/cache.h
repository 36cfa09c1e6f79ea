// The on-disk cache of built kernels. An entry is a directory that is either complete or absent:
//
//   <cache dir>/<library version>/<kernel name>.<hash of the key text>/
//     key        the full key text, compared at every lookup
//     manifest   size and hash of every other file
//     ...        what the builder wrote
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilecopy {

/// The version of the library, such as "0.1.0".
std::string_view library_version();

/// 32 hexadecimal digits that name a text.
std::string content_hash(std::string_view text);

/// A generated source without the lines that are comments: what decides the code. A user's lines
/// that moved do not.
std::string without_line_comments(const std::string& source);

struct CacheEntry {
  std::filesystem::path directory;
  bool hit = false;  ///< the entry was there; nothing was built

  std::filesystem::path file(std::string_view name) const { return directory / name; }
};

struct CacheListing {
  std::string name;
  std::uint64_t bytes = 0;
  std::chrono::seconds age{0};
};

struct CacheCleared {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
};

/// Values of this class are cheap, may be copied, and may be used from several threads; processes
/// that share a directory need no lock. A cache that cannot keep an entry (it is off, its directory
/// cannot be written, the disk is full) still works: it keeps entries in a private directory of the
/// process, and warns once unless it is off.
class Cache {
 public:
  /// Writes the files of an entry, flat, into an empty directory. `key` and `manifest` are taken.
  using Build = std::function<void(const std::filesystem::path& directory)>;

  /// The directory that TILECOPY_CACHE_DIR names.
  Cache();
  /// Another directory; an empty path turns the cache off.
  explicit Cache(std::filesystem::path directory);

  /// Whether entries outlive the process, as far as is known without writing.
  bool enabled() const { return !directory_.empty(); }
  /// The directory above the versions; empty when the cache is off.
  const std::filesystem::path& directory() const { return directory_; }

  /// The entry with this name and key text, verified; a damaged one is removed with a warning.
  std::optional<CacheEntry> find(std::string_view name, std::string_view key) const;

  /// The same, built by `build` when there is none. What `build` throws passes through and leaves
  /// the cache as it was; E0804 when not even a temporary directory can be made.
  CacheEntry get(std::string_view name, std::string_view key, const Build& build) const;

  /// The entries on disk of this version, by name.
  std::vector<CacheListing> list() const;
  /// Removes the entries of all versions, and nothing that is not an entry.
  CacheCleared clear() const;

 private:
  std::filesystem::path directory_;
};

}  // namespace tilecopy
