// The CUDA dialect: the common operations with hints for NVIDIA GPUs. Hints never change results;
// a target with no use for them checks them and leaves the rest.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tilecopy/language.h"

namespace tilecopy {

/// L2 priority of a load, store or TMA instruction.
enum class EvictionPolicy : std::uint8_t { evict_normal, evict_first, evict_last };

/// How a copy should move: tma (a copy stays synchronous; barrier and wait are made for the user),
/// cp_async, or sync (plain loads and stores).
enum class PreferInstruction : std::uint8_t { tma, cp_async, sync };

std::string_view to_string(EvictionPolicy policy);
std::string_view to_string(PreferInstruction instruction);
std::optional<EvictionPolicy> parse_eviction_policy(std::string_view text);
std::optional<PreferInstruction> parse_prefer_instruction(std::string_view text);

namespace cuda {

/// A hint given by its enumerator or its name; empty when not given. Names are checked when used.
template <typename Enum>
struct Choice {
  Choice() = default;
  Choice(Enum value) : name(to_string(value)) {}        // NOLINT
  Choice(const char* text) : name(text ? text : "") {}  // NOLINT
  Choice(std::string text) : name(std::move(text)) {}   // NOLINT

  std::optional<std::string> name;
};

struct CopyOptions {
  std::optional<std::int64_t> coalesced_width = {};  ///< elements of one access of a thread
  bool disable_tma = false;
  Choice<EvictionPolicy> eviction_policy = {};
  Choice<PreferInstruction> prefer_instruction = {};
  Annotations annotations = {};
  std::optional<Fragment> loop_layout = {};  ///< thread and register of each element of the tile
};

/// tilecopy::copy with hints.
CopyHandle copy(const Operand& src, const Operand& dst, const CopyOptions& options = {},
                SourceLocation at = SourceLocation::current());

struct Im2colOptions {
  Choice<EvictionPolicy> eviction_policy = {};
  Annotations annotations = {};
};

/// tilecopy::im2col with hints.
CopyHandle im2col(const Buffer& img, const Operand& col, const Expr& nhw_step, const Expr& c_step,
                  HeightWidth kernel, HeightWidth stride, HeightWidth dilation, HeightWidth pad,
                  const Im2colOptions& options = {}, SourceLocation at = SourceLocation::current());

}  // namespace cuda
}  // namespace tilecopy
