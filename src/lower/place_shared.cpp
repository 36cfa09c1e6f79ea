#include "lower/place_shared.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostic.h"
#include "ir/make.h"
#include "ir/parts.h"
#include "ir/walk.h"

namespace tilecopy::lower {
namespace {

// A tile with the statements, by number in order, from its first use to its last.
struct Lifetime {
  Buffer tile;
  Location where;
  std::int64_t bytes = 0;
  std::int64_t alignment = planner::shared_alignment;
  int first = INT32_MAX, last = -1;
};

// Numbers statements; a tile that is declared outside of a loop and used inside is in use for all
// of the loop, since the next iteration may need what the last one left.
class Lifetimes {
 public:
  Lifetimes(const ir::Kernel& kernel, const planner::Layouts& layouts) : layouts_(layouts) {
    visit(kernel.body);
  }

  std::vector<Lifetime> take() { return std::move(tiles_); }

 private:
  struct Loop {
    int begin;
    std::size_t tiles_before;       ///< tiles declared outside
    std::vector<std::size_t> used;  ///< of those
  };

  void visit(const ir::Stmt& s) {
    if (const auto* alloc = ir::as<ir::Alloc>(s)) return declare(*alloc);
    int now = clock_++;
    const ir::Parts parts = ir::parts_of(*s);
    for (const Buffer& buffer : parts.buffers) use(buffer, now);
    for (const Expr& e : parts.exprs) {
      ir::for_each_expr(e, [&](const Expr& part) {
        if (const auto* load = ir::as<ir::Load>(part)) use(load->buffer, now);
      });
    }
    bool loop = s->kind == ir::StmtKind::For;
    if (loop) loops_.push_back({now, tiles_.size(), {}});
    for (const ir::Stmt& body : parts.bodies) visit(body);
    if (!loop) return;
    int end = clock_++;
    Loop closed = std::move(loops_.back());
    loops_.pop_back();
    for (std::size_t i : closed.used) extend(i, closed.begin, end);
  }

  void declare(const ir::Alloc& alloc) {
    if (alloc.buffer.scope() != Scope::shared) return;
    Lifetime life;
    life.tile = alloc.buffer;
    life.where = alloc.where;
    int element = bytes(alloc.buffer.dtype());
    if (__builtin_mul_overflow(planner::tile_elements(alloc.buffer, layouts_), element,
                               &life.bytes)) {
      life.bytes = INT64_MAX / 4;
    }
    auto layout = layouts_.find(alloc.buffer.node());
    if (layout != layouts_.end() && layout->second.swizzle()) {
      life.alignment = std::max(life.alignment, layout->second.swizzle()->period() * element);
    }
    index_[alloc.buffer.node()] = tiles_.size();
    tiles_.push_back(std::move(life));
  }

  void use(const Buffer& buffer, int now) {
    auto it = index_.find(buffer.node());
    if (it == index_.end()) return;
    extend(it->second, now, now);
    for (Loop& loop : loops_) {
      if (it->second < loop.tiles_before) loop.used.push_back(it->second);
    }
  }

  void extend(std::size_t i, int first, int last) {
    tiles_[i].first = std::min(tiles_[i].first, first);
    tiles_[i].last = std::max(tiles_[i].last, last);
  }

  const planner::Layouts& layouts_;
  std::vector<Lifetime> tiles_;
  std::map<const ir::BufferNode*, std::size_t> index_;
  std::vector<Loop> loops_;
  int clock_ = 0;
};

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

}  // namespace

SharedMemory place_shared(const ir::Kernel& kernel, const planner::Layouts& layouts,
                          const Buffer& mbarriers, std::int64_t mbarrier_bytes,
                          std::int64_t most_bytes) {
  std::vector<Lifetime> tiles = Lifetimes(kernel, layouts).take();
  SharedMemory memory;
  std::string sizes;
  std::int64_t end = 0;
  std::vector<const Lifetime*> placed;
  for (const Lifetime& tile : tiles) {
    // The lowest place that no tile in use at the same time covers.
    std::int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const Lifetime* other : placed) {
        std::int64_t begin = memory.offsets.at(other->tile.node());
        bool together = other->first <= tile.last && tile.first <= other->last;
        if (!together || offset >= begin + other->bytes || begin >= offset + tile.bytes) continue;
        offset = round_up(begin + other->bytes, tile.alignment);
        moved = true;
      }
    }
    memory.offsets[tile.tile.node()] = offset;
    memory.sizes[tile.tile.node()] = tile.bytes;
    end = std::max(end, offset + tile.bytes);
    placed.push_back(&tile);
    sizes += fmt::format("{}{} {} bytes", sizes.empty() ? "" : ", ", tile.tile.name(), tile.bytes);
    if (end + mbarrier_bytes > most_bytes) {
      raise(ErrorCode::E0421, tile.where,
            {.needed = fmt::format("at most {} bytes of shared memory for a block", most_bytes),
             .found = fmt::format("{} bytes: {}", end + mbarrier_bytes, sizes)});
    }
  }
  if (mbarriers.defined()) {
    end = round_up(end, 8);
    memory.offsets[mbarriers.node()] = end;
    memory.sizes[mbarriers.node()] = mbarrier_bytes;
    end += mbarrier_bytes;
  }
  memory.bytes = end;
  return memory;
}

}  // namespace tilecopy::lower
