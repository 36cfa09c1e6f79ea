#include "ir/raw.h"

#include <algorithm>
#include <array>

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

template <typename T>
std::shared_ptr<T> node_of(DType dtype, int depth = 1) {
  auto node = std::make_shared<T>();
  node->kind = T::tag;
  node->dtype = dtype;
  node->depth = depth;
  return node;
}

int depth(const Expr& e) { return e.defined() ? e.node()->depth : 0; }

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
  node->value = value;
  node->literal = literal;
  return Expr(std::move(node));
}

Expr unary(UnaryOp op, const Expr& a) {
  auto node = node_of<Unary>(a.node()->dtype, depth(a) + 1);
  node->op = op;
  node->a = a;
  return Expr(std::move(node));
}

Expr binary(BinaryOp op, const Expr& a, const Expr& b) {
  const DType dtype = gives_bool(op) ? bool_ : a.node()->dtype;
  auto node = node_of<Binary>(dtype, std::max(depth(a), depth(b)) + 1);
  node->op = op;
  node->a = a;
  node->b = b;
  return Expr(std::move(node));
}

Expr select(const Expr& condition, const Expr& a, const Expr& b) {
  const int height = std::max({depth(condition), depth(a), depth(b)}) + 1;
  auto node = node_of<Select>(a.node()->dtype, height);
  node->condition = condition;
  node->a = a;
  node->b = b;
  return Expr(std::move(node));
}

Expr cast(const Expr& a, DType dtype) {
  auto node = node_of<Cast>(dtype, depth(a) + 1);
  node->a = a;
  return Expr(std::move(node));
}

Expr load(const Buffer& buffer, std::vector<Expr> indices, const Expr& safe) {
  int height = depth(safe);
  for (const Expr& index : indices) height = std::max(height, depth(index));
  auto node = node_of<Load>(buffer.node()->dtype, height + 1);
  node->buffer = buffer;
  node->indices = std::move(indices);
  node->safe = safe;
  return Expr(std::move(node));
}

}  // namespace raw
}  // namespace tilecopy::ir
