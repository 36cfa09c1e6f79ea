#include "isa/isa.h"

#include <array>

namespace tilecopy::isa {
namespace {

constexpr std::array rows = {
#define TILECOPY_INSTR(name, operands, effect, text) InstrRow{name, operands, Effect::effect, text},
#include "isa/instructions.def"
};

}  // namespace

std::span<const InstrRow> instructions() { return rows; }

const InstrRow* find_instruction(std::string_view name) {
  for (const InstrRow& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace tilecopy::isa
