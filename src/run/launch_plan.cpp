#include "run/launch_plan.h"

#include <algorithm>
#include <array>

namespace tilecopy::run {
namespace {

// Floor division and modulo, 0 for a divisor of 0, as everywhere in the language.
std::optional<std::int64_t> floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (a == INT64_MIN && b == -1) return std::nullopt;
  std::int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::optional<std::int64_t> apply(SizeProgram::Op op, std::int64_t a, std::int64_t b) {
  using Op = SizeProgram::Op;
  std::int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case Op::add: overflow = __builtin_add_overflow(a, b, &result); break;
    case Op::sub: overflow = __builtin_sub_overflow(a, b, &result); break;
    case Op::mul: overflow = __builtin_mul_overflow(a, b, &result); break;
    case Op::div: return floor_div(a, b);
    case Op::mod:
      if (b == 0 || b == -1) return 0;
      return a - *floor_div(a, b) * b;
    case Op::min: return std::min(a, b);
    case Op::max: return std::max(a, b);
    case Op::constant:
    case Op::symbol:
    case Op::scalar: return std::nullopt;
  }
  if (overflow) return std::nullopt;
  return result;
}

}  // namespace

std::optional<std::size_t> SizeProgram::lone_symbol() const {
  if (steps.size() != 1 || steps[0].op != Op::symbol) return std::nullopt;
  return static_cast<std::size_t>(steps[0].operand);
}

std::optional<std::int64_t> SizeProgram::evaluate(const std::vector<std::int64_t>& symbols,
                                                  const std::vector<std::int64_t>& scalars) const {
  // Every launch runs a few of these: no allocation for those of usual length.
  std::array<std::int64_t, 16> few;
  std::vector<std::int64_t> many(steps.size() > few.size() ? steps.size() : 0);
  std::int64_t* const stack = many.empty() ? few.data() : many.data();
  std::size_t size = 0;
  for (const Step& step : steps) {
    auto at = static_cast<std::size_t>(step.operand);
    if (step.op == Op::constant) {
      stack[size++] = step.operand;
    } else if (step.op == Op::symbol) {
      stack[size++] = symbols[at];
    } else if (step.op == Op::scalar) {
      stack[size++] = scalars[at];
    } else {
      std::int64_t b = stack[--size];
      std::optional<std::int64_t> result = apply(step.op, stack[size - 1], b);
      if (!result) return std::nullopt;
      stack[size - 1] = *result;
    }
  }
  return stack[size - 1];
}

}  // namespace tilecopy::run
