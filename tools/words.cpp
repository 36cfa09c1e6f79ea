#include "words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>

#include "base/diagnostic.h"

namespace tilecopy::tool {
namespace {

constexpr std::size_t most_rank = 8;

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", text); }

std::optional<std::int64_t> whole_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string bounds_text(std::int64_t least, std::int64_t most) {
  if (most == std::numeric_limits<std::int64_t>::max()) return fmt::format("{} or more", least);
  return fmt::format("{} to {}", least, most);
}

// The integers of "4x5"; empty when one is missing, malformed or out of bounds.
std::optional<std::vector<std::int64_t>> split_integers(std::string_view text, std::int64_t least,
                                                        std::int64_t most) {
  std::vector<std::int64_t> values;
  while (true) {
    const std::size_t cross = text.find('x');
    const auto value = whole_integer(text.substr(0, cross));
    if (!value || *value < least || *value > most) return std::nullopt;
    values.push_back(*value);
    if (cross == text.npos) return values;
    text.remove_prefix(cross + 1);
  }
}

}  // namespace

void refuse(std::string needed, std::string found, std::string help) {
  if (help.empty()) help = "`tilecopy run --help` lists the flags and their values";
  raise(ErrorCode::E0603, {},
        {.needed = std::move(needed), .found = std::move(found), .help = std::move(help)});
}

std::int64_t parse_integer(std::string_view flag, std::string_view text, std::int64_t least,
                           std::int64_t most) {
  const auto value = whole_integer(text);
  if (value && *value >= least && *value <= most) return *value;
  refuse(fmt::format("{} with an integer, {}", flag, bounds_text(least, most)), quoted(text));
}

std::vector<std::int64_t> parse_extents(std::string_view flag, std::string_view text,
                                        std::int64_t least) {
  const auto extents = split_integers(text, least, most_extent);
  if (extents && extents->size() <= most_rank) return *extents;
  refuse(fmt::format("{} with 1 to {} integers of {} or more with x between them, as in 64x128",
                     flag, most_rank, least),
         quoted(text));
}

HeightWidth parse_pair(std::string_view flag, std::string_view text, std::int64_t least) {
  const auto values = split_integers(text, least, std::numeric_limits<std::int32_t>::max());
  if (values && values->size() == 1) return values->front();
  if (values && values->size() == 2) return {values->front(), values->back()};
  refuse(fmt::format("{} with an integer of {} or more, or two as in 3x5", flag, least),
         quoted(text));
}

DType parse_dtype_word(std::string_view flag, std::string_view text) {
  if (const auto dtype = parse_dtype(text)) return *dtype;
  std::string names;
  for (int i = 0; i < dtype_count; ++i) {
    if (i > 0) names += i + 1 < dtype_count ? ", " : " or ";
    names += to_string(static_cast<DType>(i));
  }
  refuse(fmt::format("{} with {}", flag, names), quoted(text));
}

std::pair<std::string, std::string> parse_binding(std::string_view flag, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals != text.npos && equals > 0 && equals + 1 < text.size()) {
    return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
  }
  const bool file = flag != "--set";
  refuse(fmt::format("{} {}", flag, file ? "NAME=FILE, as in A=x.npy" : "NAME=VALUE, as in n=4096"),
         quoted(text));
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::string extents_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace tilecopy::tool
