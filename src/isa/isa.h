// Looking up rows of the instruction catalogue.
#pragma once

#include <span>
#include <string_view>

namespace tilecopy::isa {

struct InstrRow {
  std::string_view name;
  std::string_view operands;
  std::string_view text;
};

std::span<const InstrRow> instructions();
/// Null when there is no such instruction.
const InstrRow* find_instruction(std::string_view name);

}  // namespace tilecopy::isa
