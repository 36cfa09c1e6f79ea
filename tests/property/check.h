// Compiles kernels, runs them on the cpu target, and compares memory with the reference's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "property/description.h"
#include "property/model.h"
#include "tilecopy/compile.h"

namespace tilecopy::property {

/// What TILECOPY_TEST_TARGET names, or "cpu".
std::string test_target();

/// Compiles without the cache, which such kernels would only fill.
std::vector<CompiledKernel> compile_batch(std::span<const Function> functions, int opt_level,
                                          const char* method = "");

/// Views of the arrays; those that are not `written` are read-only.
std::vector<Argument> arguments_for(std::vector<Array>& arrays, const std::vector<bool>& written);

/// The first difference between what a kernel left and what the reference left, guard bytes
/// included; empty when there is none. Elements that the reference does not know may differ.
std::string difference(const Array& got, const Array& want);

/// Runs the kernel on every launch of its description; returns what went wrong, or nothing.
std::string check_launches(const Description& kernel, const CompiledKernel& compiled);

/// Builds, compiles and checks a kernel on its own. Raises what the library raises.
std::string check_alone(const Description& kernel);

/// A description that still goes wrong, with all taken out that is not needed for it.
Description shrink(const Description& kernel);

}  // namespace tilecopy::property
