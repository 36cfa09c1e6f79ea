// Layouts of tiles and their place in the memory of a block.
#include <fmt/format.h>

#include "base/diagnostic.h"
#include "ir/make.h"
#include "ir/walk.h"
#include "lower/lower.h"

namespace tilecopy::lower {
namespace {

// Tiles start on cache lines, which also suits every vector.
constexpr std::int64_t tile_alignment = 64;
// Far above any GPU's shared memory; keeps a mistyped extent from taking the whole machine.
constexpr std::int64_t most_tile_bytes = std::int64_t{256} << 20;

}  // namespace

planner::Layouts infer_layouts(const ir::Kernel& kernel) {
  planner::Layouts layouts;
  ir::for_each_stmt(kernel.body, [&](const ir::Stmt& statement) {
    const auto* alloc = ir::as<ir::Alloc>(statement);
    if (alloc && alloc->layout) layouts[alloc->buffer.node()] = *alloc->layout;
  });
  return layouts;
}

TileMemory place_tiles(const ir::Kernel& kernel, const planner::Layouts& layouts) {
  TileMemory memory;
  std::string sizes;
  ir::for_each_stmt(kernel.body, [&](const ir::Stmt& statement) {
    const auto* alloc = ir::as<ir::Alloc>(statement);
    if (!alloc) return;
    const Buffer& tile = alloc->buffer;
    std::int64_t size = 0;
    bool overflow =
        __builtin_mul_overflow(planner::tile_elements(tile, layouts), bytes(tile.dtype()), &size);
    memory.offsets[tile.node()] = memory.bytes;
    overflow |= __builtin_add_overflow(memory.bytes, size, &memory.bytes);
    sizes += fmt::format("{}{} {} bytes", sizes.empty() ? "" : ", ", tile.name(), size);
    if (overflow || memory.bytes > most_tile_bytes) {
      raise(
          ErrorCode::E0421, alloc->where,
          {.needed = fmt::format("at most {} bytes for a block", most_tile_bytes), .found = sizes});
    }
    memory.bytes = (memory.bytes + tile_alignment - 1) / tile_alignment * tile_alignment;
  });
  return memory;
}

}  // namespace tilecopy::lower
