#include "tilecopy/types.h"

#include <array>

namespace tilecopy {
namespace {

enum class Family : std::uint8_t { boolean, signed_int, unsigned_int, floating };

struct DTypeRow {
  std::string_view name;
  std::string_view short_name;
  int bits;
  Family family;
};

// In the order of DType.
constexpr std::array<DTypeRow, dtype_count> rows = {{
    {"bool", "b8", 8, Family::boolean},
    {"int8", "i8", 8, Family::signed_int},
    {"int16", "i16", 16, Family::signed_int},
    {"int32", "i32", 32, Family::signed_int},
    {"int64", "i64", 64, Family::signed_int},
    {"uint8", "u8", 8, Family::unsigned_int},
    {"uint16", "u16", 16, Family::unsigned_int},
    {"uint32", "u32", 32, Family::unsigned_int},
    {"uint64", "u64", 64, Family::unsigned_int},
    {"float8_e4m3fn", "fp8_e4m3", 8, Family::floating},
    {"float8_e5m2", "fp8_e5m2", 8, Family::floating},
    {"float16", "f16", 16, Family::floating},
    {"bfloat16", "bf16", 16, Family::floating},
    {"float32", "f32", 32, Family::floating},
    {"float64", "f64", 64, Family::floating},
}};

const DTypeRow& row(DType dtype) { return rows[static_cast<std::size_t>(dtype)]; }

}  // namespace

int bits(DType dtype) { return row(dtype).bits; }
bool is_float(DType dtype) { return row(dtype).family == Family::floating; }
bool is_signed_int(DType dtype) { return row(dtype).family == Family::signed_int; }
bool is_unsigned_int(DType dtype) { return row(dtype).family == Family::unsigned_int; }
bool is_int(DType dtype) { return is_signed_int(dtype) || is_unsigned_int(dtype); }
std::string_view to_string(DType dtype) { return row(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, DType>, 3> aliases = {
      {{"half", float16}, {"float", float32}, {"double", float64}}};
  for (auto [alias, dtype] : aliases) {
    if (name == alias) return dtype;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (name == rows[i].name || name == rows[i].short_name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::string_view to_string(Scope scope) {
  constexpr std::array<std::string_view, 4> names = {"global", "shared", "fragment", "local"};
  return names[static_cast<std::size_t>(scope)];
}

}  // namespace tilecopy
