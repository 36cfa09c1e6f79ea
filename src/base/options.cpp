#include "base/options.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <system_error>
#include <vector>

#include "base/os.h"

namespace tilecopy {
namespace {

namespace fs = std::filesystem;

constexpr std::array rows = {
#define TILECOPY_OPTION(id, name, default_, meaning) OptionRow{Option::id, name, default_, meaning},
#include "base/options.def"
#undef TILECOPY_OPTION
};

// From HOME, or from the user database when a service runs without one; empty when neither knows.
fs::path home_directory() {
  if (auto home = os::env("HOME")) return *home;
  std::vector<char> text(16384);
  passwd record{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &record, text.data(), text.size(), &found) != 0) return {};
  return found != nullptr && found->pw_dir != nullptr ? fs::path(found->pw_dir) : fs::path();
}

fs::path default_cache_directory() {
  // The XDG rules say that a relative path is to be ignored.
  if (auto xdg = os::env("XDG_CACHE_HOME"); xdg && fs::path(*xdg).is_absolute()) {
    return fs::path(*xdg) / "tilecopy";
  }
  const fs::path home = home_directory();
  return home.is_absolute() ? home / ".cache" / "tilecopy" : fs::path();
}

}  // namespace

std::span<const OptionRow> option_table() { return rows; }

const OptionRow& option_row(Option option) { return rows[static_cast<std::size_t>(option)]; }

std::optional<std::string> option_value(Option option) {
  // The names are literals, so their data ends with a null.
  return os::env(option_row(option).name.data());
}

CacheLocation cache_location() {
  const auto value = option_value(Option::cache_dir);
  if (!value) return {true, default_cache_directory()};
  if (*value == "off" || *value == "0" || *value == "none") return {false, {}};
  // A shell expands a leading ~, a container's or a service's settings do not.
  if (value->starts_with("~/")) {
    const fs::path home = home_directory();
    return {true, home.is_absolute() ? home / value->substr(2) : fs::path()};
  }
  std::error_code error;
  fs::path directory = fs::absolute(*value, error);
  return {true, error ? fs::path(*value) : directory};
}

std::string default_target() {
  return option_value(Option::target).value_or(std::string(option_row(Option::target).default_));
}

std::optional<fs::path> dump_directory() {
  const auto value = option_value(Option::dump_dir);
  return value ? std::optional<fs::path>(*value) : std::nullopt;
}

LogLevel log_level() {
  return parse_log_level(option_value(Option::log_level).value_or("warn")).value_or(LogLevel::warn);
}

bool color_allowed() { return !option_value(Option::no_color).has_value(); }

}  // namespace tilecopy
