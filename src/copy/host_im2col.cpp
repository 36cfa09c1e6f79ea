// im2col on the cpu target. A column index k splits into a segment and a place in it. Where the
// taps of one kernel row lie side by side in the image (dilation 1, dense pixels), a segment is the
// kernel row, KW * C elements long; otherwise it is one tap of C channels. Within a segment the
// image is one run of memory of which a middle part is inside of the image.
#include <fmt/format.h>

#include "copy/host_row.h"
#include "copy/method.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::is_const_int;
using ir::make_binary;
using ir::make_int;

Expr add(const Expr& a, const Expr& b) { return make_binary(BinaryOp::add, a, b); }
Expr sub(const Expr& a, const Expr& b) { return make_binary(BinaryOp::sub, a, b); }
Expr mul(const Expr& a, const Expr& b) { return make_binary(BinaryOp::mul, a, b); }
Expr div(const Expr& a, const Expr& b) { return make_binary(BinaryOp::div, a, b); }
Expr mod(const Expr& a, const Expr& b) { return make_binary(BinaryOp::mod, a, b); }
Expr min(const Expr& a, const Expr& b) { return make_binary(BinaryOp::min, a, b); }
Expr max(const Expr& a, const Expr& b) { return make_binary(BinaryOp::max, a, b); }

struct Im2colPlan : Plan {
  bool fused_row = false;  ///< a segment is a kernel row
  bool run = false;        ///< segments move by memcpy, else element by element
};

std::unique_ptr<Plan> plan_im2col(const Site& site, Rules&) {
  const ir::Im2col& op = *site.im2col();
  std::vector<std::optional<Expr>> img;
  for (int d = 0; d < 4; ++d) img.push_back(element_stride(op.img, d, *site.layouts));
  int last = op.col.buffer.rank() - 1;
  std::optional<Expr> col = element_stride(op.col.buffer, last, *site.layouts);
  const Expr& channels = op.img.shape()[3];

  auto plan = std::make_unique<Im2colPlan>();
  bool unit = img[3] && is_const_int(*img[3], 1);
  bool dense = unit && img[2] && site.facts->proves_equal(*img[2], channels);
  plan->fused_row = dense && op.window.dilation.w == 1;
  plan->run = unit && col && is_const_int(*col, 1);
  std::string segment = plan->fused_row ? fmt::format("a kernel row of {} x {} elements",
                                                      op.window.kernel.w, channels.to_string())
                                        : fmt::format("a tap of {} channels", channels.to_string());
  plan->parameters.emplace_back("segment", segment);
  plan->parameters.emplace_back("moves", plan->run ? "runs of memory" : "element by element");
  plan->parameters.emplace_back(
      "vector_bytes",
      fmt::format("{}", plan->run ? target::host_vector_bytes() : bytes(op.img.dtype())));
  return plan;
}

class Im2colLowering {
 public:
  Im2colLowering(const Im2colPlan& plan, const Site& site)
      : plan_(plan), site_(site), op_(*site.im2col()), where_(op_.where), facts_(*site.facts) {
    std::size_t rank = op_.col.extent.size();
    rows_ = side(rank - 2);
    columns_ = side(rank - 1);
    const std::vector<Expr>& shape = op_.img.shape();
    const ir::Im2colWindow& w = op_.window;
    Expr zero = make_int(0);
    // An image of unknown size may be too small for the window: then it has no output pixels.
    oh_ = simplify(max(zero, conv_extent(shape[1], w.kernel.h, w.stride.h, w.dilation.h, w.pad.h)));
    ow_ = simplify(max(zero, conv_extent(shape[2], w.kernel.w, w.stride.w, w.dilation.w, w.pad.w)));
    m_count_ = simplify(mul(shape[0], mul(oh_, ow_)));
    Expr taps = make_int(w.kernel.h * w.kernel.w);
    k_count_ = simplify(mul(taps, shape[3]));
    segment_length_ = plan.fused_row ? mul(make_int(w.kernel.w), shape[3]) : shape[3];
    segment_length_ = simplify(segment_length_);
    segment_count_ = plan.fused_row ? make_int(w.kernel.h) : taps;
  }

  ir::Stmt lower() {
    Var i("i", int64);
    i_ = i;
    facts_.bind_loop(i, rows_.begin, rows_.end);
    NamedBlock block(facts_, where_);
    Expr block_m = op_.col.extent[op_.col.extent.size() - 2];
    Expr m = block.name("m", add(mul(op_.nhw_step, block_m), i_));
    Expr exists =
        simplify(make_binary(BinaryOp::logical_and, make_binary(BinaryOp::ge, m, make_int(0)),
                             make_binary(BinaryOp::lt, m, m_count_)));
    block.add(ir::make_if(exists, pixel_row(m), zeros(columns_.begin, columns_.end), where_));
    ir::Stmt body =
        ir::make_for(ir::LoopKind::serial, i, rows_.begin, rows_.end, block.take(), where_);
    if (Expr condition = all_of(site_.dst_conditions); condition.defined()) {
      body = ir::make_if(condition, body, nullptr, where_);
    }
    return body;
  }

 private:
  Expr simplify(const Expr& e) const { return facts_.simplify(e); }

  // The loop of one of the last two dimensions of col, which is no axis when its extent is 1.
  Span side(std::size_t dim) const {
    for (const Axis& axis : site_.axes) {
      if (static_cast<std::size_t>(axis.dst.dim) == dim) return axis.dst.inside;
    }
    return {make_int(0), make_int(1), true};
  }

  // One row of the tile, whose output pixel exists.
  ir::Stmt pixel_row(const Expr& m) {
    const ir::Im2colWindow& w = op_.window;
    NamedBlock block(facts_, where_);
    n_ = block.name("n", div(m, mul(oh_, ow_)));
    h0_ =
        block.name("h0", sub(mul(mod(div(m, ow_), oh_), make_int(w.stride.h)), make_int(w.pad.h)));
    w0_ = block.name("w0", sub(mul(mod(m, ow_), make_int(w.stride.w)), make_int(w.pad.w)));
    k0_ = block.name("k0", mul(op_.c_step, op_.col.extent.back()));

    // Columns before the first and past the last of the matrix are zero.
    Expr first = min(columns_.end, max(columns_.begin, sub(make_int(0), k0_)));
    Expr past = max(columns_.begin, min(columns_.end, sub(k_count_, k0_)));
    add_zeros(block, columns_.begin, first);
    add_zeros(block, past, columns_.end);

    Var s("s", int64);
    Expr begin = simplify(div(max(make_int(0), add(k0_, columns_.begin)), segment_length_));
    Expr end = simplify(min(segment_count_, ceil_div(add(k0_, columns_.end), segment_length_)));
    facts_.bind_loop(s, begin, end);
    block.add(ir::make_for(ir::LoopKind::serial, s, begin, end, segment(s), where_));
    return block.take();
  }

  void add_zeros(NamedBlock& block, const Expr& from, const Expr& to) const {
    Expr begin = simplify(from), end = simplify(to);
    if (!facts_.proves(make_binary(BinaryOp::ge, begin, end))) block.add(zeros(begin, end));
  }

  static Expr ceil_div(const Expr& a, const Expr& b) { return div(add(a, sub(b, make_int(1))), b); }

  // The columns of one segment: column j holds element j - start of the segment.
  ir::Stmt segment(const Expr& s) {
    const ir::Im2colWindow& w = op_.window;
    NamedBlock block(facts_, where_);
    Expr start = block.name("start", sub(mul(s, segment_length_), k0_));
    Expr kh = plan_.fused_row ? s : div(s, make_int(w.kernel.w));
    Expr kw = plan_.fused_row ? make_int(0) : mod(s, make_int(w.kernel.w));
    Expr h = block.name("h", add(h0_, mul(kh, make_int(w.dilation.h))));
    Expr x = block.name("x", add(w0_, mul(kw, make_int(w.dilation.w))));

    Row row;
    row.begin = simplify(max(columns_.begin, start));
    row.end = simplify(min(columns_.end, add(start, segment_length_)));
    const Expr& height = op_.img.shape()[1];
    const Expr& width = op_.img.shape()[2];
    const Expr& channels = op_.img.shape()[3];
    std::vector<Expr> inside = {make_binary(BinaryOp::ge, h, make_int(0)),
                                make_binary(BinaryOp::lt, h, height)};
    if (plan_.fused_row) {
      row.inside_begin = sub(start, mul(x, channels));
      row.inside_end = add(start, mul(sub(width, x), channels));
    } else {
      inside.push_back(make_binary(BinaryOp::ge, x, make_int(0)));
      inside.push_back(make_binary(BinaryOp::lt, x, width));
    }
    row.inside = simplify(all_of(inside));
    row.fill = [this](const Expr& from, const Expr& to) { return zeros(from, to); };
    row.move = [this, h, x, start](const Expr& from, const Expr& to) {
      return move(h, x, start, from, to);
    };
    block.add(make_row(row, facts_, where_));
    return block.take();
  }

  Expr col_offset(const Expr& j) const {
    std::vector<Expr> index = op_.col.origin;
    std::size_t rank = index.size();
    index[rank - 2] = add(index[rank - 2], i_);
    index[rank - 1] = add(index[rank - 1], j);
    return simplify(element_offset(op_.col.buffer, index, *site_.layouts));
  }

  // Elements of a fused row go on past the last channel into the next pixel.
  Expr img_offset(const Expr& h, const Expr& x, const Expr& element) const {
    return simplify(element_offset(op_.img, {n_, h, x, element}, *site_.layouts));
  }

  ir::Stmt zeros(const Expr& from, const Expr& to) const {
    return make_store_loop(
        op_.col.buffer, from, to, [this](const Expr& j) { return col_offset(j); },
        [this](const Expr&) { return ir::make_zero(op_.img.dtype()); }, where_);
  }

  ir::Stmt move(const Expr& h, const Expr& x, const Expr& start, const Expr& from,
                const Expr& to) const {
    if (plan_.run) {
      return ir::make_instr(
          "host.copy",
          {ir::Address{op_.col.buffer, col_offset(from)},
           ir::Address{op_.img, img_offset(h, x, sub(from, start))}, simplify(sub(to, from))},
          where_);
    }
    return make_store_loop(
        op_.col.buffer, from, to, [this](const Expr& j) { return col_offset(j); },
        [&](const Expr& j) { return ir::make_load(op_.img, {img_offset(h, x, sub(j, start))}); },
        where_);
  }

  const Im2colPlan& plan_;
  const Site& site_;
  const ir::Im2col& op_;
  Location where_;
  ir::Facts facts_;  ///< the site's, and those of our loops and names
  Span rows_, columns_;
  Expr oh_, ow_, m_count_, k_count_, segment_length_, segment_count_;
  Expr i_, n_, h0_, w0_, k0_;
};

ir::Stmt lower_im2col(const Plan& plan, const Site& site) {
  return Im2colLowering(static_cast<const Im2colPlan&>(plan), site).lower();
}

}  // namespace

const Method host_im2col = {"host_im2col", plan_im2col, lower_im2col};

}  // namespace tilecopy::planner
