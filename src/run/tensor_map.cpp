#include "run/tensor_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/diagnostic.h"

namespace tilecopy::run {
namespace {

// CUDA driver API, CUtensorMapDataType: unsigned integers, since bits move as they are.
int data_type(DType dtype) {
  switch (bytes(dtype)) {
    case 1: return 0;
    case 2: return 1;
    case 4: return 2;
    default: return 4;
  }
}

// CUtensorMapSwizzle and CUtensorMapL2promotion count up from none.
int swizzle_mode(int span) { return span == 32 ? 1 : span == 64 ? 2 : span == 128 ? 3 : 0; }
int promotion_mode(int promoted) {
  return promoted == 64 ? 1 : promoted == 128 ? 2 : promoted == 256 ? 3 : 0;
}

template <typename To, typename From>
std::vector<To> converted(const std::vector<From>& list) {
  std::vector<To> result;
  for (const From& value : list) result.push_back(static_cast<To>(value));
  return result;
}

std::string arguments_text(const BoundMap& map) {
  const TensorMapRecipe& r = *map.recipe;
  std::string text = fmt::format(
      "{} {}: address 0x{:x}, dims ({}), strides ({}) bytes, {} ({}), element strides ({}), "
      "swizzle {}, L2 promotion {}",
      r.name, to_string(map.dtype), map.address, fmt::join(map.dims, ", "),
      fmt::join(map.strides, ", "), r.im2col ? "channels and pixels" : "box",
      fmt::join(r.box, ", "), fmt::join(r.element_strides, ", "), r.swizzle_bytes,
      r.l2_promotion_bytes);
  if (r.im2col) {
    text +=
        fmt::format(", corners ({}) and ({})", fmt::join(r.lower, ", "), fmt::join(r.upper, ", "));
  }
  return text;
}

// The first rule of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col that the numbers break; empty
// when none is known.
std::string broken_rule(const BoundMap& map) {
  const TensorMapRecipe& r = *map.recipe;
  auto any = [](const auto& list, auto&& test) {
    return std::any_of(list.begin(), list.end(), test);
  };
  if (r.im2col && (map.dims.size() < 3 || map.dims.size() > 5)) return "3 to 5 dimensions";
  if (map.dims.empty() || map.dims.size() > 5) return "1 to 5 dimensions";
  std::int64_t row = r.box.empty() ? 0 : r.box[0] * bytes(map.dtype);
  if (map.address % 16 != 0) return "an address that is a multiple of 16";
  if (any(map.dims, [](auto d) { return d < 1 || d > std::uint64_t{1} << 32; })) {
    return "dimensions from 1 to 2^32";
  }
  if (any(map.strides, [](auto s) { return s % 16 != 0 || s >= std::uint64_t{1} << 40; })) {
    return "strides that are multiples of 16 bytes, below 2^40";
  }
  if (any(r.element_strides, [](auto s) { return s < 1 || s > 8; })) {
    return "element strides from 1 to 8";
  }
  if (row % 16 != 0) return "an inner box of a multiple of 16 bytes";
  if (r.swizzle_bytes && row > r.swizzle_bytes) return "an inner box within the swizzle's span";
  if (!r.im2col && any(r.box, [](auto b) { return b < 1 || b > 256; })) {
    return "box extents from 1 to 256";
  }
  if (!r.im2col) return {};
  if (any(r.box, [](auto b) { return b < 1; }) || r.box[0] > 256 || r.box[1] > 1024) {
    return "1 to 256 channels and 1 to 1024 pixels";
  }
  // 16 bits hold the offsets of all spatial dimensions.
  const std::size_t spatial = map.dims.size() - 2;
  const std::int64_t corner = spatial == 1 ? 32768 : spatial == 2 ? 128 : 16;
  auto outside = [&](auto c) { return c < -corner || c >= corner; };
  if (any(r.lower, outside) || any(r.upper, outside)) {
    return fmt::format("corners from {} to {}", -corner, corner - 1);
  }
  return {};
}

// Drivers up to 13.1 set a bit wrongly for small tensors. Fact: CUTLASS, which clears it as well.
void correct(EncodedMap& encoded, const BoundMap& map, const CudaDriver& driver) {
  constexpr int last_version = 13010;
  constexpr std::uint64_t small_bytes = 131072;
  // From the first byte to the last.
  std::uint64_t footprint = static_cast<std::uint64_t>(bytes(map.dtype)) * map.dims[0];
  for (std::size_t d = 1; d < map.dims.size(); ++d) {
    footprint += map.strides[d - 1] * (map.dims[d] - 1);
  }
  if (driver.version <= last_version && footprint < small_bytes) {
    encoded.words[1] &= ~(std::uint64_t{1} << 21);
  }
}

}  // namespace

std::optional<BoundMap> bind_map(const TensorMapRecipe& recipe, const LaunchPlan& plan,
                                 const BoundArguments& arguments, DevicePointer address) {
  BoundMap map{&recipe, plan.tensors[recipe.tensor].dtype, address, {}, {}};
  for (const SizeProgram& program : recipe.dims) {
    auto value = program.evaluate(arguments.symbols, arguments.scalar_sizes);
    if (!value || *value < 1) return std::nullopt;
    map.dims.push_back(static_cast<std::uint64_t>(*value));
  }
  for (const SizeProgram& program : recipe.strides) {
    auto value = program.evaluate(arguments.symbols, arguments.scalar_sizes);
    if (!value) return std::nullopt;
    map.strides.push_back(static_cast<std::uint64_t>(*value));
  }
  return map;
}

void require_encodable(const BoundMap& map) {
  const std::string rule = broken_rule(map);
  if (rule.empty()) return;
  raise(ErrorCode::E0807, map.recipe->where.value_or(Location{}),
        {.needed = rule, .found = arguments_text(map)});
}

EncodedMap encode(const BoundMap& map, const CudaDriver& driver) {
  const TensorMapRecipe& r = *map.recipe;
  EncodedMap encoded{};
  auto rank = static_cast<std::uint32_t>(map.dims.size());
  auto* address = reinterpret_cast<void*>(map.address);
  // The driver wants the address of an array also where rank 1 has no stride to read.
  std::vector<std::uint64_t> strides = map.strides;
  strides.resize(std::max<std::size_t>(strides.size(), 1));
  std::vector<std::uint32_t> steps = converted<std::uint32_t>(r.element_strides);
  int result = 0;
  if (r.im2col) {
    std::vector<int> lower = converted<int>(r.lower);
    std::vector<int> upper = converted<int>(r.upper);
    result = driver.cuTensorMapEncodeIm2col(
        &encoded, data_type(map.dtype), rank, address, map.dims.data(), strides.data(),
        lower.data(), upper.data(), static_cast<std::uint32_t>(r.box[0]),
        static_cast<std::uint32_t>(r.box[1]), steps.data(), 0, swizzle_mode(r.swizzle_bytes),
        promotion_mode(r.l2_promotion_bytes), 0);
  } else {
    std::vector<std::uint32_t> box = converted<std::uint32_t>(r.box);
    result = driver.cuTensorMapEncodeTiled(
        &encoded, data_type(map.dtype), rank, address, map.dims.data(), strides.data(), box.data(),
        steps.data(), 0, swizzle_mode(r.swizzle_bytes), promotion_mode(r.l2_promotion_bytes), 0);
  }
  if (result != 0) {
    const std::string rule = broken_rule(map);
    raise(ErrorCode::E0807, r.where.value_or(Location{}),
          {.needed = rule.empty() ? "arguments that this driver accepts" : rule,
           .found = fmt::format("{}; {}", arguments_text(map), driver.error_text(result))});
  }
  correct(encoded, map, driver);
  return encoded;
}

}  // namespace tilecopy::run
