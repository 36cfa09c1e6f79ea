// Makers of IR nodes. They check dtypes and depth (E0427), give literals a dtype, fold constants
// and apply trivial identities; with `where` they report errors at the user's line.
#pragma once

#include <type_traits>

#include "ir/node.h"

namespace tilecopy::ir {

Expr make_int(std::int64_t value, DType dtype = int64);
Expr make_bool(bool value);
/// The value is rounded to the dtype.
Expr make_float(double value, DType dtype);
/// Zero of any dtype.
Expr make_zero(DType dtype);
/// A new variable, unlike every other.
Var make_var(std::string name, DType dtype, bool symbol = false);
Expr make_unary(UnaryOp op, const Expr& a, Location where = {});
/// Operands of one dtype; a literal takes the dtype of the other side, if its value fits, and
/// signed integers widen to the wider one. Raises E0409 otherwise, and E0410 when folding int64
/// constants overflows.
Expr make_binary(BinaryOp op, const Expr& a, const Expr& b, Location where = {});
/// The same for operands that a stage has rewritten, of one dtype. Never raises: overflow wraps, as
/// it does when the kernel runs.
Expr remake_unary(UnaryOp op, const Expr& a);
Expr remake_binary(BinaryOp op, const Expr& a, const Expr& b);
Expr make_select(const Expr& condition, const Expr& a, const Expr& b, Location where = {});
Expr make_cast(const Expr& a, DType dtype, Location where = {});
Expr make_load(const Buffer& buffer, std::vector<Expr> indices, const Expr& safe = {},
               Location where = {});

/// `e` as a value of dtype: a literal takes it, equal dtypes pass, anything else is cast.
Expr coerce(const Expr& e, DType dtype, Location where = {});

/// Allocates a statement; fields after `where` are given by the caller.
template <typename T>
std::shared_ptr<T> make_stmt(Location where) {
  auto node = std::make_shared<T>();
  node->kind = T::tag;
  node->where = where;
  return node;
}

Stmt make_block(std::vector<Stmt> body, Location where = {});
Stmt make_for(LoopKind loop, const Var& var, const Expr& begin, const Expr& end, Stmt body,
              Location where = {});
Stmt make_if(const Expr& condition, Stmt then_body, Stmt else_body = nullptr, Location where = {});
Stmt make_store(const Buffer& buffer, std::vector<Expr> indices, const Expr& value,
                Location where = {});
Stmt make_let(const Var& var, const Expr& value, Location where = {});
Stmt make_instr(std::string_view name, std::vector<InstrOperand> operands, Location where = {});

/// The value of an integer or bool constant.
std::optional<std::int64_t> const_int(const Expr& e);
inline bool is_const_int(const Expr& e, std::int64_t value) { return const_int(e) == value; }

/// Same structure; variables and buffers are the same only if they are one object.
bool equal(const Expr& a, const Expr& b);
bool equal(const Region& a, const Region& b);

/// Element strides of a buffer, given or row-major.
std::vector<Expr> strides_of(const Buffer& buffer);

}  // namespace tilecopy::ir
