// What the tests of this folder share: environment variables, directories and messages that last
// for one test.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/os.h"
#include "tilecopy/error.h"

namespace tilecopy::testing_tools {

/// Sets or, with null, unsets a variable, and brings the old value back at the end.
class ScopedEnv {
 public:
  ScopedEnv(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~ScopedEnv() { set(old_ ? old_->c_str() : nullptr); }
  ScopedEnv(const ScopedEnv&) = delete;
  ScopedEnv& operator=(const ScopedEnv&) = delete;

  void set(const char* value) {
    if (value != nullptr) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

class TestDirectory {
 public:
  TestDirectory() : directory_(os::TempDirectory::make_anywhere("tilecopy-test-")) {}
  const std::filesystem::path& path() const { return directory_.path(); }

 private:
  os::TempDirectory directory_;
};

/// Collects what is logged.
class LogCapture {
 public:
  LogCapture() {
    set_log_sink([this](LogLevel level, std::string_view text) {
      std::lock_guard lock(mutex_);
      text_ += std::string(to_string(level)) + ": " + std::string(text) + "\n";
    });
  }
  ~LogCapture() { set_log_sink({}); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  std::string text() const {
    std::lock_guard lock(mutex_);
    return text_;
  }
  int count(std::string_view part) const {
    const std::string all = text();
    int found = 0;
    for (std::size_t at = all.find(part); at != all.npos; at = all.find(part, at + 1)) ++found;
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

/// The code of the error that `action` raises, or "none". Every error must say what it found.
template <class Action>
std::string code_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_FALSE(error.report().found.empty()) << error.what();
    return error.code();
  }
  return "none";
}

}  // namespace tilecopy::testing_tools
