// The device code of im2col by threads: where each group of columns lies in the image, and its
// move.
#include "copy/cuda_common.h"
#include "copy/host_row.h"
#include "copy/im2col_gather_plan.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

Expr minus(const Expr& a, const Expr& b) { return make_binary(BinaryOp::sub, a, b); }
Expr div(const Expr& a, const Expr& b) { return make_binary(BinaryOp::div, a, b); }
Expr mod(const Expr& a, const Expr& b) { return make_binary(BinaryOp::mod, a, b); }

class Lowering {
 public:
  Lowering(const GatherPlan& plan, const Site& site)
      : plan_(plan),
        site_(site),
        op_(*site.im2col()),
        facts_(*site.facts),
        where_(site.op->where) {}

  ir::Stmt lower() {
    NamedBlock block(facts_, where_);
    const std::vector<Expr>& shape = op_.img.shape();
    const ir::Im2colWindow& w = op_.window;
    // An image of unknown size may be too small for the window: then it has no output pixels.
    auto outputs = [&](const char* name, const Expr& input, std::int64_t kernel,
                       std::int64_t stride, std::int64_t dilation, std::int64_t pad) {
      return block.name(name, make_binary(BinaryOp::max, make_int(0),
                                          conv_extent(input, kernel, stride, dilation, pad)));
    };
    oh_ = outputs("oh", shape[1], w.kernel.h, w.stride.h, w.dilation.h, w.pad.h);
    ow_ = outputs("ow", shape[2], w.kernel.w, w.stride.w, w.dilation.w, w.pad.w);
    pixels_ = block.name("pixels", times(oh_, ow_));
    m_count_ = block.name("m_count", times(shape[0], pixels_));
    k_count_ = block.name("k_count", times(make_int(w.kernel.h * w.kernel.w), shape[3]));
    m0_ = block.name("m0", times(op_.nhw_step, op_.col.extent[op_.col.extent.size() - 2]));
    k0_ = block.name("k0", times(op_.c_step, op_.col.extent.back()));
    block.add(rounds());
    ir::Stmt body = block.take();
    Expr condition = all(site_.dst_conditions, facts_);
    return condition.defined() ? ir::make_if(condition, body, nullptr, where_) : body;
  }

 private:
  ir::Stmt rounds() {
    Expr count = facts_.simplify(plan_.partition.rounds());
    if (ir::is_const_int(count, 1)) return round(make_int(0));
    Var r("r", int64);
    facts_.bind_loop(r, make_int(0), count);
    auto kind = plan_.unroll ? ir::LoopKind::unrolled : ir::LoopKind::serial;
    return ir::make_for(kind, r, make_int(0), count, round(r), where_);
  }

  ir::Stmt round(const Expr& r) {
    group_ = plan_.partition.group(site_.simt->thread, r, facts_);
    NamedBlock block(facts_, where_);
    for (Expr& loop : group_.loops) loop = block.name("i", loop);
    ir::Stmt body = if_col_inside(group());
    block.add(group_.exists.defined() ? ir::make_if(group_.exists, body, nullptr, where_) : body);
    return block.take();
  }

  static Expr all(const std::vector<Expr>& conditions, const ir::Facts& facts) {
    std::vector<Expr> open;
    for (const Expr& condition : conditions) {
      Expr simple = facts.simplify(condition);
      if (!ir::is_const_int(simple, 1)) open.push_back(simple);
    }
    return all_of(open);
  }

  // 0 <= e < extent, after what else there is.
  static std::vector<Expr> within(const Expr& e, const Expr& extent, std::vector<Expr> more = {}) {
    more.push_back(make_binary(BinaryOp::ge, e, make_int(0)));
    more.push_back(make_binary(BinaryOp::lt, e, extent));
    return more;
  }

  // ---- col ----

  ir::Address col() const {
    const Buffer& buffer = site_.dst.buffer;
    if (fragment_of_col(site_)) return {site_.simt->registers.at(buffer.node()), group_.reg};
    return {buffer, facts_.simplify(site_.offset(false, group_.loops))};
  }

  // Bounds of col do not split groups: those of the first element are the group's.
  ir::Stmt if_col_inside(ir::Stmt body) const {
    std::vector<Expr> conditions;
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      const Span& span = site_.axes[k].dst.inside;
      if (span.whole) continue;
      conditions.push_back(make_binary(BinaryOp::ge, group_.loops[k], span.begin));
      conditions.push_back(make_binary(BinaryOp::lt, group_.loops[k], span.end));
    }
    Expr inside = all(conditions, facts_);
    return inside.defined() ? ir::make_if(inside, std::move(body), nullptr, where_) : body;
  }

  // The group's index along a dimension of col, counted from the last.
  Expr index(int from_last) const {
    int axis = axis_of_col(site_, from_last);
    return axis < 0 ? make_int(0) : group_.loops[static_cast<std::size_t>(axis)];
  }

  // ---- The image ----

  struct Pixel {
    Expr offset;  ///< in the image
    Expr inside;  ///< undefined when it always is
  };

  // Where the group comes from; `block` gets the names on the way.
  //
  // NOTE: past the first tests, the facts say what holds inside of the matrix. They count only for
  // the other tests and for an offset that is used inside of the image.
  Pixel pixel(NamedBlock& block, ir::Facts& facts) const {
    const ir::Im2colWindow& w = op_.window;
    const std::vector<Expr>& shape = op_.img.shape();
    Expr m = block.name("m", plus(m0_, index(1)));
    Expr k = block.name("k", plus(k0_, index(0)));
    Pixel result;
    result.inside = all(within(m, m_count_, within(k, k_count_)), facts);
    if (result.inside.defined()) facts.assume(result.inside);

    Expr n = block.name("n", div(m, pixels_));
    Expr tap = block.name("tap", div(k, shape[3]));
    auto along = [&](const char* name, const Expr& out, const Expr& kernel, std::int64_t stride,
                     std::int64_t dilation, std::int64_t pad) {
      return block.name(name, plus(minus(times(out, make_int(stride)), make_int(pad)),
                                   times(kernel, make_int(dilation))));
    };
    Expr kw = make_int(w.kernel.w);
    Expr h = along("h", mod(div(m, ow_), oh_), div(tap, kw), w.stride.h, w.dilation.h, w.pad.h);
    Expr x = along("x", mod(m, ow_), mod(tap, kw), w.stride.w, w.dilation.w, w.pad.w);
    Expr inside = all(within(h, shape[1], within(x, shape[2])), facts);
    if (inside.defined()) {
      result.inside = result.inside.defined()
                          ? make_binary(BinaryOp::logical_and, result.inside, inside)
                          : inside;
    }
    result.offset =
        facts.simplify(element_offset(op_.img, {n, h, x, mod(k, shape[3])}, *site_.layouts));
    return result;
  }

  // ---- Statements ----

  ir::Stmt group() const {
    ir::Facts facts = facts_;
    NamedBlock block(facts, where_);
    ir::Address to = col();
    if (plan_.partition.vector() == 1 && !hinted(op_.img) && !hinted(to.buffer)) {
      Pixel from = pixel(block, facts);
      Expr value = ir::make_load(op_.img, {from.offset});
      if (from.inside.defined()) {
        value = ir::make_select(from.inside, value, ir::make_zero(op_.img.dtype()));
      }
      block.add(ir::make_store(to.buffer, {to.offset}, value, where_));
      return block.take();
    }
    ir::Address regs = fragment_of_col(site_) ? to : staging(block);
    Pixel from = pixel(block, facts);
    ir::Stmt load = move("cuda.load_hint", hinted(op_.img), regs, {op_.img, from.offset});
    if (from.inside.defined()) load = ir::make_if(from.inside, load, zeros(regs), where_);
    block.add(load);
    if (!fragment_of_col(site_)) block.add(move("cuda.store_hint", hinted(to.buffer), to, regs));
    return block.take();
  }

  bool hinted(const Buffer& buffer) const {
    return plan_.policy.defined() && buffer.scope() == Scope::global;
  }

  ir::Address staging(NamedBlock& block) const {
    auto node = std::make_shared<ir::BufferNode>();
    node->name = "in";
    node->dtype = op_.img.dtype();
    node->scope = Scope::local;
    node->shape = {make_int(plan_.partition.vector())};
    node->where = where_;
    auto alloc = ir::make_stmt<ir::Alloc>(where_);
    alloc->buffer = Buffer(std::move(node));
    block.add(alloc);
    return {alloc->buffer, make_int(0)};
  }

  ir::Stmt zeros(const ir::Address& regs) const {
    std::vector<ir::Stmt> body;
    for (int v = 0; v < plan_.partition.vector(); ++v) {
      body.push_back(ir::make_store(regs.buffer, {facts_.simplify(plus(regs.offset, make_int(v)))},
                                    ir::make_zero(op_.img.dtype()), where_));
    }
    return ir::make_block(std::move(body), where_);
  }

  ir::Stmt move(const char* with_hint, bool hinted, const ir::Address& to,
                const ir::Address& from) const {
    std::vector<ir::InstrOperand> operands = {
        to, from, make_int(plan_.partition.vector() * bytes(op_.img.dtype()))};
    if (hinted) operands.emplace_back(plan_.policy);
    return ir::make_instr(hinted ? with_hint : "cuda.move", std::move(operands), where_);
  }

  const GatherPlan& plan_;
  const Site& site_;
  const ir::Im2col& op_;
  ir::Facts facts_;  ///< the site's, and those of our loops and names
  Location where_;
  Group group_;
  Expr oh_, ow_, pixels_, m_count_, k_count_, m0_, k0_;
};

}  // namespace

ir::Stmt lower_gather(const Plan& plan, const Site& site) {
  return Lowering(static_cast<const GatherPlan&>(plan), site).lower();
}

}  // namespace tilecopy::planner
