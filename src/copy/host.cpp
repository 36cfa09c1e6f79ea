// Copies, transposes and fills on the cpu target: rows moved past the caches (host_stream), rows
// moved by memcpy (host_run), and element loops that the C compiler vectorises (host_loop).
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

// Destinations from this size on do not stay in the last-level cache that is common in servers.
constexpr std::int64_t stream_bytes = std::int64_t{16} << 20;
// Shorter rows cost less as a loop than as a call of memcpy.
constexpr std::int64_t least_run_bytes = 64;

// Rows from global memory shorter than this end before the hardware has seen a stream: what is
// needed this many bytes later is asked for in software. Measured in docs/benchmarks.md.
constexpr std::int64_t prefetch_bytes = 4096;

struct HostPlan : Plan {
  int row = -1;         ///< the axis along which rows run; -1 for a single element
  bool run = false;     ///< rows move whole, else element by element
  bool stream = false;  ///< rows bypass the caches ...
  Expr stream_guard;    ///< ... if this holds at launch; undefined for always
  Expr prefetch;        ///< elements ahead of the source to ask for; undefined for none
};

bool unit_stride(const std::optional<AxisSide>& side) {
  return side && side->stride && is_const_int(*side->stride, 1);
}

// The innermost axis that is contiguous on both sides, or -1.
int contiguous_axis(const Site& site) {
  for (int k = static_cast<int>(site.axes.size()) - 1; k >= 0; --k) {
    const Axis& axis = site.axes[static_cast<std::size_t>(k)];
    if (unit_stride(axis.dst) && unit_stride(axis.src)) return k;
  }
  return -1;
}

// The axis for element loops: one that writes contiguously if there is one.
int loop_axis(const Site& site) {
  int last = static_cast<int>(site.axes.size()) - 1;
  for (int k = last; k >= 0; --k) {
    if (unit_stride(site.axes[static_cast<std::size_t>(k)].dst)) return k;
  }
  return last;
}

std::string stride_text(const std::optional<AxisSide>& side) {
  return side && side->stride ? side->stride->to_string() : "varying";
}

std::string strides_text(const Site& site) {
  if (site.axes.empty()) return "a single element";
  const Axis& axis = site.axes.back();
  return fmt::format("strides {} and {} along the last dimension", stride_text(axis.src),
                     stride_text(axis.dst));
}

bool require_run(const Site& site, Rules& rules) {
  if (!rules.require("source", site.src.has_value(), "a source", "a fill")) return false;
  DType from = site.src->buffer.dtype();
  DType to = site.dst.buffer.dtype();
  int axis = contiguous_axis(site);
  if (!rules.require("dtype", from == to, "equal dtypes",
                     fmt::format("{} to {}", to_string(from), to_string(to))) ||
      !rules.require("contiguous", axis >= 0, "a dimension of stride 1 on both sides",
                     strides_text(site), "make the innermost dimension contiguous")) {
    return false;
  }
  auto extent = ir::const_int(site.axes[static_cast<std::size_t>(axis)].extent);
  return rules.require("run_bytes", !extent || *extent * bytes(to) >= least_run_bytes,
                       fmt::format("rows of {} bytes or more", least_run_bytes),
                       extent ? fmt::format("{} bytes", *extent * bytes(to)) : "a symbolic size",
                       "use a wider tile");
}

// Bytes of the whole destination tensor.
Expr destination_bytes(const Site& site) {
  Expr result = make_int(bytes(site.dst.buffer.dtype()));
  for (const Expr& extent : site.dst.buffer.shape()) {
    result = make_binary(BinaryOp::mul, result, extent);
  }
  return site.facts->simplify(result);
}

void describe(const Site& site, HostPlan& plan) {
  std::string loops;
  for (std::size_t k = 0; k < site.axes.size(); ++k) {
    if (static_cast<int>(k) == plan.row) continue;
    loops += site.axes[k].extent.to_string() + " x ";
  }
  std::string row =
      plan.row < 0 ? "1 element"
                   : fmt::format("{} of {} elements", plan.run ? "run" : "loop",
                                 site.axes[static_cast<std::size_t>(plan.row)].extent.to_string());
  plan.parameters.emplace_back("loops", loops + row);
  bool vector = plan.row >= 0 && unit_stride(site.axes[static_cast<std::size_t>(plan.row)].dst);
  int width = vector ? target::host_vector_bytes() : bytes(site.dst.buffer.dtype());
  plan.parameters.emplace_back("vector_bytes", fmt::format("{}", width));
  if (site.src && site.src->buffer.dtype() != site.dst.buffer.dtype()) {
    plan.parameters.emplace_back("cast",
                                 fmt::format("{} to {}", to_string(site.src->buffer.dtype()),
                                             to_string(site.dst.buffer.dtype())));
  }
  bool whole = site.src_conditions.empty() && site.dst_conditions.empty();
  for (const Axis& axis : site.axes) {
    whole = whole && axis.dst.inside.whole && (!axis.src || axis.src->inside.whole);
  }
  plan.parameters.emplace_back("bounds", whole ? "proved, no checks" : "checked once per row");
}

// Elements between a row and the one that is read prefetch_bytes later, when rows are short and
// follow each other along one axis at a constant distance.
Expr prefetch_distance(const Site& site, int row) {
  const Axis& axis = site.axes[static_cast<std::size_t>(row)];
  auto extent = ir::const_int(axis.extent);
  if (site.src->buffer.scope() != Scope::global || row == 0 || !extent) return {};
  const Axis& outer = site.axes[static_cast<std::size_t>(row - 1)];
  std::int64_t row_bytes = *extent * bytes(site.src->buffer.dtype());
  if (row_bytes >= prefetch_bytes || !outer.src->stride) return {};
  std::int64_t rows_ahead = (prefetch_bytes + row_bytes - 1) / row_bytes;
  return site.facts->simplify(make_binary(BinaryOp::mul, *outer.src->stride, make_int(rows_ahead)));
}

std::unique_ptr<Plan> plan_run(const Site& site, Rules& rules) {
  if (!require_run(site, rules)) return nullptr;
  auto plan = std::make_unique<HostPlan>();
  plan->row = contiguous_axis(site);
  plan->run = true;
  plan->prefetch = prefetch_distance(site, plan->row);
  describe(site, *plan);
  if (plan->prefetch.defined()) {
    plan->parameters.emplace_back("prefetch", plan->prefetch.to_string() + " elements ahead");
  }
  return plan;
}

std::unique_ptr<Plan> plan_stream(const Site& site, Rules& rules) {
  if (!require_run(site, rules)) return nullptr;
  if (!rules.require("destination", site.dst.buffer.scope() == Scope::global,
                     "a destination in global memory",
                     fmt::format("{} in {} memory", site.dst.buffer.name(),
                                 to_string(site.dst.buffer.scope())))) {
    return nullptr;
  }
  Expr size = destination_bytes(site);
  auto constant = ir::const_int(size);
  if (!rules.require("size", !constant || *constant >= stream_bytes,
                     fmt::format("a tensor of {} bytes or more", stream_bytes),
                     constant ? fmt::format("{} bytes", *constant) : "a symbolic size",
                     "none needed: smaller tensors are better kept in the caches")) {
    return nullptr;
  }
  auto plan = std::make_unique<HostPlan>();
  plan->row = contiguous_axis(site);
  plan->run = true;
  plan->stream = true;
  if (!constant) {
    plan->stream_guard = make_binary(BinaryOp::ge, size, make_int(stream_bytes));
  }
  describe(site, *plan);
  if (!constant) plan->parameters.emplace_back("guard", plan->stream_guard.to_string());
  return plan;
}

std::unique_ptr<Plan> plan_loop(const Site& site, Rules&) {
  auto plan = std::make_unique<HostPlan>();
  plan->row = loop_axis(site);
  describe(site, *plan);
  return plan;
}

// Everything below executes a plan.
class HostLowering {
 public:
  HostLowering(const HostPlan& plan, const Site& site)
      : plan_(plan), site_(site), facts_(*site.facts) {
    for (std::size_t k = 0; k < site.axes.size(); ++k) {
      vars_.emplace_back(fmt::format("i{}", k), int64);
      loops_.push_back(vars_.back());
      const Span& span = site.axes[k].dst.inside;
      facts_.bind_loop(vars_.back(), span.begin, span.end);
    }
  }

  ir::Stmt lower() {
    Location where = site_.op->where;
    ir::Stmt body = row();
    for (std::size_t k = site_.axes.size(); k-- > 0;) {
      if (static_cast<int>(k) == plan_.row) continue;
      const Span& span = site_.axes[k].dst.inside;
      body = ir::make_for(ir::LoopKind::serial, vars_[k], span.begin, span.end, body, where);
    }
    if (Expr condition = all_of(site_.dst_conditions); condition.defined()) {
      body = ir::make_if(condition, body, nullptr, where);
    }
    if (!plan_.stream) return body;
    return ir::make_block({body, ir::make_instr("host.stream_end", {}, where)}, where);
  }

 private:
  ir::Stmt row() {
    Row row;
    row.begin = make_int(0);
    row.end = make_int(1);
    row.inside = all_of(row_conditions());
    if (plan_.row >= 0) {
      const Axis& axis = site_.axes[static_cast<std::size_t>(plan_.row)];
      row.begin = axis.dst.inside.begin;
      row.end = axis.dst.inside.end;
      if (axis.src && !covers(axis.src->inside, axis.dst.inside)) {
        row.inside_begin = axis.src->inside.begin;
        row.inside_end = axis.src->inside.end;
      }
    }
    row.move = [this](const Expr& from, const Expr& to) { return move(from, to); };
    row.fill = [this](const Expr& from, const Expr& to) {
      return store(from, to, [this](const Expr&) { return site_.safe; });
    };
    return make_row(row, facts_, site_.op->where);
  }

  // Whether the source is in bounds wherever the destination is.
  bool covers(const Span& src, const Span& dst) const {
    return src.whole || (facts_.proves(make_binary(BinaryOp::le, src.begin, dst.begin)) &&
                         facts_.proves(make_binary(BinaryOp::ge, src.end, dst.end)));
  }

  // When the row as a whole is in the source's bounds.
  std::vector<Expr> row_conditions() const {
    std::vector<Expr> conditions = site_.src_conditions;
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      const Axis& axis = site_.axes[k];
      if (static_cast<int>(k) == plan_.row || !axis.src) continue;
      if (covers(axis.src->inside, axis.dst.inside)) continue;
      for (const Expr& condition : {make_binary(BinaryOp::ge, vars_[k], axis.src->inside.begin),
                                    make_binary(BinaryOp::lt, vars_[k], axis.src->inside.end)}) {
        Expr simple = facts_.simplify(condition);
        if (!is_const_int(simple, 1)) conditions.push_back(simple);
      }
    }
    return conditions;
  }

  Expr offset(bool of_src, const Expr& at) const {
    std::vector<Expr> loops = loops_;
    if (plan_.row >= 0) loops[static_cast<std::size_t>(plan_.row)] = at;
    return facts_.simplify(site_.offset(of_src, loops));
  }

  ir::Stmt store(const Expr& from, const Expr& to,
                 const std::function<Expr(const Expr&)>& value) const {
    const Buffer& buffer = site_.dst.buffer;
    Location where = site_.op->where;
    auto cast_value = [&](const Expr& at) { return ir::make_cast(value(at), buffer.dtype()); };
    auto dst_offset = [&](const Expr& at) { return offset(false, at); };
    if (is_const_int(facts_.simplify(make_binary(BinaryOp::sub, to, from)), 1)) {
      return ir::make_store(buffer, {dst_offset(from)}, cast_value(from), where);
    }
    return make_store_loop(buffer, from, to, dst_offset, cast_value, where);
  }

  ir::Stmt move(const Expr& from, const Expr& to) const {
    if (!plan_.run) {
      return store(from, to, [this](const Expr& at) {
        return site_.src ? ir::make_load(site_.src->buffer, {offset(true, at)}) : site_.value;
      });
    }
    auto transfer = [&](const char* instr) {
      std::vector<ir::InstrOperand> operands = {
          ir::Address{site_.dst.buffer, offset(false, from)},
          ir::Address{site_.src->buffer, offset(true, from)},
          facts_.simplify(make_binary(BinaryOp::sub, to, from))};
      if (plan_.prefetch.defined()) operands.emplace_back(plan_.prefetch);
      return ir::make_instr(instr, std::move(operands), site_.op->where);
    };
    if (plan_.prefetch.defined()) return transfer("host.copy_ahead");
    if (!plan_.stream) return transfer("host.copy");
    if (!plan_.stream_guard.defined()) return transfer("host.stream");
    return ir::make_if(plan_.stream_guard, transfer("host.stream"), transfer("host.copy"),
                       site_.op->where);
  }

  const HostPlan& plan_;
  const Site& site_;
  ir::Facts facts_;  ///< the site's, and those of our loops
  std::vector<Var> vars_;
  std::vector<Expr> loops_;
};

ir::Stmt lower_host(const Plan& plan, const Site& site) {
  return HostLowering(static_cast<const HostPlan&>(plan), site).lower();
}

}  // namespace

const Method host_stream = {"host_stream", plan_stream, lower_host};
const Method host_run = {"host_run", plan_run, lower_host};
const Method host_loop = {"host_loop", plan_loop, lower_host};

}  // namespace tilecopy::planner
