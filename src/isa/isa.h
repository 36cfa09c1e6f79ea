// Looking up rows of the instruction catalogue.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tilecopy::isa {

/// How and when the accesses of an instruction to the memory of its address operands take place.
enum class Effect : std::uint8_t {
  ordinary,    ///< by the issuing thread, done when it goes on
  cp_async,    ///< the write lands later; done when the issuing thread has waited for its group
  tx_load,     ///< by the async proxy; done when the mbarrier operand's phase completes
  bulk_store,  ///< by the async proxy; done when the issuing thread has waited for its bulk group
  control      ///< waits, fences and barriers: what lowering inserts between the others
};

/// Letters of `operands`:
///   w an address that is written      r an address that is read     b the address of an mbarrier
///   n a number                        v a value of the written elements' dtype
///   m a tensor map                    p an L2 cache policy (uint64)
struct InstrRow {
  std::string_view name;
  std::string_view operands;
  Effect effect;
  std::string_view text;
};

std::span<const InstrRow> instructions();
/// Null when there is no such instruction.
const InstrRow* find_instruction(std::string_view name);

}  // namespace tilecopy::isa
