// Targets: what a kernel is compiled for.
#pragma once

#include <cstdint>
#include <span>
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

/// The GPU architectures that the planner knows.
std::span<const std::string_view> architectures();

/// Whether threads run a block (cuda, emulator), or the block runs in one (cpu).
bool is_simt(const Target& target);
/// What a GPU architecture has: the TMA unit and bulk copies (sm_90), stmatrix (sm_90), accesses of
/// 32 bytes to global memory (sm_100).
bool has_tma(const Target& target);
bool has_wide_access(const Target& target);
/// The most shared memory of a block, in bytes. CUDA programming guide, compute capabilities.
std::int64_t most_shared_bytes(const Target& target);

/// The widest vector of this machine, in bytes: what the C compiler may use.
int host_vector_bytes();

}  // namespace tilecopy::target
