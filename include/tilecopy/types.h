// Data types, memory scopes and source locations: the plain values every other header speaks in.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

namespace tilecopy {

/// Element types. A bool in memory is a byte of 0 or 1; what other bytes convert to is not defined.
/// The spelling of each is the text form's, JSON's and the command line's; `bool_`
/// is spelled "bool". The 8-bit floats are the OCP formats; e4m3fn has no infinity.
enum class DType : std::uint8_t {
  bool_,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float8_e4m3fn,
  float8_e5m2,
  float16,
  bfloat16,
  float32,
  float64,
};
using enum DType;

inline constexpr int dtype_count = 15;

/// Bits of one element; every element fills whole bytes.
int bits(DType dtype);
inline int bytes(DType dtype) { return bits(dtype) / 8; }

bool is_float(DType dtype);
bool is_signed_int(DType dtype);
bool is_unsigned_int(DType dtype);
/// Signed or unsigned integer; bool is neither.
bool is_int(DType dtype);

std::string_view to_string(DType dtype);
/// The inverse of to_string; also takes the short names half, float, double, bf16, f16, f32, f64,
/// i8..i64, u8..u64, fp8_e4m3, fp8_e5m2. Empty when the name is unknown.
std::optional<DType> parse_dtype(std::string_view name);

/// Where a buffer lives. `fragment` is a register tile shared out over the threads of a block;
/// `local` is private to each thread.
enum class Scope : std::uint8_t { global, shared, fragment, local };

std::string_view to_string(Scope scope);

/// A position in the user's C++ file or text-form file. `file` points at static storage.
struct Location {
  const char* file = nullptr;
  int line = 0;
  int column = 0;

  Location() = default;
  Location(const char* path, int line_number, int column_number)
      : file(path), line(line_number), column(column_number) {}
  Location(const std::source_location& at)  // NOLINT: every entry point takes a source_location
      : file(at.file_name()),
        line(static_cast<int>(at.line())),
        column(static_cast<int>(at.column())) {}

  bool known() const { return file != nullptr && line > 0; }
};

}  // namespace tilecopy
