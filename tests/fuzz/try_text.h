// What the fuzzer does with a text: everything from parsing to running it on the emulator.
#pragma once

#include <string>

namespace tilecopy::fuzz {

/// How far a text came.
enum class Outcome { refused, too_large, emulated };

/// Compiles the text for the CPU target as far as C, and for an emulator target, chosen by the
/// text, to its end under two schedules. Errors of the user's are an outcome; anything else that
/// comes out of the library (InternalError, ToolError, another exception) is thrown on.
Outcome try_text(const std::string& text);

}  // namespace tilecopy::fuzz
