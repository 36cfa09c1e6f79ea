// Reads the values of flags. Every fault raises E0603, which names the flag and what it takes.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tilecopy/language.h"

namespace tilecopy::tool {

inline constexpr std::int64_t most_extent = std::int64_t{1} << 47;

/// Raises E0603; without `help` it points at --help.
[[noreturn]] void refuse(std::string needed, std::string found, std::string help = {});

std::int64_t parse_integer(std::string_view flag, std::string_view text, std::int64_t least,
                           std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// 1 to 8 integers with x between them, such as 4096x4096.
std::vector<std::int64_t> parse_extents(std::string_view flag, std::string_view text,
                                        std::int64_t least);

/// One integer for both directions, or height x width, such as 3 or 3x5.
HeightWidth parse_pair(std::string_view flag, std::string_view text, std::int64_t least);

DType parse_dtype_word(std::string_view flag, std::string_view text);

/// NAME=VALUE, neither of them empty.
std::pair<std::string, std::string> parse_binding(std::string_view flag, std::string_view text);

/// "(2, 3)", and "(2,)" for one extent, as NumPy writes shapes.
std::string shape_text(const std::vector<std::int64_t>& shape);

/// "4096x4096": the inverse of parse_extents.
std::string extents_text(const std::vector<std::int64_t>& shape);

}  // namespace tilecopy::tool
