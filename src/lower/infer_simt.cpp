// Layouts for kernels that run in threads.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "ir/make.h"
#include "ir/replace.h"
#include "ir/walk.h"
#include "lower/infer_fragments.h"
#include "lower/lower.h"
#include "tilecopy/error.h"

namespace tilecopy::lower {
namespace {

constexpr std::int64_t word_bytes = 4;
constexpr int vector_bytes = 16;

std::vector<std::int64_t> shape_of(const Buffer& tile) {
  std::vector<std::int64_t> shape;
  for (const Expr& extent : tile.shape()) shape.push_back(*ir::const_int(extent));
  return shape;
}

Buffer in_shared_memory(const Buffer& tile) {
  auto node = std::make_shared<ir::BufferNode>(*tile.node());
  node->scope = Scope::shared;
  return Buffer(std::move(node));
}

// What the copies of a kernel want of each shared tile.
struct Wants {
  bool transposed = false;  ///< read or written along columns
  bool tma = false;         ///< a copy of it asks for TMA
  bool narrow = false;      ///< rows of a tensor beside it do not keep accesses of 16 bytes aligned
  std::string by;           ///< the operation that goes along columns
};

// Whether rows of the tensor are known to begin where accesses of 16 bytes may not.
bool has_narrow_rows(const Buffer& tensor) {
  if (tensor.scope() != Scope::global || tensor.shape().size() < 2) return false;
  const int rows = static_cast<int>(tensor.shape().size()) - 2;
  const std::optional<Expr> pitch = planner::element_stride(tensor, rows, {});
  const auto elements = pitch ? ir::const_int(*pitch) : std::nullopt;
  return elements && *elements * bytes(tensor.dtype()) % vector_bytes != 0;
}

std::map<const ir::BufferNode*, Wants> collect_wants(const ir::Kernel& kernel) {
  std::map<const ir::BufferNode*, Wants> wants;
  ir::for_each_stmt(kernel.body, [&](const ir::Stmt& s) {
    if (const auto* transpose = ir::as<ir::Transpose>(s)) {
      // The side in global memory goes along rows, for whole sectors; without one, the source does.
      const Buffer& src = transpose->src.buffer;
      const Buffer& dst = transpose->dst.buffer;
      const Buffer& columns = dst.scope() == Scope::shared ? dst : src;
      if (columns.scope() == Scope::shared) {
        wants[columns.node()].transposed = true;
        wants[columns.node()].by = fmt::format("transpose {} -> {}", src.name(), dst.name());
        wants[columns.node()].narrow |= has_narrow_rows(src) || has_narrow_rows(dst);
      }
    } else if (const auto* copy = ir::as<ir::Copy>(s)) {
      bool tma = copy->hints.prefer_instruction == PreferInstruction::tma;
      for (const Buffer& side : {copy->src.buffer, copy->dst.buffer}) {
        if (side.scope() != Scope::shared) continue;
        Wants& want = wants[side.node()];
        want.tma |= tma;
        want.narrow |= has_narrow_rows(copy->src.buffer) || has_narrow_rows(copy->dst.buffer);
      }
    }
  });
  return wants;
}

// Rows of an odd number of words, so that neighbours in a column lie in different banks; of an odd
// number of elements where those are wider than a word.
std::optional<TileLayout> padded(const std::vector<std::int64_t>& shape, int element) {
  if (shape.size() < 2 || shape.back() * element < word_bytes) return std::nullopt;
  std::int64_t unit = std::max<std::int64_t>(word_bytes, element);
  std::int64_t per_unit = unit / element;
  std::int64_t pad = 0;
  while ((shape.back() + pad) % per_unit != 0 || (shape.back() + pad) / per_unit % 2 == 0) ++pad;
  if (pad == 0) return std::nullopt;
  return TileLayout(padded_row_major(shape, pad));
}

// For threads that exchange squares in registers (src/copy/register_transpose.cpp): the vectors of
// a row stay whole, and those of rows that are a square apart lie in different banks.
std::optional<TileLayout> swizzled_by_squares(const std::vector<std::int64_t>& shape, int element) {
  const std::int64_t side = std::min(vector_bytes / element, 8);
  if (shape.size() != 2 || shape[0] % side != 0 || side == 1) return std::nullopt;
  const auto columns = static_cast<std::uint64_t>(shape[1]);
  if (!std::has_single_bit(columns) || shape[1] < 2 * side) return std::nullopt;
  auto log2 = [](std::uint64_t n) { return static_cast<int>(std::bit_width(n)) - 1; };
  const auto unit = static_cast<std::uint64_t>(side);
  const int bits =
      std::min({3, log2(columns / unit),
                static_cast<int>(std::bit_width(static_cast<std::uint64_t>(shape[0]) / unit - 1))});
  if (bits == 0) return std::nullopt;
  return TileLayout(row_major(shape), Swizzle(bits, log2(unit), log2(columns)));
}

std::optional<TileLayout> swizzled(const std::vector<std::int64_t>& shape, int element) {
  if (shape.size() < 2) return std::nullopt;
  for (int span : {128, 64, 32}) {
    if (shape.back() * element % span != 0) continue;
    try {
      return swizzled_row_major(shape, element, span);
    } catch (const UserError&) {
      continue;  // the rows do not fill the pattern
    }
  }
  return std::nullopt;
}

class SharedLayouts {
 public:
  SharedLayouts(const target::Target& target, InferredLayouts& result)
      : target_(target), result_(result), wants_(collect_wants(*result.kernel)) {}

  void infer() {
    ir::for_each_stmt(result_.kernel->body, [&](const ir::Stmt& s) {
      const auto* alloc = ir::as<ir::Alloc>(s);
      if (!alloc || alloc->buffer.scope() == Scope::fragment) return;
      if (alloc->layout) {
        result_.layouts[alloc->buffer.node()] = *alloc->layout;
      } else if (alloc->buffer.scope() == Scope::shared) {
        choose(alloc->buffer);
      }
    });
    for (const auto& [node, op] : im2col_tiles()) choose_im2col(node, *op);
  }

 private:
  void choose(const Buffer& tile) {
    auto it = wants_.find(tile.node());
    if (it == wants_.end() || !it->second.transposed) return;
    int element = bytes(tile.dtype());
    std::vector<std::int64_t> shape = shape_of(tile);
    bool tma = it->second.tma && target::has_tma(target_);
    std::optional<TileLayout> layout;
    if (tma) {
      layout = swizzled(shape, element);
    } else {
      if (!it->second.narrow) layout = swizzled_by_squares(shape, element);
      if (!layout) layout = padded(shape, element);
    }
    if (!layout) return;
    result_.remarks.push_back(fmt::format("{}: {}, because {} goes along its columns", tile.name(),
                                          to_string(*layout), it->second.by));
    result_.layouts[tile.node()] = *layout;
  }

  std::vector<std::pair<const ir::BufferNode*, const ir::Im2col*>> im2col_tiles() const {
    std::vector<std::pair<const ir::BufferNode*, const ir::Im2col*>> tiles;
    ir::for_each_stmt(result_.kernel->body, [&](const ir::Stmt& s) {
      const auto* op = ir::as<ir::Im2col>(s);
      if (op && op->col.buffer.scope() == Scope::shared) {
        tiles.emplace_back(op->col.buffer.node(), op);
      }
    });
    return tiles;
  }

  void choose_im2col(const ir::BufferNode* node, const ir::Im2col& op) {
    if (!target::has_tma(target_) || result_.layouts.contains(node)) return;
    std::optional<TileLayout> layout = planner::tma_im2col_layout(op);
    if (!layout) return;
    result_.remarks.push_back(fmt::format("{}: {}, the boxes of im2col {}", node->name,
                                          to_string(*layout), op.img.name()));
    result_.layouts[node] = *layout;
  }

  const target::Target& target_;
  InferredLayouts& result_;
  std::map<const ir::BufferNode*, Wants> wants_;
};

// The kernel with what was inferred written into its Allocs.
ir::Stmt with_layouts(const ir::Stmt& s, const InferredLayouts& inferred) {
  if (const auto* block = ir::as<ir::Block>(s)) {
    auto result = std::make_shared<ir::Block>(*block);
    for (ir::Stmt& part : result->body) part = with_layouts(part, inferred);
    return result;
  }
  if (const auto* loop = ir::as<ir::For>(s)) {
    auto result = std::make_shared<ir::For>(*loop);
    result->body = with_layouts(loop->body, inferred);
    return result;
  }
  if (const auto* branch = ir::as<ir::If>(s)) {
    auto result = std::make_shared<ir::If>(*branch);
    result->then_body = with_layouts(branch->then_body, inferred);
    if (branch->else_body) result->else_body = with_layouts(branch->else_body, inferred);
    return result;
  }
  const auto* alloc = ir::as<ir::Alloc>(s);
  if (!alloc) return s;
  auto result = std::make_shared<ir::Alloc>(*alloc);
  auto layout = inferred.layouts.find(alloc->buffer.node());
  if (layout != inferred.layouts.end()) result->layout = layout->second;
  auto fragment = inferred.fragments.find(alloc->buffer.node());
  result->fragment =
      fragment == inferred.fragments.end() ? std::nullopt : std::optional(fragment->second);
  return result;
}

}  // namespace

InferredLayouts infer_simt_layouts(const std::shared_ptr<const ir::Kernel>& kernel,
                                   const target::Target& target) {
  FragmentLayouts fragments = infer_fragments(*kernel, target);
  InferredLayouts result;
  result.kernel = kernel;
  result.fragments = std::move(fragments.fragments);
  result.remarks = std::move(fragments.remarks);
  auto rewritten = std::make_shared<ir::Kernel>(*kernel);
  if (!fragments.shared.empty()) {
    ir::Replacement replacement;
    for (const Buffer& tile : fragments.shared) replacement[tile.node()] = in_shared_memory(tile);
    rewritten->body = ir::replace_buffers(rewritten->body, replacement);
    result.kernel = rewritten;
  }
  SharedLayouts(target, result).infer();
  rewritten->body = with_layouts(rewritten->body, result);
  result.kernel = rewritten;
  return result;
}

}  // namespace tilecopy::lower
