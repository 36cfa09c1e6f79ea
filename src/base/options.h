// The environment variables of options.def and their meaning. Each is read when it is asked for, so
// that a program may set it at any time.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/log.h"

namespace tilecopy {

enum class Option : int {
#define TILECOPY_OPTION(id, name, default_, meaning) id,
#include "base/options.def"
#undef TILECOPY_OPTION
};

struct OptionRow {
  Option id;
  std::string_view name, default_, meaning;
};

/// All rows of options.def, in order.
std::span<const OptionRow> option_table();
const OptionRow& option_row(Option option);

/// What the environment says; empty when the variable is unset or has no characters.
std::optional<std::string> option_value(Option option);

/// Where compiled kernels are kept.
struct CacheLocation {
  bool enabled = false;
  /// Absolute; empty when enabled but this user has no home directory.
  std::filesystem::path directory;
};
CacheLocation cache_location();

/// TILECOPY_TARGET or "cpu".
std::string default_target();

/// TILECOPY_DUMP_DIR, or empty when nothing is to be dumped.
std::optional<std::filesystem::path> dump_directory();

/// TILECOPY_LOG_LEVEL; a value that is not one of the four counts as `warn`.
LogLevel log_level();

/// Whether NO_COLOR allows colours.
bool color_allowed();

}  // namespace tilecopy
