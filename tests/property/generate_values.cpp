#include "property/generate_values.h"

#include <cmath>
#include <limits>

namespace tilecopy::property {

DType ValueGenerator::dtype() { return static_cast<DType>(random_.below(dtype_count)); }

std::int64_t ValueGenerator::about(const Extent& room) {
  const std::int64_t size = room.symbol < 0 ? room.constant : 9;
  return random_.between(-3, size + 2);
}

Affine ValueGenerator::origin(const Extent& room, const Extent& extent) {
  Affine a;
  const std::int64_t step = random_.chance(60) && extent.symbol < 0 && extent.constant > 0
                                ? extent.constant
                                : random_.pick({1, 2, 3, 4, 7, 8, -1, -5});
  const int choice = random_.below(100);
  if (choice < 25) return a;
  if (choice < 45) {
    a.constant = about(room);
  } else if (choice < 80 && !vars.empty()) {
    a.terms.push_back({step, random_.pick(vars)});
    if (random_.chance(40)) a.constant = random_.between(-5, 5);
    if (random_.chance(25)) a.terms.push_back({random_.between(-2, 4), random_.pick(vars)});
  } else if (choice < 86 && kernel_.symbols > 0) {
    a.terms.push_back(
        {random_.pick({1, 1, -1, 2}), {VarRef::symbol, random_.below(kernel_.symbols)}});
    a.constant = random_.between(-9, 3);
  } else if (choice < 92 && !vars.empty()) {
    a.terms.push_back({random_.between(-3, 5), random_.pick(vars)});
    a.constant = random_.between(-9, 9);
    if (random_.chance(50)) a.divisor = random_.pick({2, 3, 8, -2});
    if (random_.chance(50)) a.modulus = random_.pick({1, 2, 5, 8, -3});
    a.offset = random_.between(-2, 4);
  } else if (choice < 95) {
    const std::int64_t far =
        random_.pick({100, 1000, 1 << 20}) * (random_.chance(20) ? std::int64_t{1} << 20 : 1);
    a.constant = random_.chance(50) ? far : -far;
  } else {
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t) {
      if (!kernel_.tensors[t].index_table) continue;
      a.lookup = static_cast<int>(t);
      a.lookup_at = random_.between(-1, 4);
    }
  }
  return a;
}

Affine ValueGenerator::index(const Extent& room) {
  std::vector<VarRef> axes;
  for (const VarRef& var : vars) {
    if (var.kind == VarRef::axis) axes.push_back(var);
  }
  if (axes.empty() || random_.chance(20)) return origin(room, {1, -1});
  Affine a;
  a.terms.push_back({random_.pick({1, 1, 1, 1, 2, -1}), random_.pick(axes)});
  if (random_.chance(35)) a.constant = about(room);
  if (random_.chance(15)) a.terms.push_back({random_.between(-2, 8), random_.pick(vars)});
  if (random_.chance(10)) a.modulus = random_.pick({2, 3, 8});
  if (random_.chance(10)) a.divisor = random_.pick({2, 3, 4});
  return a;
}

// ---- Elements ----

Node ValueGenerator::constant(DType dtype) {
  Node node;
  node.dtype = dtype;
  if (dtype == bool_) {
    node.number = random_.below(2);
  } else if (is_real(dtype)) {
    node.number = random_.pick({0.0, -0.0, 1.0, 2.0, -1.5, 0.1, -99.0, 1e30, 3.0e-7, 60000.0});
    if (random_.chance(8)) node.number = std::numeric_limits<double>::infinity();
    if (random_.chance(8)) node.number = std::nan("");
  } else if (is_signed(dtype)) {
    node.number = random_.pick({0, 1, 2, 3, 7, -1, -2, -3, -99, 127, -128});
  } else {
    node.number = random_.pick({0, 1, 2, 3, 7, 64, 100, 255});
  }
  return node;
}

Node ValueGenerator::load(DType dtype, const Statement* own) {
  const int buffers = static_cast<int>(kernel_.tensors.size() + kernel_.tiles.size());
  Node node;
  node.kind = Node::load;
  node.buffer = random_.chance(40) && own ? own->dst.buffer : random_.below(buffers);
  if (own && node.buffer == own->dst.buffer) {
    node.at = own->at;
  } else {
    for (const Extent& room : kernel_.shape(node.buffer)) node.at.push_back(index(room));
  }
  node.dtype = kernel_.dtype(node.buffer);
  if (node.dtype == dtype) return node;
  Node outer;
  outer.kind = Node::cast;
  outer.dtype = dtype;
  outer.operands.push_back(std::move(node));
  return outer;
}

Node ValueGenerator::leaf(DType dtype, const Statement* own) {
  const int choice = random_.below(10);
  if (choice < 6 && own) return load(dtype, own);
  if (choice < 8 || vars.empty()) return constant(dtype);
  Node node;
  node.kind = Node::index;
  node.dtype = dtype;
  node.affine.terms.push_back({random_.between(-3, 5), random_.pick(vars)});
  node.affine.constant = random_.between(-20, 20);
  if (random_.chance(30)) node.affine.divisor = random_.pick({2, 3, 5, -4});
  if (random_.chance(30)) node.affine.modulus = random_.pick({2, 3, 7, -5});
  return node;
}

Node ValueGenerator::unary(Op op, DType dtype, Node a) {
  Node node;
  node.kind = Node::unary;
  node.op = op;
  node.dtype = dtype;
  node.operands.push_back(std::move(a));
  return node;
}

Node ValueGenerator::binary(Op op, DType dtype, Node a, Node b) {
  Node node;
  node.kind = Node::binary;
  node.op = op;
  node.dtype = dtype;
  node.operands.push_back(std::move(a));
  node.operands.push_back(std::move(b));
  return node;
}

Node ValueGenerator::branch_of(DType dtype, int depth, const Statement* own) {
  Node node;
  node.kind = Node::select;
  node.dtype = dtype;
  node.operands.push_back(value(bool_, depth - 1, own));
  node.operands.push_back(value(dtype, depth - 1, own));
  node.operands.push_back(value(dtype, depth - 1, own));
  return node;
}

Node ValueGenerator::real_value(DType dtype, int depth, const Statement* own) {
  if (random_.chance(25)) {
    return unary(random_.pick({Op::neg, Op::abs, Op::sqrt, Op::floor}), dtype,
                 value(dtype, depth - 1, own));
  }
  const Op op = random_.pick({Op::add, Op::sub, Op::mul, Op::mul, Op::div, Op::min, Op::max});
  return binary(op, dtype, value(dtype, depth - 1, own), value(dtype, depth - 1, own));
}

Node ValueGenerator::integer_value(DType dtype, int depth, const Statement* own) {
  if (random_.chance(15)) {
    return unary(random_.pick({Op::neg, Op::abs}), dtype, value(dtype, depth - 1, own));
  }
  const Op op =
      random_.pick({Op::add, Op::sub, Op::mul, Op::div, Op::div, Op::mod, Op::mod, Op::min, Op::max,
                    Op::shl, Op::shr, Op::bit_and, Op::bit_or, Op::bit_xor});
  return binary(op, dtype, value(dtype, depth - 1, own), value(dtype, depth - 1, own));
}

Node ValueGenerator::bool_value(int depth, const Statement* own) {
  const int choice = random_.below(4);
  if (choice == 0) return unary(Op::logical_not, bool_, value(bool_, depth - 1, own));
  if (choice == 1) {
    return binary(random_.pick({Op::logical_and, Op::logical_or}), bool_,
                  value(bool_, depth - 1, own), value(bool_, depth - 1, own));
  }
  DType compared = dtype();
  if (compared == bool_) compared = int64;
  const Op op = random_.pick({Op::lt, Op::le, Op::gt, Op::ge, Op::eq, Op::ne});
  return binary(op, bool_, value(compared, depth - 1, own), value(compared, depth - 1, own));
}

Node ValueGenerator::value(DType dtype, int depth, const Statement* own) {
  if (depth <= 0 || random_.chance(10)) return leaf(dtype, own);
  if (random_.chance(15)) {
    Node node;
    node.kind = Node::cast;
    node.dtype = dtype;
    node.operands.push_back(value(this->dtype(), depth - 1, own));
    return node;
  }
  if (random_.chance(15)) return branch_of(dtype, depth, own);
  if (dtype == bool_) return bool_value(depth, own);
  Node node = is_real(dtype) ? real_value(dtype, depth, own) : integer_value(dtype, depth, own);
  // As people write it: tile * 2.
  if (node.operands.size() == 2 && random_.chance(25) && node.operands[0].kind != Node::constant) {
    Node two;
    two.kind = Node::literal;
    two.dtype = dtype;
    two.number = random_.pick({1, 2, 3});
    node.operands[1] = two;
  }
  return node;
}

Node ValueGenerator::condition() {
  Node left, right = constant(int64);
  left.kind = Node::index;
  left.dtype = int64;
  if (!vars.empty()) left.affine.terms.push_back({random_.pick({1, 1, 2, -1}), random_.pick(vars)});
  left.affine.constant = random_.between(-2, 2);
  right.number = random_.below(4);
  return binary(random_.pick({Op::lt, Op::ge, Op::eq, Op::ne, Op::le, Op::gt}), bool_, left, right);
}

FragmentData ValueGenerator::fragment(const std::vector<std::int64_t>& extents) {
  FragmentData data;
  std::int64_t threads = 1, registers = 1;
  for (std::int64_t extent : extents) {
    std::vector<std::int64_t> parts = {extent};
    for (std::int64_t part : {4, 3, 2}) {
      if (extent > part && extent % part == 0 && random_.chance(50)) {
        parts = {part, extent / part};
        break;
      }
    }
    data.thread.emplace_back();
    data.reg.emplace_back();
    for (std::int64_t part : parts) {
      const bool to_thread = threads * part <= kernel_.threads && random_.chance(70);
      data.thread.back().push_back({part, to_thread ? threads : 0});
      data.reg.back().push_back({part, to_thread ? 0 : registers});
      (to_thread ? threads : registers) *= part;
    }
  }
  return data;
}

}  // namespace tilecopy::property
