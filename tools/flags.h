// The flags that have a value, with their help, as a table: the command line is made from it, and
// it tells which flags a kernel has no use for.
#pragma once

#include <cstdint>
#include <span>

#include "request.h"

namespace tilecopy::tool {

/// What a flag is about; commands take whole groups.
enum class FlagGroup : std::uint8_t { built_in, im2col, compile, data, emulating };

const char* title(FlagGroup group);

struct FlagRow {
  const char* name;   ///< with its dashes
  const char* value;  ///< the name of its value in help
  const char* help;
  FlagGroup group;
  std::optional<std::string> Request::*member;
};

std::span<const FlagRow> flag_table();

}  // namespace tilecopy::tool
