#include "ir/linear.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "ir/make.h"
#include "ir/order.h"
#include "ir/raw.h"

namespace tilecopy::ir {
namespace {

// Enough for every index; beyond it, normal forms cost more than they find.
constexpr std::size_t max_terms = 64;

std::int64_t wrap(Wide x, bool* exact) {
  const auto value = static_cast<std::int64_t>(static_cast<std::uint64_t>(x));
  if (exact && value != x) *exact = false;
  return value;
}

void append(Linear& result, const Expr& atom, Wide coefficient, bool* exact) {
  const std::int64_t k = wrap(coefficient, exact);
  if (k != 0) result.terms.push_back({atom, k});
}

// The greatest common divisor of all coefficients and the constant, 1 when it would be 2^63; the
// coefficient of a single term.
std::int64_t content(const Linear& a) {
  if (a.terms.size() == 1 && a.constant == 0) return a.terms[0].coefficient;
  std::uint64_t g = a.constant < 0 ? 0 - static_cast<std::uint64_t>(a.constant)
                                   : static_cast<std::uint64_t>(a.constant);
  for (const Term& t : a.terms) {
    const auto k = static_cast<std::uint64_t>(t.coefficient);
    g = std::gcd(g, t.coefficient < 0 ? 0 - k : k);
  }
  return g == 0 || g > static_cast<std::uint64_t>(Interval::max) ? 1 : static_cast<std::int64_t>(g);
}

Linear divided(Linear a, std::int64_t g) {
  if (g == 1) return a;
  a.constant /= g;
  for (Term& t : a.terms) t.coefficient /= g;
  return a;
}

// The factors of a Linear without content: of its one atom, or itself as a sum.
std::vector<Expr> primitive_factors(const Linear& primitive) {
  if (primitive.is_atom()) return factors_of(primitive.terms[0].atom);
  return {build(primitive)};
}

std::optional<std::int64_t> shift_factor(const Expr& count) {
  auto k = const_int(count);
  if (!k || *k < 0 || *k > 62) return std::nullopt;
  return std::int64_t{1} << *k;
}

Linear decompose_binary(const Expr& e, const std::function<Linear(const Expr&)>& leaf) {
  const auto& b = get<Binary>(e);
  switch (b.op) {
    case BinaryOp::add: return sum(decompose(b.a, leaf), 1, decompose(b.b, leaf), 1);
    case BinaryOp::sub: return sum(decompose(b.a, leaf), 1, decompose(b.b, leaf), -1);
    case BinaryOp::mul: return product(decompose(b.a, leaf), decompose(b.b, leaf));
    case BinaryOp::shl: {
      auto factor = shift_factor(b.b);
      return factor ? scaled(decompose(b.a, leaf), *factor) : leaf(e);
    }
    case BinaryOp::div:
    case BinaryOp::mod:
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::shr:
    case BinaryOp::bit_and:
    case BinaryOp::bit_xor:
    case BinaryOp::bit_or:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or: break;
  }
  return leaf(e);
}

}  // namespace

Linear linear_constant(std::int64_t value) { return {{}, value}; }

Linear linear_atom(const Expr& atom, std::int64_t coefficient) {
  if (coefficient == 0) return {};
  return {{{atom, coefficient}}, 0};
}

Linear sum(const Linear& a, Wide ka, const Linear& b, Wide kb, bool* exact) {
  Linear result;
  result.terms.reserve(a.terms.size() + b.terms.size());
  result.constant = wrap(ka * a.constant + kb * b.constant, exact);
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    const int which = x == a.terms.end() ? 1 : y == b.terms.end() ? -1 : order(x->atom, y->atom);
    if (which < 0) {
      append(result, x->atom, ka * x->coefficient, exact);
      ++x;
    } else if (which > 0) {
      append(result, y->atom, kb * y->coefficient, exact);
      ++y;
    } else {
      append(result, x->atom, ka * x->coefficient + kb * y->coefficient, exact);
      ++x;
      ++y;
    }
  }
  return result;
}

Linear scaled(const Linear& a, Wide k, bool* exact) { return sum(a, k, {}, 0, exact); }

Linear product(const Linear& a, const Linear& b) {
  if (a.is_constant()) return scaled(b, a.constant);
  if (b.is_constant()) return scaled(a, b.constant);
  const std::int64_t ka = content(a);
  const std::int64_t kb = content(b);
  std::vector<Expr> factors = primitive_factors(divided(a, ka));
  const std::vector<Expr> more = primitive_factors(divided(b, kb));
  factors.insert(factors.end(), more.begin(), more.end());
  return scaled(linear_atom(product_of(std::move(factors))), Wide{ka} * kb);
}

Linear multiplied_out(const Linear& a, const Linear& b, bool* exact) {
  if (a.is_constant()) return scaled(b, a.constant, exact);
  if (b.is_constant()) return scaled(a, b.constant, exact);
  Linear result = scaled(a, b.constant, exact);
  for (const Term& y : b.terms) {
    Linear row = linear_constant(0);
    for (const Term& x : a.terms) {
      std::vector<Expr> factors = factors_of(x.atom);
      const std::vector<Expr> more = factors_of(y.atom);
      factors.insert(factors.end(), more.begin(), more.end());
      const Linear term = linear_atom(product_of(std::move(factors)));
      row = sum(row, 1, term, Wide{x.coefficient} * y.coefficient, exact);
    }
    result =
        sum(result, 1, sum(row, 1, linear_atom(y.atom), Wide{a.constant} * y.coefficient, exact), 1,
            exact);
    if (result.terms.size() > max_terms) {
      *exact = false;
      return result;
    }
  }
  return result;
}

bool equal(const Linear& a, const Linear& b) {
  return a.constant == b.constant && std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(),
                                                b.terms.end(), [](const Term& x, const Term& y) {
                                                  return x.coefficient == y.coefficient &&
                                                         equal(x.atom, y.atom);
                                                });
}

std::int64_t coefficient_of(const Linear& a, const Expr& atom) {
  for (const Term& t : a.terms) {
    if (equal(t.atom, atom)) return t.coefficient;
  }
  return 0;
}

std::vector<Expr> factors_of(const Expr& atom) {
  std::vector<Expr> result;
  for_each_factor(atom, [&](const Expr& factor) { result.push_back(factor); });
  std::reverse(result.begin(), result.end());
  return result;
}

Expr product_of(std::vector<Expr> factors) {
  // Variables last, as in (i + 1) * n.
  std::sort(factors.begin(), factors.end(), [](const Expr& a, const Expr& b) {
    const bool a_var = as<VarNode>(a) != nullptr;
    const bool b_var = as<VarNode>(b) != nullptr;
    return a_var != b_var ? b_var : order(a, b) < 0;
  });
  Expr result = factors[0];
  for (std::size_t i = 1; i < factors.size(); ++i) {
    result = raw::binary(BinaryOp::mul, result, factors[i]);
  }
  return result;
}

Linear decompose(const Expr& e, const std::function<Linear(const Expr&)>& leaf) {
  if (auto value = const_int(e)) return linear_constant(*value);
  if (const auto* u = as<Unary>(e); u && u->op == UnaryOp::neg) {
    return scaled(decompose(u->a, leaf), -1);
  }
  return as<Binary>(e) ? decompose_binary(e, leaf) : leaf(e);
}

Linear decompose(const Expr& e) {
  return decompose(e, [](const Expr& atom) { return linear_atom(atom); });
}

}  // namespace tilecopy::ir
