#include "ir/facts.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/diagnostic.h"
#include "ir/make.h"
#include "ir/order.h"
#include "ir/raw.h"
#include "ir/simplify.h"
#include "ir/walk.h"

namespace tilecopy::ir {
namespace {

// Larger trees are left alone: no index is as large, and time grows faster than size.
constexpr int max_size = 1000;

constexpr std::size_t max_derived = 8;
constexpr int max_passes = 8;

bool is_small(const Expr& e) { return size_of(e) < max_size; }

bool mentions(const Expr& e, const ExprNode* var) {
  bool found = false;
  for_each_expr(e, [&](const Expr& part) { found |= part.node() == var; });
  return found;
}

// Without x, the sum of two sums that are at most 0: `limit`, and a limit of x from its other side.
std::optional<Linear> eliminate(const Linear& limit, const Expr& x, const Linear& other) {
  const std::int64_t k = coefficient_of(limit, x);
  const std::int64_t f = coefficient_of(other, x);
  if (k == 0 || f == 0 || (k < 0) == (f < 0) || k == Interval::min || f == Interval::min) {
    return std::nullopt;
  }
  const std::int64_t g = std::gcd(k, f);
  bool fits = true;
  const Linear result = sum(limit, std::abs(f) / g, other, std::abs(k) / g, &fits);
  return fits ? std::optional(result) : std::nullopt;
}

}  // namespace

// ---- What is known ----

const Known* Facts::known(const ExprNode* var) const {
  auto place = known_.find(var);
  return place == known_.end() ? nullptr : &place->second;
}

Known& Facts::at(const Expr& var) {
  Known& known = known_[var.node()];
  known.var = var;
  return known;
}

void Facts::bind(const Var& var, Interval interval) {
  if (!var.defined())
    raise(ErrorCode::E0411, {}, {.needed = "a variable", .found = "an empty expression"});
  at(var) = Known{var, interval, 1, std::nullopt, {}};
  std::erase_if(limits_, [&](const Limit& limit) { return limit.owner == var.node(); });
}

void Facts::bind_divisor(const Var& var, std::int64_t divisor) {
  if (!var.defined())
    raise(ErrorCode::E0411, {}, {.needed = "a variable", .found = "an empty expression"});
  std::int64_t& known = at(var).divisor;
  std::int64_t multiple;
  // A common multiple out of range is dropped; either divisor is true by itself.
  if (divisor <= 0 || known <= 0) return;
  if (!__builtin_mul_overflow(known / std::gcd(known, divisor), divisor, &multiple)) {
    known = multiple;
  }
}

void Facts::bind_value(const Var& var, const Expr& value) {
  const Interval interval = bounds(value);
  const bool usable = is_small(value) && !mentions(value, var.node());
  if (!usable) return bind(var, interval);
  Simplifier simplifier(*this, value);
  const Expr simple = simplifier.run(value);
  std::optional<Linear> linear;
  if (value.dtype() == int64) {
    linear = simplifier.analysis().expanded_exactly(simplifier.linear(value));
  }
  bind(var, interval);
  if (linear) {
    at(var).value = std::move(linear);
  } else {
    at(var).other_value = simple;
  }
}

void Facts::bind_loop(const Var& var, const Expr& begin, const Expr& end) {
  const Interval first = bounds(begin);
  const Interval last = bounds(end);
  const bool endless = last.hi == Interval::min;
  const bool usable = var.dtype() == int64 && is_small(begin) && is_small(end) &&
                      !mentions(begin, var.node()) && !mentions(end, var.node());
  bind(var, {first.lo, endless ? last.hi : last.hi - 1});
  if (!usable) return;
  Simplifier simplifier(*this, begin, end);
  const Linear i = linear_atom(var);
  const Linear lo = simplifier.analysis().expanded_exactly(simplifier.linear(begin));
  const Linear hi = simplifier.analysis().expanded_exactly(simplifier.linear(end));
  bool fits = simplifier.analysis().exact(hi);
  const Linear below = sum(sum(i, 1, hi, -1, &fits), 1, linear_constant(1), 1, &fits);
  if (fits && !hi.is_constant()) add_limit(var.node(), below);
  fits = simplifier.analysis().exact(lo);
  const Linear above = sum(lo, 1, i, -1, &fits);
  if (fits && !lo.is_constant()) add_limit(var.node(), above);
}

// Also adds what follows when quotients, minima and the like give way to their own limits: from
// b < (n + 63) / 64 follows 64*b < n.
void Facts::add_limit(const ExprNode* owner, const Linear& limit) {
  std::vector<Linear> found = {limit};
  Analysis analysis(*this);
  for (std::size_t i = 0; i < found.size() && found.size() < max_derived; ++i) {
    const std::vector<Term> terms = found[i].terms;
    for (const Term& t : terms) {
      for (const Linear& other : analysis.limits_of(t.atom)) {
        auto derived = eliminate(found[i], t.atom, other);
        if (derived && found.size() < max_derived) found.push_back(std::move(*derived));
      }
    }
  }
  for (Linear& sum : found) limits_.push_back({owner, std::move(sum)});
}

// ---- Conditions ----

void Facts::assume(const Expr& condition) {
  if (!condition.defined() || !is_small(condition)) return;
  const Expr e = simplify(condition);
  if (as<VarNode>(e) && e.dtype() == bool_) {
    at(e).interval = {1, 1};
    return;
  }
  const auto* b = as<Binary>(e);
  if (!b) return;
  if (b->op == BinaryOp::logical_and) {
    assume(b->a);
    assume(b->b);
  } else if (b->a.dtype() == int64) {
    assume_comparison(*b);
  }
}

void Facts::assume_comparison(const Binary& b) {
  Simplifier simplifier(*this, b.a, b.b);
  Analysis& analysis = simplifier.analysis();
  const Linear x = analysis.expanded_exactly(simplifier.linear(b.a));
  const Linear y = analysis.expanded_exactly(simplifier.linear(b.b));
  bool fits = analysis.exact(x) && analysis.exact(y);
  const Linear n = sum(x, 1, y, -1, &fits);
  const Linear negated = scaled(n, -1, &fits);
  const Linear one = linear_constant(1);
  const Linear less = sum(n, 1, one, 1, &fits);
  const Linear greater = sum(negated, 1, one, 1, &fits);
  if (!fits || n.is_constant()) return;
  if (b.op == BinaryOp::lt) add_limit(nullptr, less);
  if (b.op == BinaryOp::gt) add_limit(nullptr, greater);
  if (b.op == BinaryOp::le || b.op == BinaryOp::eq) add_limit(nullptr, n);
  if (b.op == BinaryOp::ge || b.op == BinaryOp::eq) add_limit(nullptr, negated);
}

// ---- Questions ----

Interval Facts::bounds(const Expr& e) const {
  if (!is_small(e)) return range_of(e.dtype());
  Simplifier simplifier(*this, e);
  Analysis& analysis = simplifier.analysis();
  if (e.dtype() != int64) return analysis.bounds(simplifier.run(e));
  const Linear normal = simplifier.linear(e);
  const Linear expanded = analysis.expanded_exactly(normal);
  return intersection(analysis.bounds(normal), analysis.bounds(expanded));
}

std::int64_t Facts::divisor(const Expr& e) const {
  if (!is_small(e)) return 1;
  Simplifier simplifier(*this, e);
  Analysis& analysis = simplifier.analysis();
  if (e.dtype() != int64) return analysis.divisor(simplifier.run(e));
  const Linear normal = simplifier.linear(e);
  const std::int64_t a = analysis.divisor(normal);
  const std::int64_t b = analysis.divisor(analysis.expanded_exactly(normal));
  return a == 0 || b == 0 ? 0 : std::max(a, b);
}

bool Facts::proves(const Expr& condition) const {
  if (!condition.defined() || condition.dtype() != bool_ || !is_small(condition)) return false;
  return Simplifier(*this, condition).decided(condition) == true;
}

bool Facts::proves_equal(const Expr& a, const Expr& b) const {
  if (!a.defined() || !b.defined() || a.dtype() != b.dtype()) return false;
  if (equal(a, b)) return true;
  if (!is_small(a) || !is_small(b)) return false;
  Simplifier simplifier(*this, a, b);
  if (is_float(a.dtype())) return equal(simplifier.run(a), simplifier.run(b));
  return simplifier.decided(raw::binary(BinaryOp::eq, a, b)) == true;
}

Expr Facts::simplify(const Expr& e) const {
  if (!e.defined() || !is_small(e)) return e;
  Expr result = e;
  // What one pass finds may open the way for another; nearly always the second changes nothing.
  for (int pass = 0; pass < max_passes; ++pass) {
    const Expr before = std::exchange(result, Simplifier(*this, result).run(result));
    if (result.node() == before.node()) break;
  }
  // A sum in normal form can be a deeper tree than a balanced one of the same size.
  const ExprNode& tree = *result.node();
  return tree.depth <= max_expr_depth && tree.size <= max_expr_size ? result : e;
}

Facts kernel_facts(const Kernel& kernel) {
  constexpr std::int64_t limit = std::int64_t{1} << 47;
  Facts facts;
  std::set<const ExprNode*> symbols;
  for (const Var& symbol : kernel.symbols) {
    facts.bind(symbol, {-limit, limit});
    symbols.insert(symbol.node());
  }
  for (const Param& param : kernel.params) {
    const auto* tensor = std::get_if<Buffer>(&param);
    if (!tensor) continue;
    for (const Expr& extent : tensor->shape()) {
      if (symbols.count(extent.node())) facts.bind(Var(extent), {0, limit});
    }
  }
  for (std::size_t d = 0; d < kernel.block.size() && d < kernel.grid.size(); ++d) {
    facts.bind_loop(kernel.block[d], make_int(0), kernel.grid[d]);
  }
  return facts;
}

}  // namespace tilecopy::ir
