#include "tma_model.h"

#include <fmt/format.h>

#include "ir/make.h"

namespace tilecopy::test {

using ir::test::evaluate;

TmaModel::TmaModel(const planner::Plan& plan, const Buffer& tile, std::int64_t base,
                   std::int64_t bytes)
    : shared(static_cast<std::size_t>(base + bytes), untouched),
      plan_(plan),
      tile_(tile),
      base_(base) {}

void TmaModel::require(bool ok, const std::string& what) {
  if (!ok && faults_.size() < 2000) faults_ += what + "\n";
}

void TmaModel::run(const ir::Stmt& body, const ir::test::Assignment& values) {
  values_ = values;
  statement(body);
}

void TmaModel::statement(const ir::Stmt& s) {
  if (!s) return;
  switch (s->kind) {
    case ir::StmtKind::Block:
      for (const ir::Stmt& part : ir::get<ir::Block>(s).body) statement(part);
      return;
    case ir::StmtKind::Let: {
      const auto& let = ir::get<ir::Let>(s);
      values_[let.var.node()] = evaluate(let.value, values_);
      return;
    }
    case ir::StmtKind::If: {
      const auto& branch = ir::get<ir::If>(s);
      statement(evaluate(branch.condition, values_) ? branch.then_body : branch.else_body);
      return;
    }
    case ir::StmtKind::Instr: return instr(ir::get<ir::Instr>(s));
    default: require(false, "a statement that no lowering of the TMA unit has");
  }
}

void TmaModel::instr(const ir::Instr& instr) {
  const std::string& name = instr.name;
  if (name == "cuda.expect_tx") {
    expected_bytes += value(instr.operands[1]);
  } else if (name == "cuda.bulk_commit") {
    ++commits;
  } else if (name.starts_with("cuda.tma_im2col")) {
    im2col(instr);
  } else if (name.starts_with("cuda.tma_load")) {
    tiled(instr, true);
  } else if (name.starts_with("cuda.tma_store")) {
    tiled(instr, false);
  } else {
    require(false, "unexpected " + name);
  }
}

std::int64_t TmaModel::value(const ir::InstrOperand& operand) const {
  return evaluate(std::get<Expr>(operand), values_);
}

std::int64_t TmaModel::address(const ir::InstrOperand& operand) {
  const auto& at = std::get<ir::Address>(operand);
  require(at.buffer.node() == tile_.node(), "another buffer");
  return base_ + evaluate(at.offset, values_) * bytes(tile_.dtype());
}

TmaModel::Map TmaModel::map(const ir::InstrOperand& operand) {
  for (const auto& candidate : plan_.tensor_maps) {
    if (candidate->var.node() != std::get<Expr>(operand).node()) continue;
    Map map{candidate.get(), {}, {1}, bytes(candidate->tensor.dtype())};
    for (const Expr& dim : candidate->dims) map.dims.push_back(evaluate(dim, values_));
    for (const Expr& stride : candidate->strides) {
      std::int64_t in_bytes = evaluate(stride, values_);
      require(in_bytes >= 0 && in_bytes % 16 == 0 && in_bytes < std::int64_t{1} << 40,
              fmt::format("stride of {} bytes", in_bytes));
      map.strides.push_back(in_bytes / map.element);
    }
    check_map(map);
    return map;
  }
  require(false, "an unknown map");
  return {};
}

// What the driver would refuse.
void TmaModel::check_map(const Map& map) {
  const ir::TensorMap& node = *map.node;
  std::int64_t row = node.box[0] * map.element;
  require(map.dims.size() <= 5 && map.dims.size() == map.strides.size() &&
              map.dims.size() == node.element_strides.size(),
          "rank");
  for (std::int64_t dim : map.dims) require(dim >= 1 && dim <= std::int64_t{1} << 32, "dims");
  require(row % 16 == 0, fmt::format("rows of {} bytes", row));
  require(node.swizzle_bytes == 0 || row <= node.swizzle_bytes, "rows past the swizzle's span");
  for (std::size_t d = 0; d < node.box.size(); ++d) {
    std::int64_t most = node.im2col() && d == 1 ? 1024 : 256;
    require(node.box[d] >= 1 && node.box[d] <= most, fmt::format("box of {}", node.box[d]));
  }
  if (!node.im2col()) return require(node.box.size() == map.dims.size(), "rank of the box");
  require(map.dims.size() == 4 && node.lower.size() == 2 && node.upper.size() == 2, "im2col rank");
  for (std::size_t d = 0; d < 2; ++d) {
    for (std::int64_t corner : {node.lower[d], node.upper[d]}) {
      require(corner >= -128 && corner <= 127, "corner");
    }
    require(map.dims[d + 1] + node.upper[d] - node.lower[d] > 0, "an empty bounding box");
  }
  for (std::int64_t step : node.element_strides) require(step >= 1 && step <= 8, "steps");
}

std::int64_t TmaModel::place(std::int64_t start, std::int64_t row, std::int64_t row_bytes,
                             std::int64_t byte, int swizzle) {
  std::int64_t at = start + row * (swizzle ? swizzle : row_bytes) + byte;
  std::int64_t mask = swizzle == 128 ? 7 : swizzle == 64 ? 3 : swizzle == 32 ? 1 : 0;
  return at ^ (((at >> 7) & mask) << 4);
}

void TmaModel::put(std::int64_t at, std::int64_t element, bool inside, std::int64_t offset) {
  for (std::int64_t b = 0; b < element; ++b) {
    auto byte = static_cast<std::size_t>(at + b);
    if (byte >= shared.size()) return require(false, "a write past the tile");
    require(shared[byte] == untouched, "a byte is written twice");
    shared[byte] = inside ? offset * 16 + b : zero_byte;
  }
}

void TmaModel::take(std::int64_t at, std::int64_t element, std::int64_t offset) {
  std::int64_t id = shared.at(static_cast<std::size_t>(at)) / 16;
  for (std::int64_t b = 0; b < element; ++b) {
    require(shared.at(static_cast<std::size_t>(at + b)) == id * 16 + b, "a torn element");
  }
  require(!global.contains(offset), "an element is written twice");
  global[offset] = id;
}

std::vector<std::int64_t> TmaModel::start_of(const ir::Instr& instr, const Map& map, bool load) {
  const std::vector<std::int64_t>& box = map.node->box;
  std::vector<std::int64_t> at;
  for (std::size_t d = 0; d < box.size(); ++d) {
    at.push_back(value(instr.operands[(load ? 3 : 2) + d]));
    require(at[d] >= INT32_MIN && at[d] + box[d] <= INT32_MAX, "a coordinate past 32 bits");
    require(load || at[d] >= 0, "a store that starts before the tensor");
  }
  require(at[0] * map.element % 16 == 0, "a start inside of a granule");
  return at;
}

// Element `i` of a box at `at`. A store goes on to the end of a granule.
TmaModel::Element TmaModel::element_of(const Map& map, const std::vector<std::int64_t>& at,
                                       std::int64_t i, bool load) {
  const std::vector<std::int64_t>& box = map.node->box;
  std::int64_t granule = (map.dims[0] * map.element + 15) / 16 * 16;
  Element result;
  for (std::size_t d = 0; d < box.size(); ++d) {
    std::int64_t index = at[d] + i % box[d];
    i /= box[d];
    bool past = index >= map.dims[d];
    bool overwritten = past && !load && d == 0 && index * map.element < granule;
    result.inside &= index >= 0 && (!past || overwritten);
    result.destroyed |= overwritten;
    result.offset += index * map.strides[d];
  }
  return result;
}

void TmaModel::tiled(const ir::Instr& instr, bool load) {
  ++boxes;
  Map map = this->map(instr.operands[load ? 1 : 0]);
  std::int64_t start = address(instr.operands[load ? 0 : 1]);
  require(start % 128 == 0, fmt::format("a box at byte {}", start));
  const std::vector<std::int64_t>& box = map.node->box;
  std::vector<std::int64_t> at = start_of(instr, map, load);
  std::int64_t count = 1;
  for (std::int64_t extent : box) count *= extent;
  loaded_bytes += load ? count * map.element : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Element e = element_of(map, at, i, load);
    std::int64_t byte = place(start, i / box[0], box[0] * map.element, i % box[0] * map.element,
                              map.node->swizzle_bytes);
    if (load) {
      put(byte, map.element, e.inside, e.offset);
    } else if (e.inside) {
      take(byte, map.element, e.offset);
      if (e.destroyed) global[e.offset] = destroyed;
    }
  }
}

// The walk over the base pixels of the bounding box: W, then H, then N.
void TmaModel::im2col(const ir::Instr& instr) {
  ++boxes;
  Map map = this->map(instr.operands[1]);
  const ir::TensorMap& node = *map.node;
  std::int64_t start = address(instr.operands[0]);
  require(start % 128 == 0, fmt::format("a box at byte {}", start));
  std::int64_t c = value(instr.operands[3]), w = value(instr.operands[4]),
               h = value(instr.operands[5]), n = value(instr.operands[6]),
               tap_w = value(instr.operands[7]), tap_h = value(instr.operands[8]);
  for (std::int64_t v : {c, w, h, n}) require(v >= INT32_MIN && v <= INT32_MAX, "coordinates");
  require(c * map.element % 16 == 0, "a start inside of a granule");
  require(tap_w >= 0 && tap_w <= 255 && tap_h >= 0 && tap_h <= 255, "offsets of the tap");
  auto inside = [](std::int64_t index, std::int64_t end) { return index >= 0 && index < end; };
  for (std::int64_t pixel = 0; pixel < node.box[1]; ++pixel) {
    for (std::int64_t i = 0; i < node.box[0]; ++i) {
      bool in = inside(c + i, map.dims[0]) && inside(w + tap_w, map.dims[1]) &&
                inside(h + tap_h, map.dims[2]) && inside(n, map.dims[3]);
      std::int64_t offset =
          c + i + (w + tap_w) * map.strides[1] + (h + tap_h) * map.strides[2] + n * map.strides[3];
      put(place(start, pixel, node.box[0] * map.element, i * map.element, node.swizzle_bytes),
          map.element, in, offset);
    }
    w += node.element_strides[1];
    if (w < map.dims[1] + node.upper[0]) continue;
    w = node.lower[0];
    h += node.element_strides[2];
    if (h < map.dims[2] + node.upper[1]) continue;
    h = node.lower[1];
    ++n;
  }
  loaded_bytes += node.box[0] * node.box[1] * map.element;
}

}  // namespace tilecopy::test
