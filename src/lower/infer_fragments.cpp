#include "lower/infer_fragments.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/make.h"
#include "ir/parts.h"
#include "ir/walk.h"
#include "lower/lower.h"
#include "tilecopy/error.h"

namespace tilecopy::lower {
namespace {

using Node = const ir::BufferNode*;

// A thread has 255 registers of 4 bytes; a fragment that takes most of them would spill.
constexpr std::int64_t most_register_bytes = 512;

bool is_fragment(const Buffer& buffer) { return buffer.scope() == Scope::fragment; }

std::vector<std::int64_t> shape_of(const Buffer& tile) {
  std::vector<std::int64_t> shape;
  for (const Expr& extent : tile.shape()) shape.push_back(*ir::const_int(extent));
  return shape;
}

bool whole(const ir::Region& region) {
  for (std::size_t d = 0; d < region.extent.size(); ++d) {
    if (!ir::is_const_int(region.origin[d], 0) ||
        !ir::equal(region.extent[d], region.buffer.shape()[d])) {
      return false;
    }
  }
  return true;
}

std::string place(Location where) {
  return where.known() ? fmt::format("{}:{}", where.file, where.line) : "a statement";
}

// Tiles that must be held alike, in classes.
class Classes {
 public:
  Classes(const ir::Kernel& kernel, const target::Target& target)
      : kernel_(kernel), target_(target), facts_(all_facts(kernel)) {
    ir::for_each_stmt(kernel.body, [&](const ir::Stmt& s) { collect(s); });
  }

  FragmentLayouts solve() {
    for (const Buffer& tile : tiles_) {
      if (root(tile.node()) == tile.node()) solve(tile.node());
    }
    for (const Buffer& tile : tiles_) {
      if (out_.contains(tile.node())) result_.shared.push_back(tile);
    }
    return std::move(result_);
  }

 private:
  Node root(Node node) {
    while (parent_[node] != node) node = parent_[node];
    return node;
  }

  void unite(const Buffer& a, const Buffer& b) { parent_[root(a.node())] = root(b.node()); }

  // The tile moves to shared memory.
  void expel(const Buffer& tile, const std::string& reason) {
    if (!out_.insert(tile.node()).second) return;
    result_.remarks.push_back(fmt::format("{}: kept in shared memory, {}", tile.name(), reason));
  }

  void collect(const ir::Stmt& s) {
    if (const auto* alloc = ir::as<ir::Alloc>(s)) {
      if (!is_fragment(alloc->buffer)) return;
      tiles_.push_back(alloc->buffer);
      parent_[alloc->buffer.node()] = alloc->buffer.node();
      if (alloc->fragment) annotated_[alloc->buffer.node()] = *alloc->fragment;
      return;
    }
    if (const auto* parallel = ir::as<ir::Parallel>(s)) return collect_parallel(*parallel);
    if (in_parallel_.contains(s.get())) return;
    if (const auto* copy = ir::as<ir::Copy>(s)) {
      pair(copy->src, copy->dst, false, s->where);
      if (copy->hints.loop_layout) prefer(copy->src, copy->dst, *copy->hints.loop_layout);
    } else if (const auto* transpose = ir::as<ir::Transpose>(s)) {
      pair(transpose->src, transpose->dst, true, s->where);
    } else if (const auto* im2col = ir::as<ir::Im2col>(s); im2col && is_fragment(im2col->img)) {
      expel(im2col->img, fmt::format("{} gathers from it", place(s->where)));
    } else if (const auto* store = ir::as<ir::Store>(s); store && is_fragment(store->buffer)) {
      expel(store->buffer, fmt::format("{} writes one element", place(s->where)));
    }
    ir::for_each_direct_expr(*s, [&](const Expr& e) { expel_loads(e, s->where); });
  }

  void expel_loads(const Expr& e, Location where) {
    ir::for_each_expr(e, [&](const Expr& part) {
      const auto* load = ir::as<ir::Load>(part);
      if (load && is_fragment(load->buffer)) {
        expel(load->buffer, fmt::format("every thread reads an element of it in {}", place(where)));
      }
    });
  }

  // Whether every element of the region is one of the buffer.
  bool inside(const ir::Region& region) const {
    for (std::size_t d = 0; d < region.extent.size(); ++d) {
      Expr end = ir::make_binary(ir::BinaryOp::add, region.origin[d], region.extent[d]);
      if (!facts_.proves(ir::make_binary(ir::BinaryOp::ge, region.origin[d], ir::make_int(0))) ||
          !facts_.proves(ir::make_binary(ir::BinaryOp::le, end, region.buffer.shape()[d]))) {
        return false;
      }
    }
    return true;
  }

  void pair(const ir::Region& src, const ir::Region& dst, bool swapped, Location where) {
    if (src.buffer.scope() == Scope::shared) beside_shared_.insert(dst.buffer.node());
    if (dst.buffer.scope() == Scope::shared) beside_shared_.insert(src.buffer.node());
    if (is_fragment(src.buffer) && !inside(src)) {
      expel(src.buffer, fmt::format("{} may read past its end", place(where)));
    }
    if (is_fragment(src.buffer) && dst.buffer.scope() == Scope::local) {
      expel(src.buffer, fmt::format("every thread reads all of it in {}", place(where)));
    }
    if (!is_fragment(src.buffer) || !is_fragment(dst.buffer)) return;
    bool alike = !swapped && whole(src) && whole(dst) &&
                 shape_of(src.buffer) == shape_of(dst.buffer) &&
                 src.buffer.node() != dst.buffer.node();
    if (alike) return unite(src.buffer, dst.buffer);
    expel(src.buffer, fmt::format("threads exchange its elements with {} in {}", dst.buffer.name(),
                                  place(where)));
  }

  // A loop layout of a copy says how its fragment should be held.
  void prefer(const ir::Region& src, const ir::Region& dst, const Fragment& layout) {
    for (const ir::Region& side : {src, dst}) {
      if (is_fragment(side.buffer) && whole(side) && shape_of(side.buffer) == layout.shape()) {
        preferred_.try_emplace(side.buffer.node(), layout);
      }
    }
  }

  void collect_parallel(const ir::Parallel& loop) {
    std::vector<Buffer> held;
    auto use = [&](const Buffer& tile, const std::vector<Expr>& indices, Location where) {
      if (!is_fragment(tile)) return;
      if (!loops_over(loop, tile, indices)) {
        return expel(tile, fmt::format("the loop at {} uses elements other than its own",
                                       place(where.known() ? where : loop.where)));
      }
      held.push_back(tile);
    };
    ir::for_each_stmt(loop.body, [&](const ir::Stmt& s) {
      in_parallel_.insert(s.get());
      if (const auto* store = ir::as<ir::Store>(s)) use(store->buffer, store->indices, s->where);
      ir::for_each_direct_expr(*s, [&](const Expr& e) {
        ir::for_each_expr(e, [&](const Expr& part) {
          if (const auto* load = ir::as<ir::Load>(part)) use(load->buffer, load->indices, s->where);
        });
      });
    });
    for (std::size_t i = 1; i < held.size(); ++i) unite(held[0], held[i]);
    if (!held.empty() && loop.hints.loop_layout &&
        loop.hints.loop_layout->shape() == shape_of(held[0])) {
      preferred_.try_emplace(held[0].node(), *loop.hints.loop_layout);
    }
    for (const Expr& e : loop.extents) expel_loads(e, loop.where);
  }

  static bool loops_over(const ir::Parallel& loop, const Buffer& tile,
                         const std::vector<Expr>& indices) {
    if (loop.vars.size() != indices.size()) return false;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      // The variable of one round is 0 by now.
      const bool own = indices[d].node() == loop.vars[d].node() ||
                       (ir::is_const_int(tile.shape()[d], 1) && ir::is_const_int(indices[d], 0));
      if (!own || !ir::equal(loop.extents[d], tile.shape()[d])) return false;
    }
    return true;
  }

  void solve(Node representative) {
    std::vector<Buffer> members;
    for (const Buffer& tile : tiles_) {
      if (root(tile.node()) == representative && !out_.contains(tile.node())) {
        members.push_back(tile);
      }
    }
    if (members.empty()) return;
    const Fragment* chosen = nullptr;
    const Buffer* owner = nullptr;
    for (const auto* source : {&annotated_, &preferred_}) {
      for (const Buffer& tile : members) {
        auto it = source->find(tile.node());
        if (it == source->end()) continue;
        if (!it->second.is_bijective()) {
          if (source == &annotated_) expel(tile, "its layout leaves registers unused");
        } else if (!chosen) {
          chosen = &it->second;
          owner = &tile;
        } else if (source == &annotated_ && !(it->second == *chosen)) {
          expel(tile, fmt::format("its layout {} differs from that of {}, {}",
                                  to_string(it->second), owner->name(), to_string(*chosen)));
        }
      }
    }
    std::optional<Fragment> layout = chosen ? std::optional(*chosen) : choose(members);
    for (const Buffer& tile : members) {
      if (out_.contains(tile.node())) continue;
      if (layout && layout->registers() * bytes(tile.dtype()) > most_register_bytes) {
        expel(tile, fmt::format("each thread would hold {} bytes of it, {} at most",
                                layout->registers() * bytes(tile.dtype()), most_register_bytes));
      } else if (layout && layout->threads() <= kernel_.threads) {
        result_.fragments.emplace(tile.node(), *layout);
      } else {
        expel(tile, fmt::format("{} threads cannot share its {} elements evenly", kernel_.threads,
                                elements(tile)));
      }
    }
  }

  static std::int64_t elements(const Buffer& tile) {
    std::int64_t result = 1;
    for (std::int64_t extent : shape_of(tile)) result *= extent;
    return result;
  }

  // Bytes of the widest access that all memory beside these tiles takes without bank conflicts.
  int widest_access(const std::vector<Buffer>& members) const {
    for (const Buffer& tile : members) {
      if (beside_shared_.contains(tile.node())) return 16;
    }
    return target::has_wide_access(target_) ? 32 : 16;
  }

  // Row-major, neighbours of one access to a thread, with all threads or nearly all at work.
  std::optional<Fragment> choose(const std::vector<Buffer>& members) const {
    std::vector<std::int64_t> shape = shape_of(members[0]);
    std::int64_t total = elements(members[0]);
    int narrowest = 16;
    for (const Buffer& tile : members) narrowest = std::min(narrowest, bytes(tile.dtype()));
    for (std::int64_t vector = widest_access(members) / narrowest; vector >= 1; vector /= 2) {
      if (shape.empty() || shape.back() % vector != 0) continue;
      if (vector > 1 && total / vector < kernel_.threads) continue;
      std::int64_t most = std::min<std::int64_t>(kernel_.threads, total / vector);
      for (std::int64_t threads = most; threads * 4 > most * 3; --threads) {
        if (total % (threads * vector) != 0) continue;
        try {
          Fragment fragment = Fragment::linear(shape, threads, vector);
          if (fragment.is_bijective()) {
            fragment.inverse();
            return fragment;
          }
        } catch (const UserError&) {
          continue;  // rows and rounds do not nest
        }
      }
    }
    return std::nullopt;
  }

  const ir::Kernel& kernel_;
  const target::Target& target_;
  ir::Facts facts_;
  std::vector<Buffer> tiles_;
  std::map<Node, Node> parent_;
  std::map<Node, Fragment> annotated_, preferred_;
  std::set<Node> out_;
  std::set<Node> beside_shared_;
  std::set<const ir::StmtNode*> in_parallel_;
  FragmentLayouts result_;
};

}  // namespace

FragmentLayouts infer_fragments(const ir::Kernel& kernel, const target::Target& target) {
  return Classes(kernel, target).solve();
}

}  // namespace tilecopy::lower
