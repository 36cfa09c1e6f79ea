#include "base/log.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "base/options.h"

namespace tilecopy {
namespace {

constexpr std::array<std::string_view, 4> names = {"error", "warn", "info", "debug"};

struct State {
  std::mutex mutex;
  std::shared_ptr<const LogSink> sink;
  std::set<std::string> warned;
};

// Never destroyed, so that destructors of static objects can still log.
State& state() {
  static State& only = *new State;
  return only;
}

void print_to_stderr(LogLevel level, std::string_view text) {
  const std::string line = fmt::format("tilecopy: {}: {}\n", to_string(level), text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void send(LogLevel level, std::string_view text) {
  std::shared_ptr<const LogSink> sink;
  {
    std::lock_guard lock(state().mutex);
    sink = state().sink;
  }
  if (!sink) return print_to_stderr(level, text);
  try {
    (*sink)(level, text);
  } catch (...) {
    // Logging happens where nothing may fail, so a broken sink costs its message only.
  }
}

}  // namespace

std::string_view to_string(LogLevel level) { return names[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

void set_log_sink(LogSink sink) {
  auto kept = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  std::lock_guard lock(state().mutex);
  state().sink = std::move(kept);
}

void log(LogLevel level, std::string_view text) {
  const auto setting = option_value(Option::log_level);
  if (setting && !parse_log_level(*setting)) {
    warn_once("TILECOPY_LOG_LEVEL=" + *setting,
              fmt::format("TILECOPY_LOG_LEVEL is \"{}\", not one of {}; warn is used", *setting,
                          fmt::join(names, ", ")));
  }
  if (level <= log_level()) send(level, text);
}

void warn_once(const std::string& about, std::string_view text) {
  {
    std::lock_guard lock(state().mutex);
    if (!state().warned.insert(about).second) return;
  }
  if (LogLevel::warn <= log_level()) send(LogLevel::warn, text);
}

}  // namespace tilecopy
