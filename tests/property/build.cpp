// Writes a description as a tilecopy function, through the C++ surface.
#include <fmt/format.h>

#include "property/description.h"
#include "tilecopy/cuda.h"

namespace tilecopy::property {
namespace {

Layout layout_of(const std::vector<std::vector<Digit>>& dims) {
  std::vector<IntTuple> shape, stride;
  for (const std::vector<Digit>& digits : dims) {
    std::vector<IntTuple> extents, strides;
    for (const Digit& digit : digits) {
      extents.emplace_back(digit.extent);
      strides.emplace_back(digit.stride);
    }
    const bool nested = digits.size() > 1;
    shape.push_back(nested ? IntTuple(extents) : extents[0]);
    stride.push_back(nested ? IntTuple(strides) : strides[0]);
  }
  return Layout(IntTuple(shape), IntTuple(stride));
}

TileLayout tile_layout(const Tile& tile) {
  const TileLayoutData& data = *tile.layout;
  if (data.tma_span > 0) {
    return swizzled_row_major(tile.shape, width_of(tile.dtype), data.tma_span);
  }
  std::optional<Swizzle> swizzle;
  if (data.swizzle) swizzle.emplace((*data.swizzle)[0], (*data.swizzle)[1], (*data.swizzle)[2]);
  return TileLayout(layout_of(data.digits), swizzle);
}

Fragment fragment_of(const FragmentData& data) {
  std::vector<std::int64_t> shape;
  for (const std::vector<Digit>& digits : data.thread) {
    shape.push_back(1);
    for (const Digit& digit : digits) shape.back() *= digit.extent;
  }
  return Fragment(shape, layout_of(data.thread), layout_of(data.reg));
}

Expr apply_op(Op op, const Expr& a, const Expr& b) {
  switch (op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    case Op::div: return a / b;
    case Op::mod: return a % b;
    case Op::min: return min(a, b);
    case Op::max: return max(a, b);
    case Op::shl: return a << b;
    case Op::shr: return a >> b;
    case Op::bit_and: return a & b;
    case Op::bit_or: return a | b;
    case Op::bit_xor: return a ^ b;
    case Op::lt: return a < b;
    case Op::le: return a <= b;
    case Op::gt: return a > b;
    case Op::ge: return a >= b;
    case Op::eq: return a == b;
    case Op::ne: return a != b;
    case Op::logical_and: return a && b;
    default: return a || b;
  }
}

Expr apply_op(Op op, const Expr& a) {
  switch (op) {
    case Op::neg: return -a;
    case Op::abs: return abs(a);
    case Op::sqrt: return sqrt(a);
    case Op::floor: return floor(a);
    default: return !a;
  }
}

class Writer {
 public:
  explicit Writer(const Description& kernel) : kernel_(kernel) {}

  void write() {
    for (int s = 0; s < kernel_.symbols; ++s) symbols_.push_back(symbol(fmt::format("n{}", s)));
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t) tensor_of(t);
    std::vector<Expr> grid;
    for (const Affine& extent : kernel_.grid) grid.push_back(affine(extent));
    blocks_ = kernel_grid(grid, {.threads = kernel_.threads}, SourceLocation::current());
    for (const Tile& tile : kernel_.tiles) alloc(tile);
    statements(kernel_.body);
  }

 private:
  Expr extent(const Extent& e) const {
    return e.symbol < 0 ? Expr(e.constant) : symbols_[static_cast<std::size_t>(e.symbol)];
  }

  void tensor_of(std::size_t t) {
    const Tensor& data = kernel_.tensors[t];
    std::vector<Expr> shape, strides;
    for (std::size_t d = 0; d < data.shape.size(); ++d) {
      shape.push_back(extent(data.shape[d]));
      if (data.strides == Tensor::row_major) continue;
      const bool one = data.strides == Tensor::inner_one && d + 1 == data.shape.size();
      if (data.strides == Tensor::constant) {
        strides.emplace_back(data.constant_strides[d]);
      } else {
        strides.push_back(one ? Expr(1) : symbol(fmt::format("s{}_{}", t, d)));
      }
    }
    buffers_.push_back(tensor(fmt::format("T{}", t), shape, data.dtype, strides));
  }

  void alloc(const Tile& tile) {
    std::vector<Expr> shape(tile.shape.begin(), tile.shape.end());
    const std::string name = fmt::format("t{}", buffers_.size());
    Buffer buffer = tile.scope == Scope::shared     ? alloc_shared(shape, tile.dtype, name)
                    : tile.scope == Scope::fragment ? alloc_fragment(shape, tile.dtype, name)
                                                    : alloc_local(shape, tile.dtype, name);
    if (tile.layout) annotate_layout(buffer, tile_layout(tile));
    if (tile.fragment) annotate_layout(buffer, fragment_of(*tile.fragment));
    buffers_.push_back(buffer);
  }

  Expr variable(const VarRef& var) const {
    const auto i = static_cast<std::size_t>(var.number);
    switch (var.kind) {
      case VarRef::symbol: return symbols_[i];
      case VarRef::block: return blocks_[i];
      case VarRef::loop: return loops_[i];
      case VarRef::axis: return axes_[i];
    }
    return {};
  }

  Expr affine(const Affine& a) const {
    Expr result = a.constant;
    for (const Affine::Term& term : a.terms) result = result + variable(term.var) * term.factor;
    if (a.divisor != 1) result = result / a.divisor;
    if (a.modulus != 0) result = result % a.modulus;
    result = result + a.offset;
    if (a.lookup < 0) return result;
    return result + cast(Expr(Access(buffer(a.lookup), {a.lookup_at})), int64);
  }

  const Buffer& buffer(int number) const { return buffers_[static_cast<std::size_t>(number)]; }

  Access access(int number, const std::vector<Affine>& at) const {
    std::vector<Index> indices;
    for (const Affine& a : at) indices.emplace_back(affine(a));
    return Access(buffer(number), indices);
  }

  Expr value(const Node& node) const {
    auto operand = [&](std::size_t i) { return value(node.operands[i]); };
    switch (node.kind) {
      case Node::constant: return constant(node);
      case Node::literal: return Expr(static_cast<std::int64_t>(node.number));
      case Node::index: return cast(affine(node.affine), node.dtype);
      case Node::load: return access(node.buffer, node.at);
      case Node::unary: return apply_op(node.op, operand(0));
      case Node::binary: return apply_op(node.op, operand(0), operand(1));
      case Node::select: return select(operand(0), operand(1), operand(2));
      case Node::cast: return cast(operand(0), node.dtype);
    }
    return {};
  }

  static Expr constant(const Node& node) {
    if (is_real(node.dtype)) return cast(Expr(node.number), node.dtype);
    return cast(Expr(static_cast<std::int64_t>(node.number)), node.dtype);
  }

  Operand operand(const Side& side) const {
    if (side.form == Side::whole) return buffer(side.buffer);
    std::vector<Index> indices;
    for (const Side::Dim& dim : side.dims) {
      Expr origin = affine(dim.origin);
      if (side.form == Side::region && dim.range) {
        indices.emplace_back(range(origin, origin + extent(dim.extent)));
      } else {
        indices.emplace_back(origin);
      }
    }
    return Access(buffer(side.buffer), indices);
  }

  static Annotations annotations(const Hint& hint) {
    Annotations result;
    if (hint.route == Hint::option) return result;
    if (hint.coalesced_width) result.emplace("coalesced_width", *hint.coalesced_width);
    if (hint.disable_tma) result.emplace("disable_tma", true);
    if (hint.eviction_policy) result.emplace("eviction_policy", *hint.eviction_policy);
    if (hint.prefer_instruction) result.emplace("prefer_instruction", *hint.prefer_instruction);
    if (hint.loop_layout) result.emplace("loop_layout", fragment_of(*hint.loop_layout));
    return result;
  }

  void copy_statement(const Statement& s) const {
    const Hint& hint = s.hint;
    const bool option = hint.route != Hint::annotation;
    std::optional<std::int64_t> width;
    std::optional<Fragment> loops;
    if (option && hint.coalesced_width) width = *hint.coalesced_width;
    if (option && hint.loop_layout) loops = fragment_of(*hint.loop_layout);
    // The annotation beats an option that differs from it.
    if (hint.route == Hint::both && width) width = *width == 4 ? 8 : 4;
    if (!hint.cuda) {
      copy(operand(s.src), operand(s.dst),
           {.coalesced_width = width, .annotations = annotations(hint), .loop_layout = loops});
      return;
    }
    cuda::CopyOptions options{.coalesced_width = width,
                              .disable_tma = option && hint.disable_tma,
                              .annotations = annotations(hint),
                              .loop_layout = loops};
    if (option && hint.eviction_policy) options.eviction_policy = *hint.eviction_policy;
    if (option && hint.prefer_instruction) options.prefer_instruction = *hint.prefer_instruction;
    cuda::copy(operand(s.src), operand(s.dst), options);
  }

  void element_loop(const Statement& s) {
    std::vector<Expr> extents;
    for (const Extent& e : s.extents) extents.push_back(extent(e));
    ParallelOptions options;
    if (s.hint.coalesced_width) options.coalesced_width = *s.hint.coalesced_width;
    if (s.hint.loop_layout) options.loop_layout = fragment_of(*s.hint.loop_layout);
    parallel_loop(
        extents,
        [&](const std::vector<Var>& vars) {
          axes_.resize(static_cast<std::size_t>(s.first_axis) + vars.size());
          std::copy(vars.begin(), vars.end(), axes_.begin() + s.first_axis);
          Expr stored = value(s.value);
          if (s.through_local) {
            Buffer local = alloc_local({2}, stored.dtype());
            local(1) = stored;
            stored = local(1);
          }
          access(s.dst.buffer, s.at) = stored;
        },
        options, SourceLocation::current());
  }

  void loop(const Statement& s) {
    auto body = [&](Var var) {
      loops_.resize(std::max(loops_.size(), static_cast<std::size_t>(s.loop_number) + 1));
      loops_[static_cast<std::size_t>(s.loop_number)] = var;
      statements(s.body);
    };
    if (s.unrolled) return unrolled(extent(s.trips), body);
    if (s.begin == 0) return serial(extent(s.trips), body);
    serial(Expr(s.begin), Expr(s.begin) + extent(s.trips), body);
  }

  void branch(const Statement& s) {
    if (s.else_body.empty()) return if_then(value(s.value), [&] { statements(s.body); });
    if_then(
        value(s.value), [&] { statements(s.body); }, [&] { statements(s.else_body); });
  }

  void statements(const std::vector<Statement>& body) {
    for (const Statement& s : body) {
      switch (s.kind) {
        case Statement::copy: copy_statement(s); break;
        case Statement::transpose: transpose(operand(s.src), operand(s.dst)); break;
        case Statement::fill: fill(operand(s.dst), value(s.value)); break;
        case Statement::element: element_loop(s); break;
        case Statement::safe_value:
          annotate_safe_value(buffer(s.dst.buffer), value(s.value));
          break;
        case Statement::loop: loop(s); break;
        case Statement::branch: branch(s); break;
      }
    }
  }

  const Description& kernel_;
  std::vector<Buffer> buffers_;
  std::vector<Expr> symbols_;
  std::vector<Var> blocks_, loops_, axes_;
};

}  // namespace

Function build(const Description& kernel) {
  return function(fmt::format("k{}", kernel.seed), [&] { Writer(kernel).write(); });
}

}  // namespace tilecopy::property
