#include "language/random_kernel.h"

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <limits>

#include "ir/make.h"
#include "language/builder.h"
#include "tilecopy/error.h"

namespace tilecopy::test {
namespace {

using ir::BinaryOp;
using ir::UnaryOp;
using language::Builder;
using language::HintValues;

constexpr std::array unary_ops = {
#define TILECOPY_UNARY(name, text, operands) UnaryOp::name,
#include "ir/ops.def"
};
constexpr std::array binary_ops = {
#define TILECOPY_BINARY(name, text, precedence, operands, result) BinaryOp::name,
#include "ir/ops.def"
};

int below(int end) { return *rc::gen::inRange(0, end); }
bool coin() { return below(2) == 1; }
template <typename List>
const auto& pick(const List& list) {
  return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
}
DType any_dtype() { return static_cast<DType>(below(dtype_count)); }

// Some are words of the text form.
std::string any_name() {
  static const std::vector<std::string> names = {
      "A",       "B",       "i",      "k",        "k_1",      "x",        "copy", "for",
      "if",      "true",    "load",   "safe",     "layout",   "min",      "inf",  "else",
      "let",     "block",   "instr",  "instr",    "fill",     "false",    "step", "kernel",
      "threads", "float16", "select", "fragment", "parallel", "unrolled", "o"};
  return pick(names);
}

// Expressions over the variables and buffers that are in scope.
class Exprs {
 public:
  virtual ~Exprs() = default;

  std::vector<Var> vars;
  std::vector<Buffer> buffers;

  Expr of(DType dtype, int depth) {
    try {
      return ir::coerce(any(dtype, depth), dtype);
    } catch (const UserError&) {  // an overflow, or operands that do not mix
      return ir::make_zero(dtype);
    }
  }
  Expr index(int depth = 2) { return of(int64, depth); }

 protected:
  virtual Expr load(const Buffer& buffer, int depth) = 0;

 private:
  Expr any(DType dtype, int depth) {
    if (depth == 0) return leaf(dtype);
    switch (below(7)) {
      case 0: return ir::make_cast(of(any_dtype(), depth - 1), dtype);
      case 1: return ir::make_unary(pick(unary_ops), of(dtype, depth - 1));
      case 2:
        return ir::make_select(of(bool_, depth - 1), of(dtype, depth - 1), of(dtype, depth - 1));
      case 3:
        if (!buffers.empty()) return load(pick(buffers), depth);
        return leaf(dtype);
      case 4: {  // a comparison's operands have another dtype than its result
        const DType operands = dtype == bool_ ? any_dtype() : dtype;
        return ir::make_binary(pick(binary_ops), of(operands, depth - 1), of(operands, depth - 1));
      }
      case 5: return ir::make_binary(pick(binary_ops), of(dtype, depth - 1), below(100) - 50);
      default: return leaf(dtype);
    }
  }

  Expr leaf(DType dtype) {
    std::vector<Var> fitting;
    for (const Var& var : vars) {
      if (var.dtype() == dtype) fitting.push_back(var);
    }
    if (!fitting.empty() && coin()) return pick(fitting);
    return is_float(dtype) ? float_constant(dtype) : int_constant(dtype);
  }

  static Expr float_constant(DType dtype) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    const std::vector<double> special = {
        0.0, -0.0, inf,  -inf, std::numeric_limits<double>::quiet_NaN(), 1e300, 5e-324,
        0.1, -1.5, 1e22, 448.0};
    return ir::make_float(coin() ? pick(special) : below(1000) / 7.0, dtype);
  }

  static Expr int_constant(DType dtype) {
    const std::vector<std::int64_t> special = {0,
                                               1,
                                               -1,
                                               std::numeric_limits<std::int64_t>::min(),
                                               std::numeric_limits<std::int64_t>::max(),
                                               255,
                                               -128};
    return ir::make_int(coin() ? pick(special) : below(100), dtype);
  }
};

// ---- The tile level ----

class TileKernel : public Exprs {
 public:
  std::shared_ptr<const ir::Kernel> make() {
    params();
    std::vector<Expr> grid;
    std::vector<std::string> names;
    for (int d = below(3); d >= 0; --d) {
      grid.push_back(coin() ? Expr(below(9))
                            : ir::make_binary(BinaryOp::div, symbols_[0], 1 + below(9)));
      names.push_back("b" + std::to_string(d));
    }
    if (coin()) names.clear();
    for (const Var& index : builder_.kernel(grid, 1 + below(1024), names, {}))
      vars.push_back(index);
    started_ = true;
    for (int n = 1 + below(8); n > 0; --n) statement(3);
    return builder_.finish().shared();
  }

 protected:
  Expr load(const Buffer& buffer, int depth) override {
    if (!started_) return ir::make_zero(buffer.dtype());
    std::vector<Index> at;
    for (int d = 0; d < buffer.rank(); ++d) at.emplace_back(index(depth - 1));
    return builder_.load(buffer, at, {});
  }

 private:
  // Names have to be new; a taken one gets a number.
  template <typename Declare>
  auto named(Declare declare) {
    const std::string name = any_name();
    for (int n = 0;; ++n) {
      try {
        return declare(n == 0 ? name : name + std::to_string(n));
      } catch (const UserError& error) {
        if (error.code() != "E0405") throw;
      }
    }
  }

  Expr size() {
    switch (below(4)) {
      case 0: return pick(symbols_);
      case 1: return ir::make_binary(BinaryOp::mul, pick(symbols_), 2);
      default: return below(70);
    }
  }

  void params() {
    for (const char* name : {"n", "m", "s"}) symbols_.push_back(builder_.symbol(name, {}));
    const std::vector<Expr> all(symbols_.begin(), symbols_.end());
    tensor(coin() ? all : std::vector<Expr>{symbols_[1], symbols_[0], symbols_[2]}, false);
    for (int n = below(4); n > 0; --n) {
      std::vector<Expr> shape;
      for (int d = below(5); d > 0; --d) shape.push_back(size());
      tensor(shape, coin());
    }
    tensor({2, 8, symbols_[0], 4}, false);
    images_.push_back(buffers.back());
    for (int n = below(4); n > 0; --n) {
      const DType dtype = any_dtype();
      vars.push_back(
          named([&](const std::string& name) { return builder_.scalar(name, dtype, {}); }));
    }
    for (const Var& symbol : symbols_) vars.push_back(symbol);
  }

  void tensor(const std::vector<Expr>& shape, bool strided) {
    std::vector<Expr> strides;
    for (std::size_t d = 0; strided && d < shape.size(); ++d) strides.push_back(size());
    const DType dtype = any_dtype();
    buffers.push_back(named(
        [&](const std::string& name) { return builder_.tensor(name, shape, dtype, strides, {}); }));
  }

  // Tries a statement that the language may refuse.
  template <typename F>
  void attempt(F f) {
    try {
      f();
    } catch (const UserError&) {
    }
  }

  void statement(int depth) {
    const std::size_t vars_outside = vars.size();
    const std::size_t buffers_outside = buffers.size();
    const std::size_t tiles_outside = tiles_.size();
    switch (below(depth > 0 ? 12 : 8)) {
      case 0:
      case 1: return alloc(static_cast<Scope>(1 + below(3)));
      case 2: return attempt([&] { copy(); });
      case 3: return attempt([&] { transpose(); });
      case 4:
        return attempt([&] { builder_.fill(operand(pick(buffers), {}), of(any_dtype(), 2), {}); });
      case 5: return attempt([&] { im2col(); });
      case 6: return attempt([&] { store(); });
      case 7: {
        const Buffer buffer = pick(buffers);
        return attempt([&] { builder_.annotate_safe_value(buffer, of(buffer.dtype(), 0), {}); });
      }
      case 8: attempt([&] { loop(depth); }); break;
      case 9: attempt([&] { branch(depth); }); break;
      default: attempt([&] { parallel(); }); break;
    }
    vars.resize(vars_outside);
    buffers.resize(buffers_outside);
    tiles_.resize(tiles_outside);
  }

  void body(int depth) {
    for (int n = below(4); n > 0; --n) statement(depth);
  }

  void alloc(Scope scope) {
    std::vector<std::int64_t> extents;
    std::vector<Expr> shape;
    for (int d = below(4); d >= 0; --d) {
      extents.push_back(std::int64_t{1} << below(5));
      shape.push_back(extents.back());
    }
    const DType dtype = any_dtype();
    const Buffer tile = named([&](const std::string& name) {
      return builder_.alloc(scope, coin() ? name : "", shape, dtype, {});
    });
    buffers.push_back(tile);
    tiles_.push_back(tile);
    attempt([&] { annotate(tile, extents); });
  }

  void annotate(const Buffer& tile, const std::vector<std::int64_t>& extents) {
    if (tile.scope() == Scope::fragment) {
      if (coin()) builder_.annotate_layout(tile, Fragment::linear(extents, 4, 1), {});
      return;
    }
    switch (below(4)) {
      case 0: return builder_.annotate_layout(tile, TileLayout(row_major(IntTuple(extents))), {});
      case 1:
        return builder_.annotate_layout(
            tile, TileLayout(row_major(IntTuple(extents)), Swizzle(2, 1, 3)), {});
      case 2:
        return builder_.annotate_layout(tile, TileLayout(padded_row_major(IntTuple(extents), 3)),
                                        {});
      default: return;
    }
  }

  // The end of a region has to be an int64, too.
  Expr origin() { return ir::make_binary(BinaryOp::mod, index(), 1000); }

  // A buffer that an operation with `other` may take.
  Buffer peer_of(const Buffer& other) {
    std::vector<Buffer> fitting;
    for (const Buffer& buffer : buffers) {
      if (buffer.rank() == other.rank() && buffer.node() != other.node()) fitting.push_back(buffer);
    }
    return fitting.empty() ? other : pick(fitting);
  }

  // Extents are drawn when `extents` is empty.
  Operand operand(const Buffer& buffer, const std::vector<int>& extents) {
    if (below(4) == 0) return buffer;
    std::vector<Index> at;
    const bool bare = below(4) == 0;
    for (int d = 0; d < buffer.rank(); ++d) {
      const Expr begin = origin();
      const int extent = extents.empty() ? 1 + below(3) : extents[static_cast<std::size_t>(d)];
      if (bare || (extent == 1 && coin())) {
        at.emplace_back(begin);
      } else {
        at.emplace_back(Range{begin, ir::make_binary(BinaryOp::add, begin, extent), {}});
      }
    }
    return Access(buffer, at);
  }

  void copy() {
    const Buffer src = pick(buffers);
    const Buffer dst = peer_of(src);
    std::vector<int> extents;
    for (int d = 0; d < std::max(src.rank(), dst.rank()); ++d) extents.push_back(1 + below(3));
    builder_.copy(operand(src, extents), operand(dst, extents), hints(), {});
  }

  void transpose() {
    const Buffer src = pick(buffers);
    const Buffer dst = peer_of(src);
    const std::vector<int> square(static_cast<std::size_t>(std::max(src.rank(), dst.rank())), 2);
    builder_.transpose(operand(src, square), operand(dst, square), {});
  }

  void im2col() {
    const Buffer img = pick(images_);
    const Buffer col = builder_.alloc(Scope::shared, "", {16, 36}, img.dtype(), {});
    buffers.push_back(col);
    tiles_.push_back(col);
    auto pair = [](int least) { return HeightWidth(least + below(2), least + below(2)); };
    HintValues values;
    if (coin()) values.eviction_policy = "evict_last";
    builder_.im2col(img, operand(col, {16, 36}), index(), index(),
                    {pair(1), pair(1), pair(1), pair(0)}, values, {});
  }

  void store() {
    const Buffer buffer = pick(buffers);
    std::vector<Index> at;
    for (int d = 0; d < buffer.rank(); ++d) at.emplace_back(index());
    builder_.store(buffer, at, of(any_dtype(), 3), {});
  }

  HintValues hints() {
    HintValues values;
    if (coin()) values.coalesced_width = 1 << below(6);
    if (coin()) values.disable_tma = true;
    if (below(4) == 0) values.annotations.emplace("disable_tma", false);
    if (coin())
      values.eviction_policy = pick(std::vector{"evict_normal", "evict_first", "evict_last"});
    if (coin()) values.prefer_instruction = pick(std::vector{"cp_async", "sync"});
    if (below(8) == 0) values.loop_layout = Fragment::linear({2, 2}, 2, 1);
    return values;
  }

  // Loops are not provably empty: in dead code the language knows that sizes are negative.
  Expr extent() { return ir::make_binary(BinaryOp::max, index(1), 1 + below(4)); }

  void loop(int depth) {
    const std::string name = coin() ? any_name() : "";
    const bool unrolled = below(4) == 0;
    const Expr begin = unrolled ? Expr(below(3)) : origin();
    const Expr end =
        ir::make_binary(BinaryOp::add, begin, unrolled ? Expr(1 + below(3)) : extent());
    const auto kind = unrolled ? ir::LoopKind::unrolled : ir::LoopKind::serial;
    vars.push_back(builder_.open_for(kind, name, begin, end, {}));
    body(depth - 1);
    builder_.close();
  }

  void branch(int depth) {
    const std::size_t vars_outside = vars.size();
    const std::size_t buffers_outside = buffers.size();
    const std::size_t tiles_outside = tiles_.size();
    builder_.open_if(of(bool_, 3), {});
    body(depth - 1);
    if (coin()) {
      vars.resize(vars_outside);
      buffers.resize(buffers_outside);
      tiles_.resize(tiles_outside);
      builder_.open_else({});
      body(depth - 1);
    }
    builder_.close();
  }

  void parallel() {
    std::vector<Expr> extents;
    std::vector<std::string> names;
    for (int d = below(3); d >= 0; --d) {
      extents.push_back(coin() ? Expr(1 + below(5)) : extent());
      names.push_back("p" + std::to_string(d));
    }
    if (coin()) names.clear();
    HintValues values;
    if (coin()) values.coalesced_width = 2;
    for (const Var& var : builder_.open_parallel(names, extents, values, {})) vars.push_back(var);
    for (int n = below(4); n > 0; --n) {
      if (coin()) {
        alloc(Scope::local);
      } else {
        attempt([&] { store(); });
      }
    }
    builder_.close();
  }

  Builder builder_{"random", {}};
  std::vector<Var> symbols_;
  std::vector<Buffer> images_;
  std::vector<Buffer> tiles_;
  bool started_ = false;
};

// ---- The device level ----

class DeviceKernel : public Exprs {
 public:
  std::shared_ptr<const ir::Kernel> make() {
    auto kernel = std::make_shared<ir::Kernel>();
    kernel->name = any_name();
    kernel->level = ir::Level::device;
    kernel->threads = 1 + below(1024);
    for (const char* name : {"n", "m"}) kernel->symbols.push_back(symbol(name));
    for (const Var& s : kernel->symbols) vars.push_back(s);
    for (int n = 1 + below(4); n > 0; --n) {
      if (coin()) {
        vars.emplace_back(any_name(), any_dtype());
        kernel->params.emplace_back(vars.back());
      } else {
        std::vector<Expr> shape;
        for (int d = below(4); d > 0; --d)
          shape.push_back(coin() ? Expr(kernel->symbols[0]) : below(9));
        buffers.push_back(buffer(Scope::global, shape));
        kernel->params.emplace_back(buffers.back());
      }
    }
    for (int d = below(4); d > 0; --d) {
      kernel->block.emplace_back(any_name(), int64);
      kernel->grid.push_back(ir::make_binary(BinaryOp::add, kernel->symbols[1], below(9)));
    }
    for (const Var& index : kernel->block) vars.push_back(index);
    if (coin()) vars.push_back(kernel->thread = Var(any_name(), int64));
    kernel->body = block(3);
    return kernel;
  }

 protected:
  Expr load(const Buffer& from, int depth) override {
    return ir::make_load(from, {index(depth - 1)});
  }

 private:
  static Buffer buffer(Scope scope, const std::vector<Expr>& shape) {
    auto node = std::make_shared<ir::BufferNode>();
    *node = {any_name(), any_dtype(), scope, {}, {}, {}};
    for (const Expr& e : shape) node->shape.push_back(ir::coerce(e, int64));
    return Buffer(std::move(node));
  }

  ir::Stmt block(int depth) {
    const std::size_t vars_outside = vars.size();
    const std::size_t buffers_outside = buffers.size();
    std::vector<ir::Stmt> body;
    for (int n = 1 + below(4); n > 0; --n) body.push_back(statement(depth));
    vars.resize(vars_outside);
    buffers.resize(buffers_outside);
    return ir::make_block(std::move(body));
  }

  ir::Stmt statement(int depth) {
    switch (below(depth > 0 ? 8 : 5)) {
      case 0: {
        auto alloc = ir::make_stmt<ir::Alloc>({});
        alloc->buffer = buffer(static_cast<Scope>(1 + below(3)), {4, 8});
        if (coin()) alloc->layout = TileLayout(row_major({4, 8}));
        if (alloc->buffer.scope() == Scope::fragment && coin()) {
          alloc->fragment = Fragment::linear({4, 8}, 8, 2);
        }
        buffers.push_back(alloc->buffer);
        return alloc;
      }
      case 1: {
        const DType dtype = any_dtype();
        const Expr value = of(dtype, 3);
        vars.emplace_back(any_name(), dtype);
        return ir::make_let(vars.back(), value);
      }
      case 2: return instr();
      case 3:
        if (buffers.empty()) return instr();
        return ir::make_store(pick(buffers), {index()}, of(any_dtype(), 3));
      case 4: return tensor_map();
      case 5: {
        const Expr begin = index();
        const Expr end = index();
        const Var var(any_name(), int64);
        vars.push_back(var);
        ir::Stmt body = block(depth - 1);
        vars.pop_back();
        return ir::make_for(static_cast<ir::LoopKind>(below(2)), var, begin, end, std::move(body));
      }
      case 6: {
        const Expr condition = of(bool_, 3);
        ir::Stmt then_body = block(depth - 1);
        return ir::make_if(condition, std::move(then_body), coin() ? block(depth - 1) : nullptr);
      }
      default: return block(depth - 1);
    }
  }

  ir::Stmt tensor_map() {
    std::vector<Buffer> tensors;
    for (const Buffer& b : buffers) {
      if (b.scope() == Scope::global) tensors.push_back(b);
    }
    if (tensors.empty()) return instr();
    auto map = ir::make_stmt<ir::TensorMap>({});
    const bool im2col = coin();
    const int rank = im2col ? 3 + below(3) : 1 + below(5);
    map->tensor = pick(tensors);
    for (int d = 0; d < rank; ++d) {
      map->dims.push_back(index());
      if (d > 0) map->strides.push_back(index());
      map->element_strides.push_back(1 + below(8));
      if (im2col ? d < 2 : true) map->box.push_back(1 + below(256));
      if (im2col && d >= 2) {
        map->lower.push_back(below(9) - 8);
        map->upper.push_back(below(9) - 8);
      }
    }
    map->swizzle_bytes = pick(std::vector{0, 32, 64, 128});
    map->l2_promotion_bytes = pick(std::vector{0, 64, 128, 256});
    map->var = Var(any_name(), uint64);
    vars.push_back(map->var);
    return map;
  }

  ir::Stmt instr() {
    std::vector<ir::InstrOperand> operands;
    for (int n = below(4); n > 0; --n) {
      if (!buffers.empty() && coin()) {
        operands.push_back(ir::Address{pick(buffers), index()});
      } else {
        operands.push_back(of(any_dtype(), 2));
      }
    }
    return ir::make_instr(
        pick(std::vector{"host.copy", "cp.async.bulk.tensor.2d", "mbarrier.wait"}),
        std::move(operands));
  }
};

}  // namespace

std::shared_ptr<const ir::Kernel> random_tile_kernel() { return TileKernel().make(); }
std::shared_ptr<const ir::Kernel> random_device_kernel() { return DeviceKernel().make(); }

}  // namespace tilecopy::test
