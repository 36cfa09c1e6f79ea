// The header of a .npy file: a Python dictionary with three known keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilecopy {

inline constexpr std::size_t npy_max_rank = 64;

struct NpyHeader {
  std::string descr;  ///< such as "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads a header of any bytes; returns what is wrong with it, or nothing.
std::string parse_npy_header(std::string_view text, NpyHeader& header);

}  // namespace tilecopy
