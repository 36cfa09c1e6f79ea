#include "ir/raw.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/numeric.h"

namespace tilecopy::ir {
namespace {

struct UnaryRow {
  std::string_view text;
  Operands operands;
};

struct BinaryRow {
  std::string_view text;
  int precedence;
  Operands operands;
  bool gives_bool;
};

enum class Result : std::uint8_t { same, boolean };

constexpr std::array unary_rows = {
#define TILECOPY_UNARY(name, text, operands) UnaryRow{text, Operands::operands},
#include "ir/ops.def"
};

constexpr std::array binary_rows = {
#define TILECOPY_BINARY(name, text, precedence, operands, result) \
  BinaryRow{text, precedence, Operands::operands, Result::result == Result::boolean},
#include "ir/ops.def"
};

const UnaryRow& row(UnaryOp op) { return unary_rows[static_cast<std::size_t>(op)]; }
const BinaryRow& row(BinaryOp op) { return binary_rows[static_cast<std::size_t>(op)]; }

// A node without its fields, as tall and large as its operands make it.
template <typename T>
std::shared_ptr<T> node_of(DType dtype, std::span<const Expr> operands = {}) {
  auto node = std::make_shared<T>();
  node->kind = T::tag;
  node->dtype = dtype;
  for (const Expr& operand : operands) {
    if (!operand.defined()) continue;
    node->depth = std::max(node->depth, operand.node()->depth + 1);
    node->size = std::min(node->size + operand.node()->size, max_expr_size + 1);
  }
  return node;
}

template <typename T>
std::shared_ptr<T> node_of(DType dtype, std::initializer_list<Expr> operands) {
  return node_of<T>(dtype, std::span(operands.begin(), operands.size()));
}

}  // namespace

std::string_view text(UnaryOp op) { return row(op).text; }
std::string_view text(BinaryOp op) { return row(op).text; }
int precedence(BinaryOp op) { return row(op).precedence; }
Operands operands_of(UnaryOp op) { return row(op).operands; }
Operands operands_of(BinaryOp op) { return row(op).operands; }
bool gives_bool(BinaryOp op) { return row(op).gives_bool; }

namespace raw {

Expr int_const(std::int64_t value, DType dtype, bool literal) {
  auto node = node_of<IntConst>(dtype);
  node->value = value;
  node->literal = literal;
  return Expr(std::move(node));
}

Expr float_const(double value, DType dtype, bool literal) {
  auto node = node_of<FloatConst>(dtype);
  // The text form has one NaN, so a constant that kept another's bits would not read back the same.
  node->value = tc_canonical_f64(value);
  node->literal = literal;
  return Expr(std::move(node));
}

Expr unary(UnaryOp op, const Expr& a) {
  auto node = node_of<Unary>(a.node()->dtype, {a});
  node->op = op;
  node->a = a;
  return Expr(std::move(node));
}

Expr binary(BinaryOp op, const Expr& a, const Expr& b) {
  const DType dtype = gives_bool(op) ? bool_ : a.node()->dtype;
  auto node = node_of<Binary>(dtype, {a, b});
  node->op = op;
  node->a = a;
  node->b = b;
  return Expr(std::move(node));
}

Expr select(const Expr& condition, const Expr& a, const Expr& b) {
  auto node = node_of<Select>(a.node()->dtype, {condition, a, b});
  node->condition = condition;
  node->a = a;
  node->b = b;
  return Expr(std::move(node));
}

Expr cast(const Expr& a, DType dtype) {
  auto node = node_of<Cast>(dtype, {a});
  node->a = a;
  return Expr(std::move(node));
}

Expr load(const Buffer& buffer, std::vector<Expr> indices, const Expr& safe) {
  std::vector<Expr> operands = indices;
  operands.push_back(safe);
  auto node = node_of<Load>(buffer.node()->dtype, operands);
  node->buffer = buffer;
  node->indices = std::move(indices);
  node->safe = safe;
  return Expr(std::move(node));
}

}  // namespace raw
}  // namespace tilecopy::ir
