// What tilecopy asks of the operating system: processes, files, directories, shared libraries and
// the environment. Nothing here knows of kernels.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilecopy/types.h"

namespace tilecopy::os {

/// The text of an errno value.
std::string errno_text(int error);

/// The value of an environment variable; empty when it is unset or has no characters.
std::optional<std::string> env(const char* name);

/// Splits a command as a POSIX shell splits words: blanks separate, quotes and backslashes protect.
/// Nothing is expanded, and an unfinished quote ends with the text.
std::vector<std::string> split_words(std::string_view text);

/// One line that a shell would read back as the same words.
std::string join_words(const std::vector<std::string>& words);

/// The executable file that `name` names: itself when it holds a slash, else the first match in
/// PATH. Without PATH, or for empty parts of it, nothing is searched.
std::optional<std::filesystem::path> find_executable(const std::string& name);

struct ProcessOptions {
  /// Both streams go to `output` in the order in which they were written; else stderr to `errors`.
  bool merge_streams = true;
  /// Zero waits forever. When it runs out, the whole process group is killed.
  std::chrono::milliseconds timeout{0};
};

struct ProcessResult {
  int start_error = 0;  ///< errno when the process could not be started, else 0
  int exit_status = 0;  ///< when it exited by itself
  int signal = 0;       ///< the signal that ended it, else 0
  bool timed_out = false;
  std::string output;
  std::string errors;

  bool ok() const { return start_error == 0 && signal == 0 && !timed_out && exit_status == 0; }
  /// How it ended, such as "exit status 1".
  std::string ending() const;
};

/// Runs argv[0], found as find_executable does, without a shell, with an empty standard input, in a
/// process group of its own. A failure of any kind is in the result; only memory can run out.
ProcessResult run_process(const std::vector<std::string>& argv, const ProcessOptions& options = {});

/// The content of a file; E0605 when it cannot be read.
std::string read_file(const std::filesystem::path& path, Location where = {});
/// The content of a regular file, or empty for any reason at all.
std::optional<std::string> try_read_file(const std::filesystem::path& path);
/// Creates or replaces a file in one step, without flushing it to the disk; E0605.
void write_file(const std::filesystem::path& path, std::string_view content, Location where = {});

/// A file read from front to back, whose remaining length is known before it is read; pipes and
/// devices are buffered for that. Raises E0605.
class InputFile {
 public:
  InputFile(const std::filesystem::path& path, Location where);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Reads up to `size` bytes, fewer only at the end of the file; returns how many.
  std::size_t read(void* to, std::size_t size);
  /// Bytes from here to the end.
  std::uint64_t remaining();

 private:
  std::size_t read_descriptor(char* to, std::size_t size);

  int descriptor_ = -1;
  std::filesystem::path path_;
  Location where_;
  std::optional<std::uint64_t> size_;  // of a regular file
  std::uint64_t position_ = 0;
  std::string buffer_;  // what remaining() read ahead
  std::size_t buffer_position_ = 0;
};

/// A file that replaces `path` at commit() and leaves it as it was if commit() is not reached.
/// Symbolic links are followed; pipes and devices are written in place. Raises E0605.
class OutputFile {
 public:
  OutputFile(std::filesystem::path path, Location where);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* from, std::size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Puts the file in place; flushed, it also survives a power cut.
  void commit(bool flushed = true);

 private:
  [[noreturn]] void fail(int error);

  int descriptor_ = -1;
  std::filesystem::path path_;       // what commit() replaces
  std::filesystem::path temporary_;  // empty when written in place
  Location where_;
};

/// A fresh directory, readable by this user only, removed with all it holds at destruction.
class TempDirectory {
 public:
  /// `<parent>/<prefix>XXXXXX`; empty when the directory cannot be made.
  static std::optional<TempDirectory> make(const std::filesystem::path& parent,
                                           const std::string& prefix);
  /// In the first usable of TMPDIR, /tmp, /var/tmp and /dev/shm; E0804 when there is none.
  static TempDirectory make_anywhere(const std::string& prefix);

  TempDirectory(TempDirectory&& other) noexcept;
  TempDirectory& operator=(TempDirectory&& other) noexcept;
  ~TempDirectory();

  const std::filesystem::path& path() const { return path_; }
  /// Whether this process made it; a forked child does not remove its parent's directory.
  bool owned() const;
  /// Leaves the directory to the caller.
  std::filesystem::path release();

 private:
  TempDirectory(std::filesystem::path path, long owner) : path_(std::move(path)), owner_(owner) {}
  void remove() noexcept;

  std::filesystem::path path_;
  long owner_ = 0;  // a process id
};

/// A directory of this process, made on first use and removed at exit; E0804.
std::filesystem::path process_directory();
/// The same if it was made already.
std::optional<std::filesystem::path> existing_process_directory();

enum class Publish { done, lost, failed };

/// Flushes the files of `staging` to the disk and renames it to `target` in one step, with the
/// permissions of the directory around `target`. `lost` means that `target` exists already; then,
/// and when it failed, the files are left where they are.
Publish publish_directory(const std::filesystem::path& staging,
                          const std::filesystem::path& target);

/// A shared library opened with RTLD_NOW | RTLD_LOCAL, closed at destruction.
class SharedLibrary {
 public:
  /// E0803. `path` without a slash is searched as the dynamic linker does.
  explicit SharedLibrary(const std::filesystem::path& path, Location where = {});
  /// Empty when it cannot be opened; `reason`, if given, says why.
  static std::optional<SharedLibrary> try_open(const std::filesystem::path& path,
                                               std::string* reason = nullptr);

  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&& other) noexcept;
  ~SharedLibrary();

  /// The address of a symbol; E0803 when the library does not export it.
  void* symbol(const char* name) const;
  /// Null when the library does not export it.
  void* try_symbol(const char* name) const;

 private:
  SharedLibrary() = default;

  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace tilecopy::os
