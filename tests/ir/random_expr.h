// Random int64 and bool expressions over variables with known facts, and all assignments of values
// that satisfy the facts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/facts.h"
#include "ir/make.h"
#include "ir/raw.h"

namespace tilecopy::ir::test {

/// A number from lo to hi, both included; the simplest choice is `lo`.
using Pick = std::function<int(int lo, int hi)>;

/// Variables, what is bound to them, and the values that they may take.
class World {
 public:
  explicit World(const Pick& pick) : pick_(pick) {
    n = size("n", pick(0, 7));
    loop("i", make_int(0), n);
    loop("b", make_int(0), (raw::binary(BinaryOp::div, n + 3, make_int(4))));
    const int lo = pick(-6, 6);
    range("x", lo, lo + pick(0, 5));
    multiple("m", 4, pick(0, 3));
    named("t", vars[2] * 4 + vars[3]);
    // Multiples of it leave int64, and differences of those come back.
    const std::int64_t large = (pick(0, 1) ? 1 : -1) * (std::int64_t{1} << pick(58, 62));
    range("w", large, large + 1);
    unbounded("u");
    narrow("s");
  }

  Facts facts;
  std::vector<Var> vars;  // all int64 but the last, an int32
  Expr n;

  /// Calls `visit` for each assignment; u takes a few values only.
  void for_each(const std::function<void(const Assignment&)>& visit) const {
    Assignment values;
    assign(0, values, visit);
  }

 private:
  using Values = std::function<std::vector<std::int64_t>(const Assignment&)>;

  Var add(const std::string& name, DType dtype, Values values) {
    vars.emplace_back(name, dtype);
    values_.push_back(std::move(values));
    return vars.back();
  }

  static std::vector<std::int64_t> from_to(std::int64_t lo, std::int64_t hi,
                                           std::int64_t step = 1) {
    std::vector<std::int64_t> result;
    for (std::int64_t x = lo; x <= hi; x += step) result.push_back(x);
    return result;
  }

  Var size(const std::string& name, int most) {
    Var var = add(name, int64, [=](const Assignment&) { return from_to(0, most); });
    facts.bind(var, {0, most});
    return var;
  }

  void loop(const std::string& name, const Expr& begin, const Expr& end) {
    Var var = add(name, int64, [=](const Assignment& a) {
      return from_to(evaluate(begin, a), evaluate(end, a) - 1);
    });
    facts.bind_loop(var, begin, end);
  }

  void range(const std::string& name, std::int64_t lo, std::int64_t hi) {
    Var var = add(name, int64, [=](const Assignment&) { return from_to(lo, hi); });
    facts.bind(var, {lo, hi});
  }

  void multiple(const std::string& name, std::int64_t step, int times) {
    Var var = add(name, int64, [=](const Assignment&) { return from_to(0, step * times, step); });
    facts.bind(var, {-1, step * times + 2});
    facts.bind_divisor(var, step);
  }

  void named(const std::string& name, const Expr& value) {
    Var var = add(name, int64, [=](const Assignment& a) {
      return std::vector<std::int64_t>{evaluate(value, a)};
    });
    facts.bind_value(var, value);
  }

  void unbounded(const std::string& name) {
    add(name, int64, [](const Assignment&) {
      return std::vector<std::int64_t>{INT64_MIN, INT64_MIN + 1, -5,       0,
                                       64,        INT64_MAX - 1, INT64_MAX};
    });
  }

  void narrow(const std::string& name) {
    add(name, int32, [](const Assignment&) {
      return std::vector<std::int64_t>{INT32_MIN, 3, INT32_MAX};
    });
  }

  void assign(std::size_t at, Assignment& values,
              const std::function<void(const Assignment&)>& visit) const {
    if (at == vars.size()) return visit(values);
    for (std::int64_t value : values_[at](values)) {
      values[vars[at].node()] = value;
      assign(at + 1, values, visit);
    }
  }

  Pick pick_;
  std::vector<Values> values_;
};

class RandomExpr {
 public:
  RandomExpr(const World& world, const Pick& pick) : world_(world), pick_(pick) {
    auto node = std::make_shared<BufferNode>();
    node->name = "B";
    node->dtype = int64;
    node->scope = Scope::shared;
    node->shape = {make_int(16)};
    buffer_ = Buffer(std::move(node));
  }

  Expr integer(int depth) {
    if (depth <= 0) return leaf();
    switch (pick_(0, 11)) {
      case 0: return leaf();
      case 1:
      case 2: return raw::binary(BinaryOp::add, integer(depth - 1), integer(depth - 1));
      case 3: return raw::binary(BinaryOp::sub, integer(depth - 1), integer(depth - 1));
      case 4: return raw::binary(BinaryOp::mul, integer(depth - 1), constant());
      case 5: return raw::binary(BinaryOp::div, dividend(depth), divisor(depth));
      case 6: return raw::binary(BinaryOp::mod, dividend(depth), divisor(depth));
      case 7: return raw::binary(BinaryOp::mul, integer(depth - 1), integer(depth - 1));
      case 8: return raw::binary(BinaryOp::min, integer(depth - 1), integer(depth - 1));
      case 9: return raw::binary(BinaryOp::max, integer(depth - 1), integer(depth - 1));
      case 10: return raw::select(condition(depth - 1), integer(depth - 1), integer(depth - 1));
      default: return rare(depth);
    }
  }

  Expr condition(int depth) {
    static constexpr BinaryOp orders[] = {BinaryOp::lt, BinaryOp::le, BinaryOp::gt,
                                          BinaryOp::ge, BinaryOp::eq, BinaryOp::ne};
    switch (depth <= 0 ? 0 : pick_(0, 4)) {
      case 1: return raw::unary(UnaryOp::logical_not, condition(depth - 1));
      case 2: return raw::binary(BinaryOp::logical_and, condition(depth - 1), condition(depth - 1));
      case 3: return raw::binary(BinaryOp::logical_or, condition(depth - 1), condition(depth - 1));
      case 4: {
        const Expr s = world_.vars.back();
        return raw::binary(orders[pick_(0, 5)], s, raw::cast(integer(depth - 1), int32));
      }
      default: return raw::binary(orders[pick_(0, 5)], integer(depth - 1), integer(depth - 1));
    }
  }

 private:
  Expr leaf() {
    const int count = static_cast<int>(world_.vars.size()) - 1;
    const int which = pick_(-2, count - 1);
    return which < 0 ? constant() : Expr(world_.vars[static_cast<std::size_t>(which)]);
  }

  Expr constant() {
    static constexpr std::int64_t values[] = {0,
                                              1,
                                              2,
                                              3,
                                              4,
                                              5,
                                              6,
                                              8,
                                              12,
                                              64,
                                              -1,
                                              -2,
                                              -4,
                                              -7,
                                              INT64_MAX,
                                              INT64_MIN,
                                              std::int64_t{1} << 62};
    const int last = pick_(0, 9) == 9 ? 16 : 13;
    return make_int(values[pick_(0, last)]);
  }

  // Often a row of tiles and a place in the tile.
  Expr dividend(int depth) {
    if (pick_(0, 1) == 0) return integer(depth - 1);
    const Expr row = raw::binary(BinaryOp::mul, integer(depth - 2), make_int(pick_(1, 6)));
    return raw::binary(BinaryOp::add, row, integer(depth - 2));
  }

  Expr divisor(int depth) { return pick_(0, 4) == 4 ? integer(depth - 1) : constant(); }

  Expr rare(int depth) {
    const Expr a = integer(depth - 1);
    switch (pick_(0, 8)) {
      case 0: return raw::unary(UnaryOp::neg, a);
      case 1: return raw::unary(UnaryOp::abs, a);
      case 2: return raw::binary(BinaryOp::shl, a, make_int(pick_(-1, 65)));
      case 3: return raw::binary(BinaryOp::shr, a, make_int(pick_(-1, 65)));
      case 4: return raw::binary(BinaryOp::bit_and, a, pick_(0, 1) ? constant() : make_int(7));
      case 5: return raw::binary(BinaryOp::bit_or, a, integer(depth - 1));
      case 6: return raw::binary(BinaryOp::bit_xor, a, integer(depth - 1));
      case 7: return raw::cast(raw::cast(a, pick_(0, 1) ? int32 : uint8), int64);
      default: return raw::load(buffer_, {a}, {});
    }
  }

  const World& world_;
  Pick pick_;
  Buffer buffer_;
};

}  // namespace tilecopy::ir::test
