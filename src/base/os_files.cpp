// Files and directories: reading, replacing in one step, publishing, and temporary ones.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/diagnostic.h"
#include "base/os.h"

namespace tilecopy::os {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_io(const char* needed, const fs::path& path, int error, Location where) {
  raise(ErrorCode::E0605, where,
        {.needed = needed, .found = fmt::format("{}: {}", path.string(), errno_text(error))});
}

int open_retrying(const fs::path& path, int flags, mode_t mode = 0) {
  int descriptor;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

// Flushes a file or directory; file systems that cannot flush (EINVAL) count as flushed.
bool flush(const fs::path& path, int flags) {
  const int descriptor = open_retrying(path, flags);
  if (descriptor < 0) return false;
  const bool done = fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS;
  close(descriptor);
  return done;
}

// The file behind a chain of symbolic links, so that replacing it keeps the links.
fs::path resolve_links(const fs::path& path) {
  std::error_code error;
  fs::path resolved = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error) : path;
  return error || resolved.empty() ? path : resolved;
}

struct ProcessDirectory {
  std::mutex mutex;
  std::optional<TempDirectory> directory;

  bool usable() const {
    std::error_code ignored;
    return directory && directory->owned() && fs::exists(directory->path(), ignored);
  }
};

ProcessDirectory& own_directory() {
  static ProcessDirectory only;
  return only;
}

}  // namespace

InputFile::InputFile(const fs::path& path, Location where) : path_(path), where_(where) {
  descriptor_ = open_retrying(path, O_RDONLY);
  if (descriptor_ < 0) fail_io("a readable file", path, errno, where);
  struct stat status {};
  const int error = fstat(descriptor_, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  if (error != 0) {
    close(descriptor_);
    fail_io("a readable file", path, error, where);
  }
  // Files of /proc say that they have 0 bytes, so only a positive size is believed.
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
}

InputFile::~InputFile() { close(descriptor_); }

std::size_t InputFile::read_descriptor(char* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = ::read(descriptor_, to + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_io("a readable file", path_, errno, where_);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

std::size_t InputFile::read(void* to, std::size_t size) {
  const std::size_t buffered = std::min(size, buffer_.size() - buffer_position_);
  if (buffered > 0) std::memcpy(to, buffer_.data() + buffer_position_, buffered);
  buffer_position_ += buffered;
  std::size_t done = buffered;
  if (done < size) done += read_descriptor(static_cast<char*>(to) + done, size - done);
  position_ += done;
  return done;
}

std::uint64_t InputFile::remaining() {
  if (size_) return *size_ - std::min(position_, *size_);
  constexpr std::size_t chunk = std::size_t{1} << 16;
  while (true) {
    const std::size_t old = buffer_.size();
    buffer_.resize(old + chunk);
    const std::size_t count = read_descriptor(buffer_.data() + old, chunk);
    buffer_.resize(old + count);
    if (count < chunk) break;
  }
  return buffer_.size() - buffer_position_;
}

OutputFile::OutputFile(fs::path path, Location where) : path_(resolve_links(path)), where_(where) {
  static std::atomic<unsigned> counter{0};
  struct stat status {};
  const bool exists = stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = open_retrying(path_, O_WRONLY);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  // A file without write permission is not replaced, although its directory would allow it.
  if (exists && access(path_.c_str(), W_OK) != 0) fail(errno);
  fs::path beside = path_;
  beside += fmt::format(".{}-{}.tmp", getpid(), counter.fetch_add(1));
  descriptor_ = open_retrying(beside, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (descriptor_ < 0) fail(errno);
  temporary_ = std::move(beside);
  // Where the file system has no such permissions, the default ones do.
  if (exists) fchmod(descriptor_, status.st_mode & 07777);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::fail(int error) { fail_io("a writable file", path_, error, where_); }

void OutputFile::write(const void* from, std::size_t size) {
  const char* at = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t count = ::write(descriptor_, at, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    at += count;
    size -= static_cast<std::size_t>(count);
  }
}

void OutputFile::commit(bool flushed) {
  if (flushed && !temporary_.empty() && fsync(descriptor_) != 0 && errno != EINVAL) fail(errno);
  if (close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail(errno);
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

std::string read_file(const fs::path& path, Location where) {
  InputFile file(path, where);
  std::string content;
  content.resize(file.remaining());
  content.resize(file.read(content.data(), content.size()));
  return content;
}

std::optional<std::string> try_read_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  try {
    return read_file(path);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void write_file(const fs::path& path, std::string_view content, Location where) {
  OutputFile file(path, where);
  file.write(content);
  file.commit(false);
}

std::optional<TempDirectory> TempDirectory::make(const fs::path& parent,
                                                 const std::string& prefix) {
  std::string name = (parent / (prefix + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) return std::nullopt;
  return TempDirectory(name, getpid());
}

TempDirectory TempDirectory::make_anywhere(const std::string& prefix) {
  std::vector<std::string> parents = {"/tmp", "/var/tmp", "/dev/shm"};
  if (auto chosen = env("TMPDIR")) parents.insert(parents.begin(), *chosen);
  int error = 0;
  for (const std::string& parent : parents) {
    std::error_code ignored;
    if (auto made = make(fs::absolute(parent, ignored), prefix)) return std::move(*made);
    error = errno;
  }
  raise(ErrorCode::E0804, {},
        {.needed = "a directory for temporary files",
         .found = fmt::format("none in {}: {}", fmt::join(parents, ", "), errno_text(error)),
         .help = "set TMPDIR to a directory that you may write to"});
}

TempDirectory::TempDirectory(TempDirectory&& other) noexcept
    : path_(other.release()), owner_(other.owner_) {}

TempDirectory& TempDirectory::operator=(TempDirectory&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = other.release();
    owner_ = other.owner_;
  }
  return *this;
}

TempDirectory::~TempDirectory() { remove(); }

fs::path TempDirectory::release() { return std::exchange(path_, {}); }

bool TempDirectory::owned() const { return owner_ == getpid(); }

void TempDirectory::remove() noexcept {
  if (path_.empty() || !owned()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path process_directory() {
  ProcessDirectory& own = own_directory();
  std::lock_guard lock(own.mutex);
  if (!own.usable()) own.directory = TempDirectory::make_anywhere("tilecopy-");
  return own.directory->path();
}

std::optional<fs::path> existing_process_directory() {
  ProcessDirectory& own = own_directory();
  std::lock_guard lock(own.mutex);
  return own.usable() ? std::optional(own.directory->path()) : std::nullopt;
}

Publish publish_directory(const fs::path& staging, const fs::path& target) {
  std::error_code error;
  for (fs::directory_iterator file(staging, error), end; !error && file != end;
       file.increment(error)) {
    if (!flush(file->path(), O_RDONLY)) return Publish::failed;
  }
  if (error || !flush(staging, O_RDONLY | O_DIRECTORY)) return Publish::failed;
  struct stat around {};
  if (stat(target.parent_path().c_str(), &around) == 0) {
    chmod(staging.c_str(), around.st_mode & 0777);
  }
  if (rename(staging.c_str(), target.c_str()) != 0) {
    return errno == ENOTEMPTY || errno == EEXIST ? Publish::lost : Publish::failed;
  }
  // The entry is complete already; this only decides whether it outlives a power cut.
  flush(target.parent_path(), O_RDONLY | O_DIRECTORY);
  return Publish::done;
}

}  // namespace tilecopy::os
