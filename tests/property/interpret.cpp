#include "property/interpret.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilecopy::property {
namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// Who accessed the elements of one array.
class AccessLog {
 public:
  void note(std::int64_t place, bool write, int block) {
    auto [entry, fresh] = entries_.try_emplace(place, Entry{block, write, false});
    if (fresh) return;
    Entry& e = entry->second;
    e.shared |= e.block != block;
    e.written |= write;
    depend_ |= e.shared && e.written;
  }
  bool depend() const { return depend_; }

 private:
  struct Entry {
    int block;
    bool written;
    bool shared;
  };
  std::map<std::int64_t, Entry> entries_;
  bool depend_ = false;
};

class Interpreter {
 public:
  Interpreter(const Description& kernel, const Launch& launch, std::vector<Array>& arrays)
      : kernel_(kernel), launch_(launch), arrays_(arrays), logs_(arrays.size()) {
    for (std::size_t t = 0; t < arrays_.size(); ++t) {
      if (!kernel_.tensors[t].written) continue;
      arrays_[t].on_access = [this, t](std::int64_t place, bool write) {
        logs_[t].note(place, write, block_number_);
      };
    }
  }

  Outcome run() {
    Indices grid;
    for (const Affine& extent : kernel_.grid) grid.push_back(number(extent));
    std::reverse(grid.begin(), grid.end());
    for_each_index(grid, [&](const Indices& at) {
      blocks_.assign(at.rbegin(), at.rend());
      tiles_.clear();
      for (const Tile& tile : kernel_.tiles) {
        tiles_.push_back(Array::unknown(tile.dtype, tile.shape));
      }
      safe_.clear();
      statements(kernel_.body);
      ++block_number_;
    });
    Outcome outcome;
    outcome.unwritten_used = unwritten_used_;
    for (Array& array : arrays_) {
      array.on_access = {};
      outcome.unwritten_used |= array.stored_unknown();
    }
    for (const AccessLog& log : logs_) outcome.blocks_depend |= log.depend();
    return outcome;
  }

 private:
  // ---- Values ----

  std::int64_t extent(const Extent& e) const {
    return e.symbol < 0 ? e.constant : launch_.symbols[static_cast<std::size_t>(e.symbol)];
  }

  std::int64_t variable(const VarRef& var) const {
    const auto i = static_cast<std::size_t>(var.number);
    switch (var.kind) {
      case VarRef::symbol: return launch_.symbols[i];
      case VarRef::block: return blocks_[i];
      case VarRef::loop: return loops_.at(var.number);
      case VarRef::axis: return axes_.at(var.number);
    }
    return 0;
  }

  std::int64_t number(const Affine& a) {
    std::int64_t result = a.constant;
    for (const Affine::Term& term : a.terms) result += variable(term.var) * term.factor;
    result = floor_divide(result, a.divisor);
    if (a.modulus != 0) result -= floor_divide(result, a.modulus) * a.modulus;
    result += a.offset;
    if (a.lookup < 0) return result;
    return result + to_int64(load(a.lookup, {a.lookup_at}).scalar);
  }

  Array& array(int buffer) {
    const auto i = static_cast<std::size_t>(buffer);
    return kernel_.is_tensor(buffer) ? arrays_[i] : tiles_[i - arrays_.size()];
  }

  Scalar safe_value(int buffer) const {
    auto it = safe_.find(buffer);
    return it == safe_.end() ? Scalar{kernel_.dtype(buffer), 0} : it->second;
  }

  Value load(int buffer, const Indices& at) {
    const Array& from = array(buffer);
    if (!from.holds(at)) return {safe_value(buffer)};
    const Value value = from.load(at);
    unwritten_used_ |= !value.known;
    return value;
  }

  Indices numbers(const std::vector<Affine>& list) {
    Indices result;
    for (const Affine& a : list) result.push_back(number(a));
    return result;
  }

  Value value(const Node& node) {
    switch (node.kind) {
      case Node::constant:
      case Node::literal: return {constant(node)};
      case Node::index: return {from_int64(number(node.affine), node.dtype)};
      case Node::load: return load(node.buffer, numbers(node.at));
      case Node::cast: return value(node.operands[0]).as(node.dtype);
      case Node::unary: {
        const Value a = value(node.operands[0]);
        return result(node.op, apply(node.op, a.scalar), a.known);
      }
      case Node::binary: {
        const Value a = value(node.operands[0]);
        const Value b = value(node.operands[1]);
        return result(node.op, apply(node.op, a.scalar, b.scalar), a.known && b.known);
      }
      case Node::select: {
        Value condition = value(node.operands[0]);
        Value chosen = value(node.operands[condition.scalar.bits != 0 ? 1 : 2]);
        return {chosen.scalar, chosen.known && condition.known, chosen.any_nan};
      }
    }
    return {};
  }

  static Value result(Op op, Scalar value, bool known) {
    const bool native = value.dtype == float32 || value.dtype == float64;
    const bool exact = op == Op::min || op == Op::max || op == Op::abs;
    return {value, known, native && !exact && is_nan(value)};
  }

  static Scalar constant(const Node& node) {
    // By way of a narrower dtype, a NaN of float64 becomes the one that all constants share.
    if (std::isnan(node.number)) return convert(from_double(node.number, float32), node.dtype);
    if (is_real(node.dtype)) return from_double(node.number, node.dtype);
    return from_int64(static_cast<std::int64_t>(node.number), node.dtype);
  }

  // ---- Operands ----

  Region region(const Side& side) {
    Region result{&array(side.buffer), {}, {}};
    if (side.form == Side::whole) {
      result.extent = result.array->shape();
      result.origin.resize(result.extent.size());
      return result;
    }
    for (const Side::Dim& dim : side.dims) {
      result.origin.push_back(number(dim.origin));
      const bool range = side.form == Side::region && dim.range;
      result.extent.push_back(range ? extent(dim.extent) : 1);
    }
    return result;
  }

  // The extents as they are written, which tell which dimensions are 1 in the program's eyes.
  std::vector<Extent> written_extents(const Side& side) const {
    if (side.form == Side::whole) return kernel_.shape(side.buffer);
    std::vector<Extent> result;
    for (const Side::Dim& dim : side.dims) {
      result.push_back(side.form == Side::region && dim.range ? dim.extent : Extent{});
    }
    return result;
  }

  // A bare element takes the other side's last extents; those of 1 are left out if need be.
  void borrow(const Side& element, Region& to, const Side& lender) const {
    if (element.form != Side::element || lender.form == Side::element) return;
    std::vector<Extent> lent = written_extents(lender);
    if (lent.size() > to.extent.size()) {
      std::erase_if(lent, [](const Extent& e) { return e.is_unit(); });
    }
    const std::size_t first = to.extent.size() - lent.size();
    for (std::size_t d = 0; d < lent.size(); ++d) to.extent[first + d] = extent(lent[d]);
  }

  void move(const Statement& s, bool swap) {
    Region src = region(s.src);
    Region dst = region(s.dst);
    borrow(s.src, src, s.dst);
    borrow(s.dst, dst, s.src);
    const std::size_t rank = dst.extent.size();
    if (swap && s.dst.form == Side::element && s.src.form != Side::element) {
      std::swap(dst.extent[rank - 1], dst.extent[rank - 2]);
    }
    if (swap && s.src.form == Side::element && s.dst.form != Side::element) {
      std::swap(src.extent[rank - 1], src.extent[rank - 2]);
    }
    const Scalar safe = safe_value(s.src.buffer);
    swap ? property::transpose(src, dst, safe) : property::copy(src, dst, safe);
  }

  // ---- Statements ----

  void element_loop(const Statement& s) {
    Indices extents;
    for (const Extent& e : s.extents) extents.push_back(extent(e));
    Array& to = array(s.dst.buffer);
    for_each_index(extents, [&](const Indices& i) {
      for (std::size_t d = 0; d < i.size(); ++d) axes_[s.first_axis + static_cast<int>(d)] = i[d];
      const Indices at = numbers(s.at);
      // Computed in any case: a kernel may read for nothing.
      const Value result = value(s.value).as(to.dtype());
      if (to.holds(at)) to.store(at, result);
    });
  }

  void nested(const std::vector<Statement>& body) {
    const auto outside = safe_;
    statements(body);
    safe_ = outside;
  }

  void statement(const Statement& s) {
    switch (s.kind) {
      case Statement::copy: return move(s, false);
      case Statement::transpose: return move(s, true);
      case Statement::fill: return property::fill(region(s.dst), value(s.value));
      case Statement::element: return element_loop(s);
      case Statement::safe_value:
        safe_[s.dst.buffer] = convert(value(s.value).scalar, kernel_.dtype(s.dst.buffer));
        return;
      case Statement::loop:
        for (std::int64_t i = 0; i < extent(s.trips); ++i) {
          loops_[s.loop_number] = s.begin + i;
          nested(s.body);
        }
        return;
      case Statement::branch: return nested(value(s.value).scalar.bits != 0 ? s.body : s.else_body);
    }
  }

  void statements(const std::vector<Statement>& body) {
    for (const Statement& s : body) statement(s);
  }

  const Description& kernel_;
  const Launch& launch_;
  std::vector<Array>& arrays_;
  bool unwritten_used_ = false;
  std::vector<AccessLog> logs_;
  std::vector<Array> tiles_;
  Indices blocks_;
  int block_number_ = 0;
  std::map<int, std::int64_t> loops_, axes_;
  std::map<int, Scalar> safe_;
};

}  // namespace

std::vector<Array> make_arrays(const Description& kernel, const Launch& launch) {
  std::vector<Array> arrays;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    const Tensor& tensor = kernel.tensors[t];
    Indices shape;
    for (const Extent& e : tensor.shape) {
      shape.push_back(e.symbol < 0 ? e.constant
                                   : launch.symbols[static_cast<std::size_t>(e.symbol)]);
    }
    Indices strides = tensor.strides == Tensor::row_major  ? dense_strides(shape)
                      : tensor.strides == Tensor::constant ? tensor.constant_strides
                                                           : launch.strides[t];
    arrays.emplace_back(tensor.dtype, shape, strides, launch.shifts[t]);
    arrays.back().fill_random(launch.contents + t);
    if (!tensor.index_table) continue;
    arrays.back().for_each([&](const Indices& at) {
      const std::int64_t small = static_cast<std::int64_t>(launch.contents % 7) + at[0] * 3 - 4;
      arrays.back().store(at, {from_int64(small, tensor.dtype)});
    });
  }
  return arrays;
}

Outcome interpret(const Description& kernel, const Launch& launch, std::vector<Array>& arrays) {
  return Interpreter(kernel, launch, arrays).run();
}

}  // namespace tilecopy::property
