// The texts of --help that are made from tables or shared by commands.
#pragma once

#include <string>

namespace tilecopy::tool {

/// What `tilecopy --help` says below the commands.
std::string main_footer();
/// What the help of a command on kernels says below the flags.
std::string kernel_footer(const std::string& examples);
/// What every help ends with.
std::string status_text();

}  // namespace tilecopy::tool
