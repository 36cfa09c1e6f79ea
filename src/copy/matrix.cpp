// Copies between shared memory and fragments by ldmatrix and stmatrix: 8x8 matrices of 2-byte
// elements, up to four for an instruction. Fits fragments that are made of what these hold:
//
//   lane l of a warp has elements (l / 4, 2 * (l % 4)) and (l / 4, 2 * (l % 4) + 1) of a matrix in
//   two registers of 2 bytes in a row, or, with .trans, those of the transposed matrix
//   (PTX ISA, ldmatrix).
#include <fmt/format.h>

#include "copy/cuda_common.h"
#include "copy/host_row.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

constexpr int element_bytes = 2;
constexpr int side_elements = 8;  // of a matrix
constexpr int lanes = 32;
constexpr int pair = 2;  // registers of a lane for one matrix

struct MatrixPlan : Plan {
  Fragment fragment;
  int row_dim = 0;  ///< dimension of the fragment along which the rows of a matrix follow
  bool trans = false;

  std::int64_t matrices() const { return fragment.registers() / pair; }
};

/// Instructions of one kind, one after the other.
struct Series {
  int count;           ///< matrices of one instruction
  std::int64_t first;  ///< matrix
  std::int64_t instructions;
};

// As few instructions as possible: fours, then at most one of two and one of one.
std::vector<Series> series_of(std::int64_t matrices) {
  std::vector<Series> result;
  std::int64_t done = 0;
  for (int count : {4, 2, 1}) {
    std::int64_t instructions = (matrices - done) / count;
    if (instructions > 0) result.push_back({count, done, instructions});
    done += instructions * count;
  }
  return result;
}

bool is_load(const Site& site) { return site.dst.buffer.scope() == Scope::fragment; }

// Where one lane's part of a matrix leads: the dimensions along which its pair of registers, its
// neighbours in fours, and the fours follow each other.
struct Pattern {
  int pairs = -1;  ///< dimension of a lane's two elements, and of four lanes in a row
  int fours = -1;
};

// A fragment as its coordinates: entry d is what thread and register add to coordinate d.
class Coordinates {
 public:
  explicit Coordinates(const Fragment& fragment)
      : thread_count_(fragment.threads()), register_count_(fragment.registers()) {
    for (const Layout& digits : fragment.inverse()) {
      threads_.push_back(digits.mode(0));
      registers_.push_back(digits.mode(1));
    }
  }

  int rank() const { return static_cast<int>(threads_.size()); }
  std::int64_t of_thread(int dim, std::int64_t thread) const {
    return threads_[static_cast<std::size_t>(dim)](thread);
  }
  std::int64_t of_register(int dim, std::int64_t reg) const {
    return registers_[static_cast<std::size_t>(dim)](reg);
  }

  /// The dimensions of the pattern, if the fragment is made of matrices along two dimensions.
  std::optional<Pattern> pattern() const {
    Pattern p;
    for (int d = 0; d < rank(); ++d) {
      if (of_register(d, 1) == 1) p.pairs = d;
      if (of_thread(d, 4) == 1) p.fours = d;
    }
    if (p.pairs < 0 || p.fours < 0 || p.pairs == p.fours) return std::nullopt;
    for (int d = 0; d < rank(); ++d) {
      if (!fits(d, d == p.pairs, d == p.fours)) return std::nullopt;
    }
    return p;
  }

 private:
  // Thread and register add up, so that it is enough to look at each alone.
  bool fits(int dim, bool pairs, bool fours) const {
    std::int64_t align = pairs || fours ? side_elements : 1;
    for (std::int64_t t = 0; t < thread_count_; ++t) {
      std::int64_t warp = of_thread(dim, t / lanes * lanes);
      std::int64_t lane = t % lanes;
      std::int64_t step = pairs ? pair * (lane % 4) : fours ? lane / 4 : 0;
      if (warp % align != 0 || of_thread(dim, t) != warp + step) return false;
    }
    for (std::int64_t r = 0; r < register_count_; ++r) {
      std::int64_t first = of_register(dim, r / pair * pair);
      std::int64_t step = pairs ? r % pair : 0;
      if (first % align != 0 || of_register(dim, r) != first + step) return false;
    }
    return true;
  }

  std::vector<Layout> threads_, registers_;
  std::int64_t thread_count_, register_count_;
};

class Planner {
 public:
  Planner(const Site& site, Rules& rules) : site_(site), rules_(rules) {}

  std::unique_ptr<Plan> plan() {
    if (!machine() || !operands()) return nullptr;
    plan_ = std::make_unique<MatrixPlan>();
    plan_->fragment = site_.simt->fragments.at(fragment_side().buffer.node());
    if (!region() || !layout()) return nullptr;
    describe();
    plan_->guards = rules_.proof().guards();
    return std::move(plan_);
  }

 private:
  void describe() {
    std::string kinds;
    std::int64_t instructions = 0;
    for (const Series& series : series_of(plan_->matrices())) {
      if (!kinds.empty()) kinds += ", ";
      kinds += fmt::format("x{}", series.count);
      instructions += series.instructions;
    }
    plan_->parameters = {{"instruction", is_load(site_) ? "ldmatrix" : "stmatrix"},
                         {"matrices", kinds},
                         {"instructions", fmt::format("{}", instructions)},
                         {"transposed", plan_->trans ? "yes" : "no"}};
  }

  const ir::Region& fragment_side() const { return is_load(site_) ? site_.dst : *site_.src; }

  bool machine() {
    // All architectures that we have are later than sm_75, which brought ldmatrix; stmatrix came
    // with the TMA unit (PTX ISA, stmatrix).
    return rules_.require("arch", is_load(site_) || target::has_tma(*site_.target),
                          "sm_90a or later for stmatrix", site_.target->arch,
                          "compile for a later architecture");
  }

  bool operands() {
    Scope from = site_.src ? site_.src->buffer.scope() : Scope::local;
    Scope to = site_.dst.buffer.scope();
    bool fits = (from == Scope::shared && to == Scope::fragment) ||
                (from == Scope::fragment && to == Scope::shared);
    if (!rules_.require(
            "scope", fits, "shared memory to a fragment, or back",
            fmt::format("{} to {}", site_.src ? to_string(from) : "a value", to_string(to)))) {
      return false;
    }
    DType src = site_.src->buffer.dtype();
    DType dst = site_.dst.buffer.dtype();
    return rules_.require("dtype", src == dst && bytes(dst) == element_bytes,
                          "equal dtypes of 2 bytes",
                          fmt::format("{} to {}", to_string(src), to_string(dst))) &&
           rules_.require("bounds", always_in_bounds(site_), "regions that are always in bounds",
                          "a region that may reach out of bounds", "use whole tiles");
  }

  // The fragment as a whole: every lane of a warp takes part in every instruction.
  bool region() {
    const ir::Region& region = fragment_side();
    const std::vector<std::int64_t> shape = plan_->fragment.shape();
    bool whole = true;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      whole = whole && ir::is_const_int(site_.facts->simplify(region.origin[d]), 0) &&
              ir::is_const_int(region.extent[d], shape[d]);
    }
    if (!rules_.require("region", whole, "all of the fragment",
                        fmt::format("a part of {}", region.buffer.name()))) {
      return false;
    }
    std::int64_t holders = plan_->fragment.threads();
    return rules_.require("threads", holders % lanes == 0 && holders == site_.simt->threads,
                          fmt::format("a fragment over all threads, in whole warps of {}", lanes),
                          fmt::format("{} of {} threads", holders, site_.simt->threads),
                          "use a multiple of 32 threads");
  }

  bool layout() {
    const Fragment& fragment = plan_->fragment;
    std::optional<Pattern> pattern;
    if (fragment.is_bijective() && fragment.registers() % pair == 0) {
      pattern = Coordinates(fragment).pattern();
    }
    if (!rules_.require("fragment", pattern.has_value(),
                        "a fragment of 8x8 matrices, two elements in a row for each lane",
                        to_string(fragment), "annotate the layout of a matrix instruction")) {
      return false;
    }
    // Rows are what is contiguous in shared memory.
    int contiguous = -1;
    for (int dim : {pattern->pairs, pattern->fours}) {
      if (contiguous < 0 && rows_along(dim)) contiguous = dim;
    }
    if (!rules_.require("rows", contiguous >= 0,
                        "rows of 8 elements that are contiguous and 16-byte aligned in shared "
                        "memory",
                        rows_text(*pattern),
                        "give origins and a layout that keep 8 neighbours together")) {
      return false;
    }
    plan_->trans = contiguous == pattern->fours;
    plan_->row_dim = plan_->trans ? pattern->pairs : pattern->fours;
    return true;
  }

  std::size_t axis_of(int dim) const {
    std::size_t found = 0;
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      if ((is_load(site_) ? site_.axes[k].dst : *site_.axes[k].src).dim == dim) found = k;
    }
    return found;
  }

  int aligned_elements(int dim) {
    return vector_elements(site_, is_load(site_), axis_of(dim), side_elements, rules_.proof());
  }

  bool rows_along(int dim) {
    return rules_.proof().attempt([&] { return aligned_elements(dim) == side_elements; });
  }

  std::string rows_text(const Pattern& pattern) {
    return fmt::format("{} along dimension {}, {} along dimension {}",
                       aligned_elements(pattern.pairs), pattern.pairs,
                       aligned_elements(pattern.fours), pattern.fours);
  }

  const Site& site_;
  Rules& rules_;
  std::unique_ptr<MatrixPlan> plan_;
};

// Everything below executes a plan.
class Lowering {
 public:
  Lowering(const MatrixPlan& plan, const Site& site)
      : plan_(plan), site_(site), facts_(*site.facts), where_(site.op->where) {}

  ir::Stmt lower() {
    NamedBlock block(facts_, where_);
    const Expr& thread = site_.simt->thread;
    // Lane l gives the address of row l % 8 of matrix l / 8; those past the last matrix repeat it.
    warp_ = block.name("warp", times(div(thread, lanes), make_int(lanes)));
    row_ = block.name("row", mod(thread, side_elements));
    matrix_ = block.name("matrix", mod(div(thread, side_elements), lanes / side_elements));
    for (const Series& series : series_of(plan_.matrices())) block.add(instructions(series));
    return block.take();
  }

 private:
  static Expr div(const Expr& a, std::int64_t b) {
    return make_binary(BinaryOp::div, a, make_int(b));
  }
  static Expr mod(const Expr& a, std::int64_t b) {
    return make_binary(BinaryOp::mod, a, make_int(b));
  }

  ir::Stmt instructions(const Series& series) {
    if (series.instructions == 1) return instruction(series, make_int(0));
    Var g("g", int64);
    Expr end = make_int(series.instructions);
    facts_.bind_loop(g, make_int(0), end);
    return ir::make_for(ir::LoopKind::unrolled, g, make_int(0), end, instruction(series, g),
                        where_);
  }

  ir::Stmt instruction(const Series& series, const Expr& g) const {
    Expr first = plus(make_int(pair * series.first), times(g, make_int(pair * series.count)));
    const Buffer& fragment = (is_load(site_) ? site_.dst : *site_.src).buffer;
    ir::Address registers = {site_.simt->registers.at(fragment.node()), facts_.simplify(first)};
    ir::Address row = shared_row(plus(first, times(mod(matrix_, series.count), make_int(pair))));
    std::string name = fmt::format("cuda.{}_x{}{}", is_load(site_) ? "ldmatrix" : "stmatrix",
                                   series.count, plan_.trans ? "_trans" : "");
    if (is_load(site_)) return ir::make_instr(name, {registers, row}, where_);
    return ir::make_instr(name, {row, registers}, where_);
  }

  // Row `row_` of the matrix whose first register this is, in shared memory.
  ir::Address shared_row(const Expr& reg) const {
    const std::vector<Layout> inverse = plan_.fragment.inverse();
    std::vector<Expr> loops(site_.axes.size(), make_int(0));
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      int dim = (is_load(site_) ? site_.axes[k].dst : *site_.axes[k].src).dim;
      const Layout& digits = inverse[static_cast<std::size_t>(dim)];
      loops[k] = plus(layout_offset(digits.mode(0).flat(), warp_),
                      layout_offset(digits.mode(1).flat(), reg));
      if (dim == plan_.row_dim) loops[k] = plus(loops[k], row_);
    }
    const Buffer& buffer = (is_load(site_) ? *site_.src : site_.dst).buffer;
    return {buffer, facts_.simplify(site_.offset(is_load(site_), loops))};
  }

  const MatrixPlan& plan_;
  const Site& site_;
  ir::Facts facts_;  ///< the site's, and those of our loops and names
  Location where_;
  Expr warp_, row_, matrix_;
};

std::unique_ptr<Plan> plan_matrix(const Site& site, Rules& rules) {
  return Planner(site, rules).plan();
}

ir::Stmt lower_matrix(const Plan& plan, const Site& site) {
  return Lowering(static_cast<const MatrixPlan&>(plan), site).lower();
}

}  // namespace

const Method matrix = {"matrix", plan_matrix, lower_matrix};

}  // namespace tilecopy::planner
