// The normal form of a sum as an expression.
//
//   a*64 + b*64 + i*4 - n*64 + 3   becomes   (a + b - n)*64 + i*4 + 3
//
// Atoms with one coefficient, up to its sign, form a group; products come first, as in
// row * stride + column, then the groups, largest first, those to be added before those to be
// subtracted, and the constant last. Factoring groups out, and nothing else, makes the result as
// small as what people write.
#include <algorithm>

#include "ir/linear.h"
#include "ir/raw.h"

namespace tilecopy::ir {
namespace {

struct Group {
  std::uint64_t size;  // of the coefficient
  std::vector<Expr> plus, minus;
};

Expr constant(std::int64_t value) { return raw::int_const(value, int64); }

std::uint64_t magnitude(std::int64_t k) {
  return k < 0 ? 0 - static_cast<std::uint64_t>(k) : static_cast<std::uint64_t>(k);
}

// Modulo 2^64, -2^63 and 2^63 are one.
bool subtracts(std::int64_t k) { return k < 0 && k != Interval::min; }

std::vector<Group> groups_of(const Linear& a) {
  std::vector<Group> groups;
  for (const Term& t : a.terms) {
    const std::uint64_t size = magnitude(t.coefficient);
    auto place =
        std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.size == size; });
    if (place == groups.end()) place = groups.insert(groups.end(), Group{size, {}, {}});
    (subtracts(t.coefficient) ? place->minus : place->plus).push_back(t.atom);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& x, const Group& y) { return x.size > y.size; });
  return groups;
}

Expr sum_of(const std::vector<Expr>& plus, const std::vector<Expr>& minus) {
  Expr result = plus[0];
  for (std::size_t i = 1; i < plus.size(); ++i) {
    result = raw::binary(BinaryOp::add, result, plus[i]);
  }
  for (const Expr& e : minus) result = raw::binary(BinaryOp::sub, result, e);
  return result;
}

Expr times(const Expr& e, std::int64_t k) { return raw::binary(BinaryOp::mul, e, constant(k)); }

// The summands in order; the first of those to be subtracted is kept apart, since without anything
// to be added it becomes the head of the sum, negated.
struct Summands {
  std::vector<Expr> plus, minus;
  Expr head;
};

bool is_product(const Expr& e) {
  const auto* b = as<Binary>(e);
  return b && b->op == BinaryOp::mul;
}

void add_group(Group group, Summands& out) {
  if (group.size == 1) {
    const auto place = std::stable_partition(group.plus.begin(), group.plus.end(), is_product);
    out.plus.insert(out.plus.begin(), group.plus.begin(), place);
    out.plus.insert(out.plus.end(), place, group.plus.end());
    for (const Expr& e : group.minus) {
      if (!out.head.defined()) out.head = raw::unary(UnaryOp::neg, e);
      out.minus.push_back(e);
    }
    return;
  }
  const auto k = static_cast<std::int64_t>(group.size);
  if (!group.plus.empty()) {
    out.plus.push_back(times(sum_of(group.plus, group.minus), k));
    return;
  }
  const Expr subtracted = sum_of(group.minus, {});
  if (!out.head.defined()) out.head = times(subtracted, -k);
  out.minus.push_back(times(subtracted, k));
}

Expr with_constant(const Expr& e, std::int64_t c) {
  if (c == 0) return e;
  if (!subtracts(c)) return raw::binary(BinaryOp::add, e, constant(c));
  return raw::binary(BinaryOp::sub, e, constant(-c));
}

}  // namespace

Expr build(const Linear& a) {
  if (a.is_constant()) return constant(a.constant);
  if (a.is_atom()) return a.terms[0].atom;
  Summands s;
  for (const Group& group : groups_of(a)) add_group(group, s);
  if (!s.plus.empty()) return with_constant(sum_of(s.plus, s.minus), a.constant);
  if (a.constant != 0) return sum_of({constant(a.constant)}, s.minus);
  s.minus.erase(s.minus.begin());
  return sum_of({s.head}, s.minus);
}

}  // namespace tilecopy::ir
