#include "copy/partition.h"

#include "copy/address.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

Expr add(const Expr& a, const Expr& b) { return make_binary(BinaryOp::add, a, b); }
Expr mul(const Expr& a, const Expr& b) { return make_binary(BinaryOp::mul, a, b); }
Expr div(const Expr& a, const Expr& b) { return make_binary(BinaryOp::div, a, b); }
Expr mod(const Expr& a, const Expr& b) { return make_binary(BinaryOp::mod, a, b); }

Expr both(const Expr& a, const Expr& b) {
  return a.defined() ? make_binary(BinaryOp::logical_and, a, b) : b;
}

// Adds `condition` unless it is proved.
void require(Expr& conditions, const Expr& condition, const ir::Facts& facts) {
  Expr simple = facts.simplify(condition);
  if (!ir::is_const_int(simple, 1)) conditions = both(conditions, simple);
}

}  // namespace

Partition Partition::linear(std::vector<Expr> extents, std::vector<std::size_t> order, int threads,
                            int vector) {
  Partition result;
  result.extents_ = std::move(extents);
  result.order_ = std::move(order);
  result.threads_ = threads;
  result.vector_ = vector;
  result.axis_ = result.order_.empty() ? -1 : static_cast<int>(result.order_.back());
  return result;
}

Partition Partition::of_fragment(const Fragment& fragment, std::vector<int> axes,
                                 std::vector<Expr> origin, std::vector<Expr> extents, int vector,
                                 int threads) {
  Partition result;
  result.is_fragment_ = true;
  result.fragment_ = fragment;
  result.axes_ = std::move(axes);
  result.origin_ = std::move(origin);
  result.extents_ = std::move(extents);
  result.vector_ = vector;
  result.threads_ = threads;
  int dim = -1;
  if (vector > 1) fragment_vector(fragment, vector, &dim);
  result.axis_ = dim < 0 ? -1 : result.axes_[static_cast<std::size_t>(dim)];
  return result;
}

Expr Partition::rounds() const {
  if (is_fragment_) return make_int(fragment_.registers() / vector_);
  Expr total = make_int(1);
  for (const Expr& extent : extents_) total = mul(total, extent);
  std::int64_t share = std::int64_t{threads_} * vector_;
  return div(add(total, make_int(share - 1)), make_int(share));
}

Group Partition::group(const Expr& thread, const Expr& round, const ir::Facts& facts) const {
  Group group;
  group.loops.resize(extents_.size(), make_int(0));
  if (is_fragment_) {
    group.reg = facts.simplify(mul(round, make_int(vector_)));
    std::int64_t holders = fragment_.threads();
    if (holders < threads_) {
      require(group.exists, make_binary(BinaryOp::lt, thread, make_int(holders)), facts);
    }
    const std::vector<Layout> inverse = fragment_.inverse();
    for (std::size_t d = 0; d < inverse.size(); ++d) {
      Expr coordinate = facts.simplify(add(layout_offset(inverse[d].mode(0).flat(), thread),
                                           layout_offset(inverse[d].mode(1).flat(), group.reg)));
      Expr loop = facts.simplify(make_binary(BinaryOp::sub, coordinate, origin_[d]));
      if (axes_[d] < 0) {
        require(group.exists, make_binary(BinaryOp::eq, loop, make_int(0)), facts);
        continue;
      }
      auto axis = static_cast<std::size_t>(axes_[d]);
      group.loops[axis] = loop;
      require(group.exists, make_binary(BinaryOp::ge, loop, make_int(0)), facts);
      require(group.exists, make_binary(BinaryOp::lt, loop, extents_[axis]), facts);
    }
    return group;
  }
  Expr place = thread;
  if (threads_ == 1) place = make_int(0);
  Expr element = mul(add(mul(round, make_int(threads_)), place), make_int(vector_));
  Expr total = make_int(1);
  for (const Expr& extent : extents_) total = mul(total, extent);
  require(group.exists, make_binary(BinaryOp::lt, element, total), facts);
  Expr rest = element;
  for (std::size_t k = order_.size(); k-- > 0;) {
    const Expr& extent = extents_[order_[k]];
    group.loops[order_[k]] = facts.simplify(k == 0 ? rest : mod(rest, extent));
    if (k > 0) rest = div(rest, extent);
  }
  return group;
}

int fragment_vector(const Fragment& fragment, int most, int* dim) {
  const std::vector<Layout> inverse = fragment.inverse();
  *dim = -1;
  int best = 1;
  for (std::size_t d = 0; d < inverse.size(); ++d) {
    // Other dimensions must not move, and coordinates start at multiples, within a group.
    std::vector<Mode> own = coalesce(inverse[d].mode(1)).flat();
    std::int64_t run = own.empty() || own[0].stride != 1 ? 1 : own[0].extent;
    for (std::size_t other = 0; other < inverse.size(); ++other) {
      if (other == d) continue;
      std::int64_t still = 1;
      for (const Mode& digit : inverse[other].mode(1).flat()) {
        if (digit.extent > 1 && digit.stride != 0) break;
        still *= digit.extent;
      }
      if (still < run) run = still;
    }
    int p = 1;
    auto fits = [&](std::int64_t k) {
      if (run % k != 0) return false;
      for (const Mode& digit : inverse[d].mode(0).flat()) {
        if (digit.extent > 1 && digit.stride % k != 0) return false;
      }
      std::vector<Mode> regs = own;
      for (std::size_t i = 1; i < regs.size(); ++i) {
        if (regs[i].extent > 1 && regs[i].stride % k != 0) return false;
      }
      return true;
    };
    while (p * 2 <= most && fits(p * 2)) p *= 2;
    if (p > best) {
      best = p;
      *dim = static_cast<int>(d);
    }
  }
  return best;
}

}  // namespace tilecopy::planner
