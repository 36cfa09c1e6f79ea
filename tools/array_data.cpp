#include "array_data.h"

#include <fmt/format.h>

#include <cstring>

#include "base/diagnostic.h"
#include "words.h"

namespace tilecopy::tool {
namespace {

using Extents = std::vector<std::int64_t>;

Extents evaluate(const std::vector<run::SizeProgram>& sizes, const run::TensorParam& param,
                 const ScalarValues& values) {
  Extents result;
  for (const run::SizeProgram& size : sizes) result.push_back(values.evaluate(size, param));
  return result;
}

struct Span {
  std::int64_t before = 0;  // elements in front of the first one: negative strides
  std::int64_t size = 0;    // elements from the lowest to the highest address
};

Span span_of(const run::TensorParam& param, const Extents& shape, const Extents& strides) {
  std::int64_t before = 0, after = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return {};
    std::int64_t reach = 0;
    std::int64_t& side = strides[d] < 0 ? before : after;
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &reach) || reach < -most_extent ||
        reach > most_extent) {
      raise(ErrorCode::E0711, {},
            {.needed = "at most 2^47 elements",
             .found = fmt::format("shape {} with strides {} for {}", shape_text(shape),
                                  shape_text(strides), param.name)});
    }
    side += reach < 0 ? -reach : reach;
  }
  return {before, before + after + 1};
}

// Makes `array` a tensor of zeros, or of random numbers everywhere, of these extents.
void allocate(const run::TensorParam& param, const Extents& shape, const ScalarValues& values,
              std::optional<std::uint64_t> seed, Array& array) {
  Extents strides = evaluate(param.strides, param, values);
  const bool dense = strides.empty();
  // Also refuses a negative extent.
  (void)TensorView(nullptr, param.dtype, shape).size();
  const Span span = dense ? Span{} : span_of(param, shape, strides);
  array.storage = Tensor(dense ? shape : Extents{span.size}, param.dtype, Location{});
  if (seed) array.storage.fill_random(*seed);
  auto* first = static_cast<std::byte*>(array.storage.data());
  if (span.before > 0) first += span.before * bytes(param.dtype);
  array.view = TensorView(first, param.dtype, shape, std::move(strides));
}

// Both have one shape.
void copy_elements(const Tensor& from, const TensorView& to) {
  const Extents strides = to.full_strides();
  const auto width = static_cast<std::size_t>(bytes(to.dtype));
  const auto* source = static_cast<const std::byte*>(from.data());
  Extents index(to.shape.size());
  for (std::int64_t i = 0; i < from.size(); ++i, source += width) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
    std::memcpy(static_cast<std::byte*>(to.data) + offset * bytes(to.dtype), source, width);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < to.shape[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

Array fresh_array(const run::TensorParam& param, const ScalarValues& values, std::uint64_t seed) {
  Array array{
      .name = param.name, .written = param.written, .origin = {}, .storage = {}, .view = {}};
  const Extents shape = evaluate(param.shape, param, values);
  if (param.written) {
    array.origin = "zeros";
    allocate(param, shape, values, std::nullopt, array);
  } else {
    array.origin = fmt::format("random, seed {}", seed);
    allocate(param, shape, values, seed, array);
  }
  return array;
}

Array array_of(const run::TensorParam& param, const ScalarValues& values, Tensor elements) {
  Array array{
      .name = param.name, .written = param.written, .origin = {}, .storage = {}, .view = {}};
  if (param.strides.empty()) {
    array.storage = std::move(elements);
    array.view = array.storage.view();
    return array;
  }
  allocate(param, elements.shape(), values, std::nullopt, array);
  copy_elements(elements, array.view);
  return array;
}

}  // namespace tilecopy::tool
