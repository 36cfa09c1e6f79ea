// The rules of expressions.
#include <fmt/format.h>

#include <array>

#include "ir/parts.h"
#include "ir/raw.h"
#include "ir/verify_rules.h"

namespace tilecopy::ir {
namespace {

template <typename T>
const T* as(const ExprNode& e) {
  return e.kind == T::tag ? static_cast<const T*>(&e) : nullptr;
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

std::string dtypes(std::initializer_list<DType> list) {
  std::string text;
  for (DType dtype : list) text.append(text.empty() ? "" : ", ").append(to_string(dtype));
  return text;
}

Found complete(const ExprNode& e, const Site&) {
  for (const Expr& child : children_of(e)) {
    if (!child.defined()) return "an operand is missing";
  }
  const auto* load = as<Load>(e);
  if (load && !load->buffer.defined()) return "the buffer is missing";
  return {};
}

Found depth(const ExprNode& e, const Site&) {
  int height = 0;
  for (const Expr& child : children_of(e)) height = std::max(height, child.node()->depth);
  if (e.depth > height && e.depth <= max_expr_depth) return {};
  return fmt::format("a depth of {} above one of {}", e.depth, height);
}

Found constant(const ExprNode& e, const Site&) {
  const auto* i = as<IntConst>(e);
  if (i && is_float(i->dtype)) return "an integer of dtype " + dtypes({i->dtype});
  const auto* f = as<FloatConst>(e);
  if (f && !is_float(f->dtype)) return "a float of dtype " + dtypes({f->dtype});
  if (!i || bits(i->dtype) == 64) return {};
  const int value_bits = i->dtype == bool_ ? 1 : bits(i->dtype) - (is_signed_int(i->dtype) ? 1 : 0);
  const std::int64_t end = std::int64_t{1} << value_bits;
  if (i->value < end && i->value >= (is_signed_int(i->dtype) ? -end : 0)) return {};
  return fmt::format("{} of dtype {}", i->value, to_string(i->dtype));
}

Found variable(const ExprNode& e, const Site& site) {
  const auto* var = as<VarNode>(e);
  if (!var || site.visible.contains(var)) return {};
  return fmt::format("{}, which is not in scope", var->name);
}

Found unary(const ExprNode& e, const Site&) {
  const auto* u = as<Unary>(e);
  if (!u || (accepts(operands_of(u->op), u->a.dtype()) && u->dtype == u->a.dtype())) return {};
  return fmt::format("{} of {} giving {}", text(u->op), dtypes({u->a.dtype()}), dtypes({u->dtype}));
}

Found binary(const ExprNode& e, const Site&) {
  const auto* b = as<Binary>(e);
  if (!b) return {};
  const DType result = gives_bool(b->op) ? bool_ : b->a.dtype();
  if (b->a.dtype() == b->b.dtype() && accepts(operands_of(b->op), b->a.dtype()) &&
      b->dtype == result) {
    return {};
  }
  return fmt::format("{} of {} giving {}", text(b->op), dtypes({b->a.dtype(), b->b.dtype()}),
                     dtypes({b->dtype}));
}

Found select(const ExprNode& e, const Site&) {
  const auto* s = as<Select>(e);
  if (!s ||
      (s->condition.dtype() == bool_ && s->a.dtype() == s->b.dtype() && s->dtype == s->a.dtype())) {
    return {};
  }
  return fmt::format("select of {} giving {}",
                     dtypes({s->condition.dtype(), s->a.dtype(), s->b.dtype()}),
                     dtypes({s->dtype}));
}

Found load_buffer(const ExprNode& e, const Site& site) {
  const auto* load = as<Load>(e);
  if (!load || site.visible.contains(load->buffer.node())) return {};
  return fmt::format("{}, which is not in scope", load->buffer.name());
}

Found load_dtype(const ExprNode& e, const Site&) {
  const auto* load = as<Load>(e);
  if (!load) return {};
  const DType dtype = load->buffer.dtype();
  if (load->dtype != dtype)
    return fmt::format("{} from {}", dtypes({load->dtype}), dtypes({dtype}));
  if (load->safe.defined() && load->safe.dtype() != dtype) {
    return fmt::format("a safe value of {} for {}", dtypes({load->safe.dtype()}), dtypes({dtype}));
  }
  for (const Expr& index : load->indices) {
    if (!is_int(index.dtype())) return "an index of dtype " + dtypes({index.dtype()});
  }
  return {};
}

Found load_rank(const ExprNode& e, const Site&) {
  const auto* load = as<Load>(e);
  if (!load || load->indices.size() == load->buffer.shape().size()) return {};
  return fmt::format("{} indices for rank {}", load->indices.size(), load->buffer.rank());
}

Found load_offset(const ExprNode& e, const Site&) {
  const auto* load = as<Load>(e);
  if (!load) return {};
  if (load->indices.size() != 1) return fmt::format("{} indices", load->indices.size());
  if (load->safe.defined()) return "a safe value";
  return {};
}

constexpr std::array<VerifyRule<ExprNode>, 11> rules = {{
    {"expr.complete", {}, complete},
    {"expr.depth", {}, depth},
    {"const.range", {}, constant},
    {"scope.variable", {}, variable},
    {"unary.dtype", {}, unary},
    {"binary.dtype", {}, binary},
    {"select.dtype", {}, select},
    {"scope.load", {}, load_buffer},
    {"load.dtype", {}, load_dtype},
    {"load.rank", Level::tile, load_rank},
    {"load.offset", Level::device, load_offset},
}};

}  // namespace

std::span<const VerifyRule<ExprNode>> expr_rules() { return rules; }

}  // namespace tilecopy::ir
