#include "property/generate_buffers.h"

#include <algorithm>
#include <numeric>

namespace tilecopy::property {
namespace {

constexpr std::int64_t most_tensor_elements = 3000;
constexpr std::int64_t most_tile_elements = 600;

std::int64_t size_in(const Launch& l, const Extent& e) {
  return e.symbol < 0 ? e.constant : l.symbols[static_cast<std::size_t>(e.symbol)];
}

}  // namespace

// ---- Buffers ----

DType BufferGenerator::some_dtype() { return random_.chance(50) ? common_dtype_ : dtype(); }

std::vector<std::int64_t> BufferGenerator::shape(int rank, std::int64_t budget) {
  std::vector<std::int64_t> result;
  for (int d = 0; d < rank; ++d) {
    std::int64_t extent =
        random_.chance(15) ? 1 : random_.pick({2,  3,  4,  5,  7,  8,  8,  9,  12, 16, 16,
                                               17, 24, 32, 32, 33, 40, 63, 64, 65, 128});
    if (extent > budget) extent = std::max<std::int64_t>(1, random_.between(1, budget));
    budget /= extent;
    result.push_back(extent);
  }
  random_.shuffle(result);
  return result;
}

Tensor BufferGenerator::tensor() {
  Tensor t;
  t.dtype = some_dtype();
  for (std::int64_t extent : shape(random_.pick({1, 2, 2, 2, 3, 3, 4, 5}), most_tensor_elements)) {
    Extent e{extent, -1};
    if (kernel_.symbols > 0 && extent > 1 && random_.chance(50)) {
      e = {1, random_.below(kernel_.symbols)};
    } else if (random_.chance(2)) {
      e.constant = 0;
    }
    t.shape.push_back(e);
  }
  return t;
}

void BufferGenerator::bind_symbols() {
  for (int s = 0; s < kernel_.symbols; ++s) {
    bool bound = false;
    for (const Tensor& t : kernel_.tensors) {
      for (const Extent& e : t.shape) bound |= e.symbol == s;
    }
    if (!bound) kernel_.tensors.front().shape.push_back({1, s});
  }
}

void BufferGenerator::choose_strides(Tensor& t) {
  if (random_.chance(45)) return;
  const bool constant =
      std::all_of(t.shape.begin(), t.shape.end(), [](const Extent& e) { return e.symbol < 0; });
  if (constant && random_.chance(60)) {
    std::vector<std::int64_t> extents;
    for (const Extent& e : t.shape) extents.push_back(e.constant);
    t.strides = Tensor::constant;
    t.constant_strides = strides(extents, t.written, false);
  } else {
    t.strides = random_.chance(50) ? Tensor::symbolic : Tensor::inner_one;
  }
}

std::vector<std::int64_t> BufferGenerator::strides(const std::vector<std::int64_t>& extents,
                                                   bool written, bool inner_one) {
  std::vector<std::size_t> order(extents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (random_.chance(50)) random_.shuffle(order);
  if (inner_one) {
    std::erase(order, extents.size() - 1);
    order.push_back(extents.size() - 1);
  }
  std::vector<std::int64_t> result(extents.size());
  std::int64_t stride = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    const std::size_t d = order[k];
    result[d] = stride;
    stride *= std::max<std::int64_t>(1, extents[d]);
    if (random_.chance(40)) stride += random_.pick({1, 3, 8});
    if (written || (inner_one && k + 1 == order.size())) continue;
    if (random_.chance(10)) result[d] = -result[d];
    if (random_.chance(8)) result[d] = 0;
  }
  return result;
}

// Digits of every dimension, placed in random order, sometimes with gaps.
TileLayoutData BufferGenerator::layout(const std::vector<std::int64_t>& extents) {
  TileLayoutData data;
  std::vector<std::pair<std::size_t, std::size_t>> order;
  for (std::int64_t extent : extents) {
    std::vector<Digit> digits = {{extent, 0}};
    for (std::int64_t part : {2, 3, 4, 8}) {
      if (extent % part != 0 || extent == part || !random_.chance(25)) continue;
      digits = {{part, 0}, {extent / part, 0}};
      break;
    }
    for (std::size_t i = digits.size(); i-- > 0;) order.emplace_back(data.digits.size(), i);
    data.digits.push_back(digits);
  }
  if (random_.chance(60)) random_.shuffle(order);
  std::int64_t stride = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    Digit& digit = data.digits[order[k].first][order[k].second];
    digit.stride = stride;
    stride *= digit.extent;
    if (random_.chance(20)) stride += random_.pick({1, 4});
  }
  if (random_.chance(35)) {
    const int bits = 1 + random_.below(3);
    const int shift = bits + random_.below(3);
    data.swizzle = {bits, random_.below(4), random_.chance(75) ? shift : -shift};
  }
  return data;
}

Tile BufferGenerator::tile() {
  Tile t;
  t.scope = random_.pick({Scope::shared, Scope::shared, Scope::fragment, Scope::local});
  t.dtype = some_dtype();
  if (t.scope == Scope::shared && random_.chance(10)) {
    t.layout.emplace();
    t.layout->tma_span = random_.pick({32, 64, 128});
    const int panels = 1 + random_.below(2);
    t.shape = {8, panels * t.layout->tma_span / width_of(t.dtype)};
    return t;
  }
  if (random_.chance(60)) {
    t.shape = constant_shape_of(kernel_.tensors[static_cast<std::size_t>(
        random_.below(static_cast<int>(kernel_.tensors.size())))]);
  }
  if (t.shape.empty()) t.shape = shape(random_.pick({1, 2, 2, 2, 3, 4}), most_tile_elements);
  if (!random_.chance(40)) return t;
  if (t.scope == Scope::fragment) {
    t.fragment = fragment(t.shape);
  } else {
    t.layout = layout(t.shape);
  }
  return t;
}

// Extents for a tile that holds a part of the tensor; empty when it would be too large.
std::vector<std::int64_t> BufferGenerator::constant_shape_of(const Tensor& from) {
  std::vector<std::int64_t> result;
  std::int64_t elements = 1;
  for (const Extent& e : from.shape) {
    std::int64_t extent = e.symbol < 0 ? e.constant : 8;
    if (random_.chance(50)) extent = (extent + 1) / 2;
    if (random_.chance(20)) continue;
    result.push_back(std::max<std::int64_t>(1, extent));
    elements *= result.back();
  }
  return elements > most_tile_elements ? std::vector<std::int64_t>{} : result;
}

// ---- Launches ----

Launch BufferGenerator::launch() {
  Launch l;
  l.contents = random_.bits();
  for (int s = 0; s < kernel_.symbols; ++s) {
    l.symbols.push_back(random_.pick({0, 1, 2, 3, 5, 8, 9, 15, 16, 17, 20, 33}));
  }
  for (const Tensor& t : kernel_.tensors) {
    auto elements = [&] {
      std::int64_t product = 1;
      for (const Extent& e : t.shape) product *= size_in(l, e);
      return product;
    };
    while (elements() > 2 * most_tensor_elements) {
      for (std::int64_t& value : l.symbols) value = (value + 1) / 2;
    }
  }
  for (const Tensor& t : kernel_.tensors) {
    std::vector<std::int64_t> extents;
    for (const Extent& e : t.shape) extents.push_back(size_in(l, e));
    l.strides.push_back(strides(extents, t.written, t.strides == Tensor::inner_one));
    l.shifts.push_back(random_.chance(40) ? 0 : random_.below(17));
  }
  l.threads = random_.chance(80) ? 1 : random_.pick({2, 3});
  return l;
}

}  // namespace tilecopy::property
