// Programs that break one rule each, and what the error has to say of it.
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "tilecopy/tilecopy.h"

namespace tilecopy::test {

/// Runs a broken program. `at` gets the line that the error has to name; unknown when it names
/// none.
using Provocation = std::function<void(Location& at)>;

struct ErrorCase {
  std::string code;
  std::string name;           ///< what is broken, as an identifier
  std::string needed, found;  ///< '*' stands for any text
  Provocation provoke;
};

/// The line below the caller's.
inline Location next_line(std::source_location at = std::source_location::current()) {
  return {at.file_name(), static_cast<int>(at.line()) + 1, 0};
}

/// Whether `text` is of the form of `pattern`.
bool matches(std::string_view pattern, std::string_view text);

/// The tensors A[64, 96] and B[n, 64], a grid of 4 blocks with index bx, and the shared tile
/// tile[64, 96], all of float16; the body of the kernel is being written.
struct Scene {
  Location& at;
  Buffer a, b, tile;
  Var bx, n;
};
Provocation in_kernel(std::function<void(Scene&)> body);

/// Reads kernel text whose line `line` is at fault.
Provocation in_text(std::string text, int line);

std::vector<ErrorCase> operand_cases();
std::vector<ErrorCase> hint_cases();
std::vector<ErrorCase> im2col_cases();
std::vector<ErrorCase> program_cases();
std::vector<ErrorCase> expression_cases();
std::vector<ErrorCase> layout_cases();
std::vector<ErrorCase> text_cases();
std::vector<ErrorCase> launch_cases();
std::vector<ErrorCase> view_cases();
std::vector<ErrorCase> machine_cases();
std::vector<ErrorCase> cuda_cases();

}  // namespace tilecopy::test
