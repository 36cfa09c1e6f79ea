// Targets: what a kernel is compiled for.
#pragma once

#include <string>
#include <string_view>

namespace tilecopy::target {

enum class TargetKind : std::uint8_t { cpu, cuda, emulator };

struct Target {
  TargetKind kind = TargetKind::cpu;
  std::string arch;  ///< such as "sm_90a"; empty for cpu

  /// The canonical spelling, such as "cuda -arch=sm_90a".
  std::string to_string() const;
};

/// Reads "cpu", "cuda -arch=sm_90a" or "emulator -arch=sm_90a"; empty text is TILECOPY_TARGET or
/// "cpu". Raises E0601.
Target parse_target(const std::string& text);

/// Raises E0602 unless kernels can be compiled for the target.
void require_available(const Target& target);

/// The widest vector of this machine, in bytes: what the C compiler may use.
int host_vector_bytes();

}  // namespace tilecopy::target
