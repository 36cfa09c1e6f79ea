// NVRTC, the run-time compiler of CUDA C++, opened at run time.
#pragma once

#include <string>

namespace tilecopy::run {

bool nvrtc_available();
/// Makes NVRTC count as missing, for tests.
void hide_nvrtc_for_testing(bool hidden);
/// Such as "13.0"; E0608 without NVRTC.
std::string nvrtc_version();
/// The options of every compile: products and sums round one by one, as on every target.
inline constexpr const char* nvrtc_options[] = {"--fmad=false", "--std=c++17"};
/// Leaves out textures and the CUDA runtime, which no kernel of ours has: a quarter of what the
/// smallest program takes. NVRTC of CUDA 12.4 and later.
inline constexpr const char* nvrtc_minimal_option = "--minimal";

/// Machine code for an architecture such as "sm_90a". E0608 without NVRTC; E0805 with the first
/// lines of its log, and the name of a copy of the source.
std::string compile_cubin(const std::string& source, const std::string& name,
                          const std::string& arch);

}  // namespace tilecopy::run
