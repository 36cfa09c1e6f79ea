// Makers of expressions.
#include "ir/make.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "base/diagnostic.h"
#include "base/numeric_value.h"
#include "ir/fold.h"
#include "ir/identities.h"
#include "ir/raw.h"

namespace tilecopy::ir {
namespace {

void require_defined(const Expr& e, std::string_view what, Location where) {
  if (e.defined()) return;
  raise(ErrorCode::E0411, where,
        {.needed = fmt::format("a value for {}", what), .found = "an empty expression"});
}

// `e`, which is new, if it is not too large.
Expr bounded(Expr e, Location where) {
  if (e.node()->depth > max_expr_depth) {
    raise(ErrorCode::E0427, where,
          {.needed = fmt::format("at most {} operations inside each other", max_expr_depth),
           .found = "one more"});
  }
  if (e.node()->size > max_expr_size) {
    raise(ErrorCode::E0427, where,
          {.needed = fmt::format("at most {} operations in one expression", max_expr_size),
           .found = "more"});
  }
  return e;
}

bool is_literal(const Expr& e) {
  if (const auto* c = as<IntConst>(e)) return c->literal;
  const auto* c = as<FloatConst>(e);
  return c && c->literal;
}

Expr literal_of(const Expr& constant) {
  if (const auto* c = as<IntConst>(constant)) return raw::int_const(c->value, c->dtype, true);
  return raw::float_const(get<FloatConst>(constant).value, float64, true);
}

[[noreturn]] void raise_mix(std::string_view op, const Expr& a, const Expr& b, Location where) {
  raise(ErrorCode::E0409, where,
        {.needed = fmt::format("operands of one dtype for {}", op),
         .found = fmt::format("{} and {}", to_string(a.dtype()), to_string(b.dtype()))});
}

// ---- Dtypes of operands ----

Expr adopt_int(const IntConst& literal, DType dtype, Location where) {
  const Expr value = make_int(literal.value, dtype);
  // A uint64 literal of C++ arrives by its bits, so each int64 stands for one.
  if (dtype == uint64 || get<IntConst>(value).value == literal.value) return value;
  raise(ErrorCode::E0409, where,
        {.needed = fmt::format("a literal in the range of {}", to_string(dtype)),
         .found = fmt::format("{}", literal.value),
         .help = "cast the other operand to a wider dtype"});
}

// The literal with the dtype of the other operand.
Expr adopt(std::string_view op, const Expr& literal, const Expr& other, Location where) {
  const DType dtype = other.dtype();
  if (const auto* c = as<IntConst>(literal)) {
    if (is_int(dtype)) return adopt_int(*c, dtype, where);
    if (is_float(dtype)) return make_cast(literal, dtype);
  } else if (is_float(dtype)) {
    return make_cast(literal, dtype);
  }
  raise_mix(op, literal, other, where);
}

// Gives both operands one dtype.
void unify(std::string_view op, Expr& a, Expr& b, Location where) {
  const bool literals = is_literal(a) && is_literal(b);
  if (a.dtype() == b.dtype()) return;
  if (literals) {
    Expr& integer = as<IntConst>(a) ? a : b;
    integer = literal_of(make_cast(integer, float64));
  } else if (is_literal(a)) {
    a = adopt(op, a, b, where);
  } else if (is_literal(b)) {
    b = adopt(op, b, a, where);
  } else if (is_signed_int(a.dtype()) && is_signed_int(b.dtype())) {
    Expr& narrow = bits(a.dtype()) < bits(b.dtype()) ? a : b;
    narrow = make_cast(narrow, (&narrow == &a ? b : a).dtype(), where);
  } else {
    raise_mix(op, a, b, where);
  }
}

bool accepts(Operands operands, DType dtype) {
  switch (operands) {
    case Operands::number: return dtype != bool_;
    case Operands::integer: return is_int(dtype);
    case Operands::floating: return is_float(dtype);
    case Operands::boolean: return dtype == bool_;
    case Operands::any: return true;
  }
  return false;
}

std::string_view phrase(Operands operands) {
  switch (operands) {
    case Operands::number: return "a number";
    case Operands::integer: return "an integer";
    case Operands::floating: return "a float";
    case Operands::boolean: return "a bool";
    case Operands::any: return "any value";
  }
  return {};
}

void require_operands(Operands operands, std::string_view op, DType found, Location where) {
  if (accepts(operands, found)) return;
  raise(ErrorCode::E0409, where,
        {.needed = fmt::format("{} for {}", phrase(operands), op),
         .found = std::string(to_string(found))});
}

void require_bool(const Expr& condition, Location where) {
  require_defined(condition, "a condition", where);
  if (condition.dtype() == bool_) return;
  raise(
      ErrorCode::E0420, where,
      {.needed = "a condition of dtype bool", .found = std::string(to_string(condition.dtype()))});
}

Expr to_index(const Expr& e, Location where) {
  require_defined(e, "an index", where);
  if (is_int(e.dtype())) return coerce(e, int64, where);
  raise(ErrorCode::E0420, where,
        {.needed = "an index of an integer dtype", .found = std::string(to_string(e.dtype()))});
}

[[noreturn]] void raise_overflow(std::string found, Location where) {
  raise(ErrorCode::E0410, where, {.needed = "a result in the range of int64", .found = found});
}

Expr checked_fold(BinaryOp op, const Expr& a, const Expr& b, Location where) {
  const auto* x = as<IntConst>(a);
  const auto* y = as<IntConst>(b);
  if (x && y && x->dtype == int64 && overflows(op, x->value, y->value)) {
    raise_overflow(fmt::format("{} {} {}", x->value, text(op), y->value), where);
  }
  return fold(op, a, b);
}

}  // namespace

// ---- Constants ----

Expr make_int(std::int64_t value, DType dtype) {
  if (is_float(dtype)) return make_float(static_cast<double>(value), dtype);
  return raw::int_const(numeric::to_int(numeric::from_int(value, dtype)), dtype);
}

Expr make_bool(bool value) { return raw::int_const(value ? 1 : 0, bool_); }

Expr make_float(double value, DType dtype) {
  return raw::float_const(numeric::to_double(numeric::from_double(value, dtype)), dtype);
}

Expr make_zero(DType dtype) { return make_int(0, dtype); }

std::optional<std::int64_t> const_int(const Expr& e) {
  const auto* c = as<IntConst>(e);
  return c ? std::optional(c->value) : std::nullopt;
}

// ---- Operations ----

Var make_var(std::string name, DType dtype, bool symbol) {
  static std::atomic<std::uint64_t> next_serial{0};
  auto node = std::make_shared<VarNode>();
  node->kind = VarNode::tag;
  node->dtype = dtype;
  node->name = std::move(name);
  node->symbol = symbol;
  node->serial = next_serial.fetch_add(1, std::memory_order_relaxed);
  return Var(Expr(std::move(node)));
}

Expr make_unary(UnaryOp op, const Expr& a, Location where) {
  require_defined(a, text(op), where);
  require_operands(operands_of(op), text(op), a.dtype(), where);
  const auto* c = as<IntConst>(a);
  if (c && c->dtype == int64 && overflows(op, c->value)) {
    raise_overflow(fmt::format("{}({})", text(op), c->value), where);
  }
  if (Expr value = fold(op, a); value.defined()) return is_literal(a) ? literal_of(value) : value;
  if (Expr same = identity(op, a); same.defined()) return same;
  return bounded(raw::unary(op, a), where);
}

Expr make_binary(BinaryOp op, const Expr& a, const Expr& b, Location where) {
  require_defined(a, text(op), where);
  require_defined(b, text(op), where);
  Expr x = a;
  Expr y = b;
  unify(text(op), x, y, where);
  require_operands(operands_of(op), text(op), x.dtype(), where);
  if (Expr value = checked_fold(op, x, y, where); value.defined()) {
    const bool literal = is_literal(x) && is_literal(y) && !gives_bool(op);
    return literal ? literal_of(value) : value;
  }
  if (Expr same = identity(op, x, y); same.defined()) return same;
  return bounded(raw::binary(op, x, y), where);
}

Expr remake_unary(UnaryOp op, const Expr& a) {
  if (Expr value = fold(op, a); value.defined()) return value;
  if (Expr same = identity(op, a); same.defined()) return same;
  return raw::unary(op, a);
}

Expr remake_binary(BinaryOp op, const Expr& a, const Expr& b) {
  if (Expr value = fold(op, a, b); value.defined()) return value;
  if (Expr same = identity(op, a, b); same.defined()) return same;
  return raw::binary(op, a, b);
}

Expr make_select(const Expr& condition, const Expr& a, const Expr& b, Location where) {
  require_bool(condition, where);
  require_defined(a, "select", where);
  require_defined(b, "select", where);
  Expr x = a;
  Expr y = b;
  unify("select", x, y, where);
  if (auto chosen = const_int(condition)) return *chosen != 0 ? x : y;
  return bounded(raw::select(condition, x, y), where);
}

Expr make_cast(const Expr& a, DType dtype, Location where) {
  require_defined(a, "cast", where);
  if (Expr value = fold_cast(a, dtype); value.defined()) return value;
  if (a.dtype() == dtype) return a;
  return bounded(raw::cast(a, dtype), where);
}

Expr make_load(const Buffer& buffer, std::vector<Expr> indices, const Expr& safe, Location where) {
  if (!buffer.defined())
    raise(ErrorCode::E0411, where, {.needed = "a buffer to read", .found = "an empty buffer"});
  for (Expr& index : indices) index = to_index(index, where);
  const Expr value = safe.defined() ? coerce(safe, buffer.dtype(), where) : safe;
  return bounded(raw::load(buffer, std::move(indices), value), where);
}

Expr coerce(const Expr& e, DType dtype, Location where) { return make_cast(e, dtype, where); }

// ---- Buffers ----

std::vector<Expr> strides_of(const Buffer& buffer) {
  if (!buffer.defined())
    raise(ErrorCode::E0411, {}, {.needed = "a buffer", .found = "an empty buffer"});
  if (!buffer.node()->strides.empty()) return buffer.node()->strides;
  std::vector<Expr> strides(buffer.shape().size());
  Expr stride = make_int(1);
  for (std::size_t d = strides.size(); d-- > 0;) {
    strides[d] = stride;
    if (d > 0) stride = make_binary(BinaryOp::mul, buffer.shape()[d], stride, buffer.node()->where);
  }
  return strides;
}

}  // namespace tilecopy::ir
