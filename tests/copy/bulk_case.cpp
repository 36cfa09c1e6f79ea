#include "bulk_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/make.h"

namespace tilecopy::test {
namespace {

Ints or_zeros(const Ints& some, std::size_t rank) { return some.empty() ? Ints(rank, 0) : some; }

// ---- A model of the device code ----

constexpr std::int64_t safe_element = -1;

// Executes what bulk lowered to. Both memories start at a multiple of 16 bytes.
class Model {
 public:
  Model(const ir::Stmt& body, ir::test::Assignment values, const Var& thread, int threads)
      : values_(std::move(values)) {
    for (std::int64_t t = 0; t < threads; ++t) {
      values_[thread.node()] = t;
      run(body);
    }
  }

  std::map<std::int64_t, std::int64_t> moved;  ///< destination to source, by offset in elements
  std::int64_t expected = 0, loaded = 0, arrivals = 0, commits = 0, runs = 0;
  std::string faults;

 private:
  void run(const ir::Stmt& s) {
    if (!s) return;
    if (const auto* block = ir::as<ir::Block>(s)) {
      for (const ir::Stmt& part : block->body) run(part);
    } else if (const auto* let = ir::as<ir::Let>(s)) {
      values_[let->var.node()] = value(let->value);
    } else if (const auto* branch = ir::as<ir::If>(s)) {
      run(value(branch->condition) ? branch->then_body : branch->else_body);
    } else if (const auto* loop = ir::as<ir::For>(s)) {
      for (std::int64_t i = value(loop->begin); i < value(loop->end); ++i) {
        values_[loop->var.node()] = i;
        run(loop->body);
      }
    } else if (const auto* store = ir::as<ir::Store>(s)) {
      move(value(store->indices[0]), source(store->value));
    } else if (const auto* instr = ir::as<ir::Instr>(s)) {
      execute(*instr);
    } else {
      faults += "an unexpected statement\n";
    }
  }

  std::int64_t source(const Expr& e) const {
    if (const auto* select = ir::as<ir::Select>(e)) {
      return source(value(select->condition) ? select->a : select->b);
    }
    const auto* load = ir::as<ir::Load>(e);
    return load ? value(load->indices[0]) : safe_element;
  }

  // PTX ISA, cp.async.bulk: addresses and the size are multiples of 16.
  void execute(const ir::Instr& instr) {
    if (instr.name == "cuda.expect_tx") {
      ++arrivals;
      expected += value(std::get<Expr>(instr.operands[1]));
    } else if (instr.name == "cuda.bulk_commit") {
      ++commits;
    } else if (instr.name.starts_with("cuda.bulk_load") ||
               instr.name.starts_with("cuda.bulk_store")) {
      const auto& to = std::get<ir::Address>(instr.operands[0]);
      const auto& from = std::get<ir::Address>(instr.operands[1]);
      std::int64_t element = bytes(to.buffer.dtype());
      std::int64_t size = value(std::get<Expr>(instr.operands[2]));
      std::int64_t dst = value(to.offset), src = value(from.offset);
      if (size <= 0 || size % 16 || dst * element % 16 || src * element % 16) {
        faults += fmt::format("{} bytes from element {} to {}\n", size, src, dst);
      }
      ++runs;
      if (instr.name.starts_with("cuda.bulk_load")) loaded += size;
      for (std::int64_t i = 0; i < size / element; ++i) move(dst + i, src + i);
    } else {
      faults += "unexpected " + instr.name + "\n";
    }
  }

  void move(std::int64_t dst, std::int64_t src) {
    if (!moved.emplace(dst, src).second) faults += fmt::format("element {} twice\n", dst);
  }

  std::int64_t value(const Expr& e) const { return ir::test::evaluate(e, values_); }

  ir::test::Assignment values_;
};

// What the copy means, in the words of the language: destination to source.
std::map<std::int64_t, std::int64_t> meaning(const BulkCase& row, std::int64_t block, bool* whole) {
  std::size_t rank = row.tile.size();
  Ints strides = row.strides, size = row.tile;
  if (strides.empty()) {
    strides.assign(rank, 1);
    for (std::size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * row.shape[d];
  }
  const Ints origin = or_zeros(row.origin, rank), inner = or_zeros(row.tile_origin, rank);
  std::int64_t count = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    count *= row.tile[d];
    size[d] += inner[d];
  }
  TileLayout layout = row.layout ? *row.layout : TileLayout(row_major(size));
  std::map<std::int64_t, std::int64_t> result;
  *whole = true;
  for (std::int64_t i = 0; i < count; ++i) {
    Ints in = inner;
    std::int64_t rest = i, outer = 0;
    bool inside = true;
    for (std::size_t d = rank; d-- > 0;) {
      std::int64_t index = rest % row.tile[d];
      rest /= row.tile[d];
      in[d] += index;
      std::size_t e = row.transposed ? rank - 1 - d : d;
      std::int64_t at = origin[e] + index + (e == 0 ? block * row.tile[0] : 0);
      inside &= at >= 0 && at < row.shape[e];
      outer += at * strides[e];
    }
    *whole &= inside;
    std::int64_t tile = layout(IntTuple(in));
    if (!row.store) result[tile] = inside ? outer : safe_element;
    if (row.store && inside) result[outer] = tile;
  }
  return result;
}

}  // namespace

MadeCase make(const BulkCase& row) {
  std::optional<Var> block;
  Function made = function("f", [&] {
    Buffer a = tensor("A", {row.shape.begin(), row.shape.end()}, row.store ? row.to : row.dtype,
                      {row.strides.begin(), row.strides.end()});
    auto [bx] = kernel({row.blocks});
    block = bx;
    if (row.safe) annotate_safe_value(a, *row.safe);
    const Ints origin = or_zeros(row.origin, row.shape.size());
    const Ints inner = or_zeros(row.tile_origin, row.tile.size());
    std::vector<Expr> size;
    std::vector<Index> at, in;
    for (std::size_t d = 0; d < row.tile.size(); ++d) {
      Expr first = d == 0 ? bx * row.tile[0] + origin[0] : Expr(origin[d]);
      std::int64_t extent = row.tile[row.transposed ? row.tile.size() - 1 - d : d];
      at.emplace_back(range(first, first + extent));
      in.emplace_back(range(inner[d], inner[d] + row.tile[d]));
      size.emplace_back(inner[d] + row.tile[d]);
    }
    Buffer tile = alloc_shared(size, row.store ? row.dtype : row.to, "tile");
    if (row.layout) annotate_layout(tile, *row.layout);
    if (row.transposed) {
      transpose(Access(a, at), Access(tile, in));
    } else if (row.store) {
      cuda::copy(Access(tile, in), Access(a, at), row.options);
    } else {
      cuda::copy(Access(a, at), Access(tile, in), row.options);
    }
  });
  return {made, block};
}

void expect_moves(const BulkCase& row, const MadeCase& made, const Planned& planned) {
  const planner::Simt& simt = *planned.site->simt;
  for (std::int64_t block = 0; block < row.blocks; ++block) {
    SCOPED_TRACE(block);
    bool whole = true;
    const auto wanted = meaning(row, block, &whole);
    Model model(planned.lowered(), {{made.block->node(), block}}, simt.thread, simt.threads);
    EXPECT_EQ(model.faults, "");
    EXPECT_TRUE(model.moved == wanted) << "elements in the wrong places";
    EXPECT_EQ(std::to_string(model.runs), whole ? row.runs : "0");
    EXPECT_EQ(model.arrivals, row.store ? 0 : 1);
    EXPECT_EQ(model.commits, row.store ? 1 : 0);
    EXPECT_EQ(model.expected, model.loaded);
    EXPECT_EQ(model.expected, whole ? planned.plan->barrier_bytes : 0);
  }
}

}  // namespace tilecopy::test
