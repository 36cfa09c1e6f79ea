#include "tma_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "ir/make.h"
#include "tma_model.h"

namespace tilecopy::test {

TmaCase TmaCase::completed() const {
  TmaCase c = *this;
  if (c.tile.empty()) {
    for (std::int64_t e : c.extent) {
      if (e > 1) c.tile.push_back(e);
    }
    if (c.tile.empty()) c.tile.push_back(1);
    if (c.transpose) std::swap(c.tile[c.tile.size() - 1], c.tile[c.tile.size() - 2]);
  }
  if (c.tile_origin.empty()) c.tile_origin.assign(c.tile.size(), 0);
  if (c.tile_extent.empty()) c.tile_extent = c.tile;
  return c;
}

namespace {

Access region(const Buffer& buffer, const Ints& origin, const Ints& extent) {
  std::vector<Index> indices;
  for (std::size_t d = 0; d < origin.size(); ++d) {
    indices.emplace_back(range(origin[d], origin[d] + extent[d]));
  }
  return Access(buffer, indices);
}

}  // namespace

Function TmaCase::function() const {
  return tilecopy::function("f", [&] {
    auto a = tensor("A", {shape.begin(), shape.end()}, dtype, {strides.begin(), strides.end()});
    kernel({1});
    auto shared = alloc_shared({tile.begin(), tile.end()}, dtype, "tile");
    if (layout) annotate_layout(shared, *layout);
    if (safe) annotate_safe_value(a, safe);
    Access outer = region(a, origin, extent);
    Access inner = region(shared, tile_origin, tile_extent);
    if (transpose) {
      tilecopy::transpose(outer, inner);
    } else if (store) {
      cuda::copy(inner, outer, {.prefer_instruction = "tma"});
    } else {
      cuda::copy(outer, inner, {.prefer_instruction = "tma"});
    }
  });
}

Planned::Planned(const Function& function, const char* target, bool usual,
                 const planner::Method& by)
    : method(&by) {
  passage.tile = function.shared();
  lower_through(passage, target::parse_target(target), "select_copies");
  auto& variant = usual ? passage.variants.front() : passage.variants.back();
  site = &variant->decisions.at(0).site;
  rules = std::make_unique<planner::Rules>(by.name, *site);
  plan = by.plan(*site, *rules);
  if (plan) plan->mbarrier = ir::make_int(0);
}

std::string Planned::parameter(const std::string& name) const {
  for (const auto& [key, value] : plan->parameters) {
    if (key == name) return value;
  }
  return "<none>";
}

std::string Planned::rule() const { return plan ? "<none>" : rules->failed()->id; }

const Buffer& Planned::tile() const {
  return site->dst.buffer.scope() == Scope::shared ? site->dst.buffer : site->src->buffer;
}

namespace {

struct Element {
  std::int64_t shared;             // in elements, through the layout
  std::optional<std::int64_t> at;  // in the tensor, if it is inside
};

Ints dense_strides(const Ints& shape) {
  Ints strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

std::vector<Element> elements(const TmaCase& c) {
  auto loops = [](const Ints& extent, bool swap) {
    std::vector<std::size_t> dims;
    for (std::size_t d = 0; d < extent.size(); ++d) dims.push_back(d);
    if (swap) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    std::erase_if(dims, [&](std::size_t d) { return extent[d] == 1; });
    return dims;
  };
  std::vector<std::size_t> outer = loops(c.extent, c.transpose);
  std::vector<std::size_t> inner = loops(c.tile_extent, false);
  Ints strides = c.strides.empty() ? dense_strides(c.shape) : c.strides;
  TileLayout layout = c.layout ? *c.layout : TileLayout(row_major(c.tile));
  std::int64_t count = 1;
  for (std::size_t d : inner) count *= c.tile_extent[d];
  std::vector<Element> result;
  for (std::int64_t i = 0; i < count; ++i) {
    Ints at = c.origin, in = c.tile_origin;
    std::int64_t rest = i;
    for (std::size_t k = inner.size(); k-- > 0;) {
      std::int64_t index = rest % c.tile_extent[inner[k]];
      rest /= c.tile_extent[inner[k]];
      at[outer[k]] += index;
      in[inner[k]] += index;
    }
    bool inside = true;
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      inside &= at[d] >= 0 && at[d] < c.shape[d];
      if (inside) offset += at[d] * strides[d];
    }
    result.push_back({layout(IntTuple(in)), inside ? std::optional(offset) : std::nullopt});
  }
  return result;
}

// Shared memory with the tile from `base` on, in which element i holds what `id` says; `id` gives
// no number for a zero.
std::vector<std::int64_t> shared_bytes(
    const std::vector<Element>& list, std::int64_t base, std::int64_t element, std::size_t size,
    const std::function<std::optional<std::int64_t>(std::size_t)>& id) {
  std::vector<std::int64_t> shared(size, untouched);
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (std::int64_t b = 0; b < element; ++b) {
      auto byte = static_cast<std::size_t>(base + list[i].shared * element + b);
      shared.at(byte) = id(i) ? *id(i) * 16 + b : zero_byte;
    }
  }
  return shared;
}

}  // namespace

void check_moves(const TmaCase& c, const Planned& planned) {
  const std::int64_t element = bytes(c.dtype);
  const std::int64_t tile_bytes =
      planner::tile_elements(planned.tile(), *planned.site->layouts) * element;
  const std::vector<Element> list = elements(c);
  std::int64_t period = c.layout && c.layout->swizzle()
                            ? std::max<std::int64_t>(c.layout->swizzle()->period() * element, 128)
                            : 128;
  for (std::int64_t base : {std::int64_t{0}, 3 * period}) {
    TmaModel model(*planned.plan, planned.tile(), base, tile_bytes);
    std::vector<std::int64_t> shared = shared_bytes(
        list, base, element, model.shared.size(),
        [&](std::size_t i) { return c.store ? static_cast<std::int64_t>(i) : list[i].at; });
    std::map<std::int64_t, std::int64_t> global;
    for (std::size_t i = 0; c.store && i < list.size(); ++i) {
      if (list[i].at) global[*list[i].at] = static_cast<std::int64_t>(i);
    }
    if (c.store) model.shared = shared;
    model.run(planned.lowered(), {{planned.site->simt->thread.node(), 0}});
    EXPECT_EQ(model.faults(), "");
    EXPECT_EQ(std::to_string(model.boxes), planned.parameter("boxes"));
    EXPECT_EQ(model.expected_bytes, planned.plan->barrier_bytes);
    EXPECT_EQ(model.loaded_bytes, planned.plan->barrier_bytes);
    EXPECT_EQ(model.commits, c.store ? 1 : 0);
    EXPECT_EQ(model.global, global);
    EXPECT_TRUE(model.shared == shared) << "elements in the wrong places";
  }
}

}  // namespace tilecopy::test
