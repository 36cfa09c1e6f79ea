// Transposes by the threads of a block, square by square: a thread loads rows of a square of
// elements, exchanges rows and columns in its registers, and stores rows, so that both sides are
// touched in the widest accesses. Ragged tiles go element by element.
#include <fmt/format.h>

#include <algorithm>

#include "copy/access_model.h"
#include "copy/cuda_common.h"
#include "copy/host_row.h"
#include "copy/partition.h"
#include "copy/simt.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::make_binary;
using ir::make_int;

constexpr int access_bytes = 16;
// A square of bytes with sides of 16 would take 128 registers.
constexpr int longest_side = 8;
// Conflicts that cost as much as going element by element.
constexpr int most_bank_ways = 4;

struct TransposePlan : Plan {
  Partition squares;                       ///< loops count squares
  int side = 1;                            ///< elements of a side of a square
  std::size_t src_axis = 0, dst_axis = 0;  ///< along which each side's rows run
  std::unique_ptr<Plan> elements;          ///< of simt, for ragged tiles; null when there are none
  Expr policy;

  /// The squares of a round, with loops that count elements.
  Group group(const Site& site, const Expr& round, const ir::Facts& facts) const {
    Group result = squares.group(site.simt->thread, round, facts);
    for (Expr& loop : result.loops) loop = times(loop, make_int(side));
    return result;
  }
};

bool in_memory(const Buffer& buffer) {
  return buffer.scope() == Scope::global || buffer.scope() == Scope::shared;
}

// The axis along which a side has neighbours; empty when there is none or more than one.
std::optional<std::size_t> row_axis(const Site& site, bool of_src) {
  std::optional<std::size_t> found;
  for (std::size_t k = 0; k < site.axes.size(); ++k) {
    if (!contiguous(site, of_src, k)) continue;
    if (found) return std::nullopt;
    found = k;
  }
  return found;
}

class Planner {
 public:
  Planner(const Site& site, Rules& rules) : site_(site), rules_(rules) {}

  std::unique_ptr<Plan> plan() {
    if (!in_two_memories() || !along_rows() || !of_squares() || !free_of_conflicts()) {
      return nullptr;
    }
    plan_->policy = cache_policy(site_);
    plan_->guards = rules_.proof().guards();
    if (!always_in_bounds(site_)) plan_ragged();
    describe();
    return std::move(plan_);
  }

 private:
  bool in_two_memories() {
    const Buffer &src = site_.src->buffer, &dst = site_.dst.buffer;
    return rules_.require("memory", in_memory(src) && in_memory(dst),
                          "tiles in shared or global memory",
                          fmt::format("{} in {} and {} in {}", src.name(), to_string(src.scope()),
                                      dst.name(), to_string(dst.scope()))) &&
           rules_.require("dtype", src.dtype() == dst.dtype(), "one dtype on both sides",
                          fmt::format("{} and {}", to_string(src.dtype()), to_string(dst.dtype())),
                          "cast in a copy before or after");
  }

  bool along_rows() {
    const auto src = row_axis(site_, true), dst = row_axis(site_, false);
    if (!rules_.require("rows", site_.axes.size() == 2 && src && dst && *src != *dst,
                        "two dimensions, and neighbours in memory along one of them on each side",
                        fmt::format("{} dimensions of more than one element", site_.axes.size()))) {
      return false;
    }
    plan_->src_axis = *src;
    plan_->dst_axis = *dst;
    return true;
  }

  bool of_squares() {
    const int element = bytes(site_.dst.buffer.dtype());
    plan_->side = std::min(access_bytes / element, longest_side);
    const int side = plan_->side;
    const auto extents = constant_extents(site_);
    const bool whole = extents && (*extents)[0] % side == 0 && (*extents)[1] % side == 0;
    if (!rules_.require(
            "squares", whole,
            fmt::format("extents that are multiples of {}, in squares of {} bytes a row", side,
                        side * element),
            extents ? fmt::format("{} and {}", (*extents)[0], (*extents)[1])
                    : "an extent that the compiler does not know",
            fmt::format("choose a tile of multiples of {}", side))) {
      return false;
    }
    Proof& proof = rules_.proof();
    const bool aligned = proof.attempt([&] {
      return vector_elements(site_, true, plan_->src_axis, side, proof) == side &&
             vector_elements(site_, false, plan_->dst_axis, side, proof) == side;
    });
    if (!rules_.require(
            "alignment", aligned,
            fmt::format("rows of squares at multiples of {} bytes on both sides", side * element),
            "a pitch, offset or layout that breaks them",
            fmt::format("pad the rows of tensors to multiples of {} elements", side))) {
      return false;
    }
    std::vector<Expr> counts;
    for (std::int64_t extent : *extents) counts.push_back(make_int(extent / side));
    // Neighbouring threads go along rows in global memory. Without it they go along the source's:
    // the destination's layout is the one that is made for columns.
    const bool along_dst = site_.dst.buffer.scope() == Scope::global;
    const std::size_t fastest = along_dst ? plan_->dst_axis : plan_->src_axis;
    plan_->squares =
        Partition::linear(std::move(counts), {1 - fastest, fastest}, site_.simt->threads, 1);
    return true;
  }

  bool free_of_conflicts() {
    const Group first = plan_->group(site_, make_int(0), *site_.facts);
    int ways = 1;
    for (bool of_src : {true, false}) {
      const Buffer& buffer = of_src ? site_.src->buffer : site_.dst.buffer;
      if (buffer.scope() != Scope::shared) continue;
      ways = std::max(ways, bank_ways(site_, first, of_src, plan_->side));
    }
    return rules_.require("banks", ways <= most_bank_ways,
                          "rows of squares in different banks of shared memory",
                          fmt::format("{} in one bank", ways),
                          "leave the tile's layout to the compiler, and give it rows of a power of "
                          "two elements");
  }

  void plan_ragged() {
    Rules rules(simt.name, site_);
    plan_->elements = simt.plan(site_, rules);
    for (const Guard& guard : plan_->elements->guards) {
      const bool known = std::any_of(plan_->guards.begin(), plan_->guards.end(),
                                     [&](const Guard& other) { return other.text == guard.text; });
      if (!known) plan_->guards.push_back(guard);
    }
  }

  void describe() {
    auto add = [&](const char* name, std::string text) {
      plan_->parameters.emplace_back(name, std::move(text));
    };
    const int width = plan_->side * bytes(site_.dst.buffer.dtype());
    add("access_bytes", fmt::format("{} in, {} out", width, width));
    add("square",
        fmt::format("{}x{} elements in the registers of a thread", plan_->side, plan_->side));
    add("rounds", site_.facts->simplify(plan_->squares.rounds()).to_string());
    add("bounds", plan_->elements ? "one test of the tile; ragged tiles element by element"
                                  : "proved, no checks");
    describe_accesses(site_, plan_->group(site_, make_int(0), *site_.facts), plan_->side,
                      plan_->side, *plan_);
    describe_policy(site_, *plan_);
  }

  const Site& site_;
  Rules& rules_;
  std::unique_ptr<TransposePlan> plan_ = std::make_unique<TransposePlan>();
};

// Everything below executes a plan.
class Lowering {
 public:
  Lowering(const TransposePlan& plan, const Site& site)
      : plan_(plan), site_(site), facts_(*site.facts), where_(site.op->where) {}

  ir::Stmt lower() {
    return whole_or_ragged(site_, [this](bool ragged) {
      return ragged ? lower_ragged_simt(*plan_.elements, site_) : rounds();
    });
  }

 private:
  ir::Stmt rounds() {
    const Expr count = facts_.simplify(plan_.squares.rounds());
    if (ir::is_const_int(count, 1)) return round(make_int(0));
    Var r("r", int64);
    facts_.bind_loop(r, make_int(0), count);
    ir::Stmt body = round(r);
    return ir::make_for(ir::LoopKind::serial, r, make_int(0), count, body, where_);
  }

  ir::Stmt round(const Expr& r) {
    Group group = plan_.group(site_, r, facts_);
    NamedBlock block(facts_, where_);
    for (Expr& loop : group.loops) loop = block.name("i", facts_.simplify(loop));
    for (bool of_src : {true, false}) {
      Expr first = facts_.simplify(site_.offset(of_src, group.loops));
      (of_src ? src_first_ : dst_first_) = block.name(of_src ? "from" : "to", first);
    }
    std::vector<ir::Stmt> body;
    const Buffer in = registers("in", body), out = registers("out", body);
    for (int row = 0; row < plan_.side; ++row) body.push_back(move_row(true, group, row, in));
    body.push_back(exchange(in, out));
    for (int row = 0; row < plan_.side; ++row) body.push_back(move_row(false, group, row, out));
    ir::Stmt square = ir::make_block(std::move(body), where_);
    block.add(group.exists.defined() ? ir::make_if(group.exists, square, nullptr, where_) : square);
    return block.take();
  }

  // Registers for a square, row after row.
  Buffer registers(const char* name, std::vector<ir::Stmt>& body) const {
    auto node = std::make_shared<ir::BufferNode>();
    node->name = name;
    node->dtype = site_.dst.buffer.dtype();
    node->scope = Scope::local;
    node->shape = {make_int(plan_.side * plan_.side)};
    node->where = where_;
    Buffer buffer(std::move(node));
    auto alloc = ir::make_stmt<ir::Alloc>(where_);
    alloc->buffer = buffer;
    body.push_back(alloc);
    return buffer;
  }

  // Elements between the rows of a square, where they are the same for all squares.
  std::optional<std::int64_t> row_step(bool of_src) const {
    const std::size_t down = of_src ? plan_.dst_axis : plan_.src_axis;
    const AxisSide& side = of_src ? *site_.axes[down].src : site_.axes[down].dst;
    if (side.stride) return ir::const_int(*side.stride);
    const ir::Region& region = of_src ? *site_.src : site_.dst;
    const auto found = site_.layouts->find(region.buffer.node());
    if (found == site_.layouts->end() || !found->second.swizzle()) return std::nullopt;
    const Expr phase = make_binary(
        ir::BinaryOp::mod, region.origin[static_cast<std::size_t>(side.dim)], make_int(plan_.side));
    if (!ir::is_const_int(facts_.simplify(phase), 0)) return std::nullopt;
    // The rows of a square differ below the bits that the swizzle looks at.
    const std::vector<Mode> digits = coalesce(found->second.layout().mode(side.dim)).flat();
    const Swizzle& swizzle = *found->second.swizzle();
    if (digits.size() != 1 || swizzle.shift() < 0 || swizzle.base() + swizzle.shift() > 62 ||
        digits[0].stride * plan_.side > std::int64_t{1} << (swizzle.base() + swizzle.shift()) ||
        digits[0].stride < std::int64_t{1} << (swizzle.base() + swizzle.bits())) {
      return std::nullopt;
    }
    return digits[0].stride;
  }

  Expr row_offset(bool of_src, const Group& group, int row) const {
    if (row == 0) return of_src ? src_first_ : dst_first_;
    if (const auto step = row_step(of_src)) {
      return plus(of_src ? src_first_ : dst_first_, make_int(row * *step));
    }
    std::vector<Expr> loops = group.loops;
    const std::size_t down = of_src ? plan_.dst_axis : plan_.src_axis;
    loops[down] = plus(loops[down], make_int(row));
    return facts_.simplify(site_.offset(of_src, loops));
  }

  // A row of the square, between one side and registers.
  ir::Stmt move_row(bool of_src, const Group& group, int row, const Buffer& regs) const {
    const Buffer& buffer = of_src ? site_.src->buffer : site_.dst.buffer;
    ir::InstrOperand memory = ir::Address{buffer, row_offset(of_src, group, row)};
    ir::InstrOperand reg = ir::Address{regs, make_int(row * plan_.side)};
    const bool hinted = plan_.policy.defined() && buffer.scope() == Scope::global;
    std::vector<ir::InstrOperand> operands = {of_src ? reg : memory, of_src ? memory : reg,
                                              make_int(plan_.side * bytes(buffer.dtype()))};
    if (hinted) operands.emplace_back(plan_.policy);
    std::string_view name = !hinted ? "cuda.move" : of_src ? "cuda.load_hint" : "cuda.store_hint";
    return ir::make_instr(name, std::move(operands), where_);
  }

  ir::Stmt exchange(const Buffer& in, const Buffer& out) const {
    const Expr side = make_int(plan_.side);
    Var row("row", int64), column("column", int64);
    ir::Stmt one = ir::make_store(out, {plus(times(row, side), column)},
                                  ir::make_load(in, {plus(times(column, side), row)}), where_);
    ir::Stmt rows = ir::make_for(ir::LoopKind::unrolled, column, make_int(0), side, one, where_);
    return ir::make_for(ir::LoopKind::unrolled, row, make_int(0), side, rows, where_);
  }

  const TransposePlan& plan_;
  const Site& site_;
  ir::Facts facts_;
  Location where_;
  Expr src_first_, dst_first_;  ///< of a square, on each side
};

std::unique_ptr<Plan> plan_transpose(const Site& site, Rules& rules) {
  return Planner(site, rules).plan();
}

ir::Stmt lower_transpose(const Plan& plan, const Site& site) {
  return Lowering(static_cast<const TransposePlan&>(plan), site).lower();
}

}  // namespace

const Method register_transpose = {"register_transpose", plan_transpose, lower_transpose};

}  // namespace tilecopy::planner
