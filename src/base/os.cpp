// Processes, the environment and shared libraries. Files and directories are in os_files.cpp.
#include "base/os.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/diagnostic.h"

extern char** environ;

namespace tilecopy::os {
namespace {

using Clock = std::chrono::steady_clock;

bool is_executable_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

// The read end of a pipe that a child writes to, drained into a string.
class PipeReader {
 public:
  explicit PipeReader(std::string& to) : to_(to) {}
  PipeReader(const PipeReader&) = delete;
  PipeReader& operator=(const PipeReader&) = delete;
  ~PipeReader() {
    close_read_end();
    close_write_end();
  }

  // Returns an errno, or 0.
  int open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
    read_end_ = ends[0];
    write_end_ = ends[1];
    return fcntl(read_end_, F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
  }

  int read_end() const { return read_end_; }  // -1 after the end of the stream
  int write_end() const { return write_end_; }
  void close_write_end() { close_end(write_end_); }

  // Takes what is there, without waiting.
  void drain() {
    std::array<char, 16384> chunk;
    while (read_end_ >= 0) {
      ssize_t count = ::read(read_end_, chunk.data(), chunk.size());
      if (count > 0) {
        to_.append(chunk.data(), static_cast<std::size_t>(count));
      } else if (count < 0 && errno == EINTR) {
        continue;
      } else {
        if (count == 0 || errno != EAGAIN) close_read_end();
        return;
      }
    }
  }

 private:
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
  void close_read_end() { close_end(read_end_); }

  std::string& to_;
  int read_end_ = -1;
  int write_end_ = -1;
};

// What posix_spawn is told: streams, an own process group, and no signal blocked or ignored, since
// a compiler may rely on SIGPIPE and SIGCHLD whatever the host program did with them.
class SpawnSetup {
 public:
  SpawnSetup() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  // Returns an errno, or 0.
  int spawn(pid_t& child, const std::string& file, const std::vector<std::string>& argv, int out,
            int err) {
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (int signal : {SIGPIPE, SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      sigaddset(&defaults, signal);
    }
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    constexpr short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    int error = posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions_, out, 1);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions_, err, 2);
    if (error == 0) error = posix_spawnattr_setpgroup(&attributes_, 0);
    if (error == 0) error = posix_spawnattr_setsigmask(&attributes_, &none);
    if (error == 0) error = posix_spawnattr_setsigdefault(&attributes_, &defaults);
    if (error == 0) error = posix_spawnattr_setflags(&attributes_, flags);
    if (error != 0) return error;
    return posix_spawn(&child, file.c_str(), &actions_, &attributes_, words.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// A running child; its whole process group is killed if nobody waited for it to the end.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!ended_) kill_group();
  }

  void kill_group() {
    kill(-id_, SIGKILL);
    kill(id_, SIGKILL);  // for a child that has not reached its own group yet
    wait(0);
  }

  // Reaps the child if it has ended; `flags` as for waitpid.
  bool wait(int flags) {
    pid_t got;
    do {
      got = waitpid(id_, &status_, flags);
    } while (got < 0 && errno == EINTR);
    // A host that ignores SIGCHLD loses the status: that is no success.
    if (got < 0) status_ = 127 << 8;
    ended_ = got != 0;
    return ended_;
  }

  int status() const { return status_; }

 private:
  pid_t id_;
  int status_ = 0;
  bool ended_ = false;
};

// Waits for output or the end of the child. The child is polled as well as its streams, since a
// process that it left behind may keep the streams open for ever.
void converse(Child& child, PipeReader& out, PipeReader& err, std::chrono::milliseconds timeout,
              ProcessResult& result) {
  const Clock::time_point start = Clock::now();
  int pause = 1;
  while (true) {
    std::array<pollfd, 2> streams = {{{out.read_end(), POLLIN, 0}, {err.read_end(), POLLIN, 0}}};
    const bool open = out.read_end() >= 0 || err.read_end() >= 0;
    pause = open ? 50 : std::min(pause * 2, 50);
    poll(streams.data(), streams.size(), pause);
    out.drain();
    err.drain();
    if (child.wait(WNOHANG)) break;
    if (timeout.count() > 0 && Clock::now() - start >= timeout) {
      result.timed_out = true;
      child.kill_group();
      break;
    }
    if (open && out.read_end() < 0 && err.read_end() < 0) pause = 1;
  }
  out.drain();
  err.drain();
}

// A kernel library that was unloaded together with the OpenMP runtime would take away the code
// under the runtime's idle threads.
void pin_openmp_runtime() {
  for (const char* name : {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"}) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE)) dlclose(handle);
  }
}

}  // namespace

std::string errno_text(int error) { return std::generic_category().message(error); }

std::optional<std::string> env(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (quote == 0 && blank) {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
      continue;
    }
    in_word = true;
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else {
      word += c;
    }
  }
  if (in_word) words.push_back(word);
  return words;
}

std::string join_words(const std::vector<std::string>& words) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,%@";
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

std::optional<std::filesystem::path> find_executable(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string::npos) {
    return is_executable_file(name) ? std::optional(std::filesystem::path(name)) : std::nullopt;
  }
  const std::string path = env("PATH").value_or("");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    // An empty part would mean the current directory, where nobody expects a compiler.
    if (end > begin) {
      std::filesystem::path candidate(path.substr(begin, end - begin));
      candidate /= name;
      if (is_executable_file(candidate)) return candidate;
    }
    begin = end + 1;
  }
  return std::nullopt;
}

std::string ProcessResult::ending() const {
  if (start_error != 0) return "cannot start: " + errno_text(start_error);
  if (timed_out) return "killed because its time ran out";
  if (signal != 0) return fmt::format("killed by signal {} ({})", signal, strsignal(signal));
  return fmt::format("exit status {}", exit_status);
}

ProcessResult run_process(const std::vector<std::string>& argv, const ProcessOptions& options) {
  ProcessResult result;
  const auto file = argv.empty() ? std::nullopt : find_executable(argv[0]);
  if (!file) {
    result.start_error = ENOENT;
    return result;
  }
  PipeReader out(result.output);
  PipeReader err(result.errors);
  result.start_error = out.open();
  if (result.start_error == 0 && !options.merge_streams) result.start_error = err.open();
  if (result.start_error != 0) return result;
  pid_t id = 0;
  result.start_error =
      SpawnSetup().spawn(id, file->string(), argv, out.write_end(),
                         options.merge_streams ? out.write_end() : err.write_end());
  if (result.start_error != 0) return result;
  Child child(id);
  out.close_write_end();
  err.close_write_end();
  converse(child, out, err, options.timeout, result);
  if (WIFSIGNALED(child.status())) result.signal = WTERMSIG(child.status());
  if (WIFEXITED(child.status())) result.exit_status = WEXITSTATUS(child.status());
  return result;
}

std::optional<SharedLibrary> SharedLibrary::try_open(const std::filesystem::path& path,
                                                     std::string* reason) {
  SharedLibrary library;
  library.path_ = path.string();
  library.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr) {
    const char* text = dlerror();
    if (reason != nullptr) *reason = text != nullptr ? text : "unknown reason";
    return std::nullopt;
  }
  pin_openmp_runtime();
  return library;
}

SharedLibrary::SharedLibrary(const std::filesystem::path& path, Location where) {
  std::string reason;
  auto library = try_open(path, &reason);
  if (!library) raise(ErrorCode::E0803, where, {.needed = "a loadable library", .found = reason});
  *this = std::move(*library);
}

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}

SharedLibrary& SharedLibrary::operator=(SharedLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(path_, other.path_);
  return *this;
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* SharedLibrary::try_symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

void* SharedLibrary::symbol(const char* name) const {
  if (void* address = try_symbol(name)) return address;
  raise(ErrorCode::E0803, {},
        {.needed = fmt::format("the symbol {}", name),
         .found = fmt::format("none of that name in {}", path_)});
}

}  // namespace tilecopy::os
