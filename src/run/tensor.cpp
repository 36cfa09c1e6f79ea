#include "tilecopy/tensor.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "base/diagnostic.h"

namespace tilecopy {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::int32_t max_rank = 64;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

bool multiply(std::int64_t& value, std::int64_t by) {
  return !__builtin_mul_overflow(value, by, &value);
}

// The number of elements, whose bytes are sure to fit too. A zero anywhere makes an empty array,
// however large the other extents are.
std::int64_t count_elements(const std::vector<std::int64_t>& shape, DType dtype, Location where) {
  bool empty = false;
  for (std::int64_t extent : shape) {
    if (extent < 0) {
      raise(ErrorCode::E0704, where,
            {.needed = "extents of 0 or more", .found = shape_text(shape)});
    }
    empty = empty || extent == 0;
  }
  if (empty) return 0;
  std::int64_t bytes_needed = bytes(dtype);
  for (std::int64_t extent : shape) {
    if (!multiply(bytes_needed, extent)) {
      raise(ErrorCode::E0711, where,
            {.needed = "fewer than 2^63 bytes",
             .found = fmt::format("{} elements of {}", shape_text(shape), to_string(dtype))});
    }
  }
  return bytes_needed / bytes(dtype);
}

// Every offset that the strides can make, in bytes, must fit; E0711.
void check_reach(const TensorView& view, const std::vector<std::int64_t>& strides, Location where) {
  std::int64_t reach = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    std::int64_t step = strides[i];
    const bool fits = (step >= 0 || !__builtin_sub_overflow(0, step, &step)) &&
                      multiply(step, view.shape[i] - 1) && multiply(step, bytes(view.dtype)) &&
                      !__builtin_add_overflow(reach, step, &reach);
    if (fits) continue;
    raise(ErrorCode::E0711, where,
          {.needed = "offsets below 2^63 bytes",
           .found = fmt::format("shape {} with strides {}", shape_text(view.shape),
                                shape_text(strides))});
  }
}

// Copies the elements of a strided view one after the other to `to`.
void gather(const TensorView& view, const std::vector<std::int64_t>& strides, std::int64_t count,
            std::byte* to) {
  const auto width = static_cast<std::size_t>(bytes(view.dtype));
  const int inner = view.rank() - 1;
  const std::int64_t inner_extent = inner < 0 ? 1 : view.shape[static_cast<std::size_t>(inner)];
  const std::int64_t inner_step =
      inner < 0 ? 0 : strides[static_cast<std::size_t>(inner)] * static_cast<std::int64_t>(width);
  std::vector<std::int64_t> index(view.shape.size(), 0);
  const auto* row = static_cast<const std::byte*>(view.data);
  for (std::int64_t done = 0; done < count; done += inner_extent) {
    if (inner_step == static_cast<std::int64_t>(width)) {
      std::memcpy(to, row, width * static_cast<std::size_t>(inner_extent));
      to += width * static_cast<std::size_t>(inner_extent);
    } else {
      for (std::int64_t i = 0; i < inner_extent; ++i, to += width) {
        std::memcpy(to, row + i * inner_step, width);
      }
    }
    for (int d = inner - 1; d >= 0; --d) {
      const auto at = static_cast<std::size_t>(d);
      const std::int64_t step = strides[at] * static_cast<std::int64_t>(width);
      if (++index[at] < view.shape[at]) {
        row += step;
        break;
      }
      row -= step * (view.shape[at] - 1);
      index[at] = 0;
    }
  }
}

std::optional<DType> dtype_of_dlpack(const DLDataType& type) {
  constexpr int bool_code = 6, e4m3fn_code = 10, e5m2_code = 12;  // not in old DLPack headers
  const auto by_width = [&](DType first) -> std::optional<DType> {
    if (type.bits < 8 || type.bits > 64 || !std::has_single_bit(type.bits)) return std::nullopt;
    return static_cast<DType>(static_cast<int>(first) + std::countr_zero(type.bits) - 3);
  };
  switch (static_cast<int>(type.code)) {
    case kDLInt: return by_width(int8);
    case kDLUInt: return by_width(uint8);
    case kDLFloat:
      if (type.bits == 16) return float16;
      if (type.bits == 32) return float32;
      if (type.bits == 64) return float64;
      return std::nullopt;
    case kDLBfloat: return type.bits == 16 ? std::optional(bfloat16) : std::nullopt;
    case bool_code: return type.bits == 8 ? std::optional(bool_) : std::nullopt;
    case e4m3fn_code: return type.bits == 8 ? std::optional(float8_e4m3fn) : std::nullopt;
    case e5m2_code: return type.bits == 8 ? std::optional(float8_e5m2) : std::nullopt;
    default: return std::nullopt;
  }
}

void check_dlpack(const DLTensor& tensor, Location where) {
  if (tensor.ndim < 0 || tensor.ndim > max_rank) {
    raise(ErrorCode::E0703, where,
          {.needed = fmt::format("0 to {} dimensions", max_rank),
           .found = fmt::format("ndim {}", tensor.ndim)});
  }
  if (tensor.ndim > 0 && tensor.shape == nullptr) {
    raise(ErrorCode::E0706, where,
          {.needed = "a shape",
           .found = fmt::format("a null shape with ndim {}", tensor.ndim),
           .help = "fill in DLTensor::shape"});
  }
  if (tensor.dtype.lanes != 1 || !dtype_of_dlpack(tensor.dtype)) {
    raise(ErrorCode::E0702, where,
          {.needed = "a dtype of tilecopy, with 1 lane",
           .found = fmt::format("DLPack code {}, {} bits, {} lanes", tensor.dtype.code,
                                tensor.dtype.bits, tensor.dtype.lanes)});
  }
}

template <class Managed>
const DLTensor& managed_tensor(const Managed* tensor, Location where) {
  if (tensor == nullptr) {
    raise(ErrorCode::E0706, where, {.needed = "a DLPack tensor", .found = "a null pointer"});
  }
  if constexpr (requires { tensor->version; }) {
    // Before the version is known, nothing behind it may be read.
    if (tensor->version.major != 1) {
      raise(ErrorCode::E0714, where,
            {.needed = "DLPack version 1",
             .found = fmt::format("version {}.{}", tensor->version.major, tensor->version.minor)});
    }
  }
  return tensor->dl_tensor;
}

// A well mixed function of the seed and a counter, the same on every machine.
std::uint64_t mix(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t z = seed + (counter + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

struct FloatFormat {
  int mantissa_bits;
  int bias;
};

FloatFormat float_format(DType dtype) {
  switch (dtype) {
    case float8_e4m3fn: return {3, 7};
    case float8_e5m2: return {2, 15};
    case float16: return {10, 15};
    case bfloat16: return {7, 127};
    case float32: return {23, 127};
    default: return {52, 1023};
  }
}

// Turns random bits into the bits of a value; see Tensor::fill_random for the range.
std::uint64_t random_element(DType dtype, std::uint64_t random) {
  if (dtype == bool_) return random >> 63;
  if (!is_float(dtype)) return random;
  const auto [mantissa_bits, bias] = float_format(dtype);
  const std::uint64_t sign = random >> 63;
  const std::uint64_t mantissa = random & ((std::uint64_t{1} << mantissa_bits) - 1);
  // Exponents 0 down to -6: even the smallest format has them without subnormal numbers.
  const std::uint64_t exponent = static_cast<std::uint64_t>(bias) - (random >> 54 & 0xff) % 7;
  return sign << (bits(dtype) - 1) | exponent << mantissa_bits | mantissa;
}

}  // namespace

bool Device::is_host() const {
  return type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost || type == kDLCUDAManaged;
}

std::string to_string(const Device& device) {
  switch (device.type) {
    case kDLCPU: return "cpu";
    case kDLCUDA: return fmt::format("cuda:{}", device.id);
    case kDLCUDAHost: return "cuda_host";
    case kDLCUDAManaged: return "cuda_managed";
    default: return fmt::format("device {}:{}", device.type, device.id);
  }
}

TensorView::TensorView(Counted elements, DType type, std::vector<std::int64_t> extents,
                       bool may_write, Location where)
    : TensorView(elements.data, type, std::move(extents), {}, may_write) {
  if (const std::int64_t count = size(where); static_cast<std::uint64_t>(count) != elements.count) {
    raise(ErrorCode::E0704, where,
          {.needed = fmt::format("{} elements for shape {}", count, shape_text(shape)),
           .found = fmt::format("{} elements", elements.count)});
  }
}

TensorView::TensorView(Tensor& tensor)
    : TensorView(tensor.data(), tensor.dtype(), tensor.shape()) {}

TensorView::TensorView(const Tensor& tensor)
    : TensorView(const_cast<void*>(tensor.data()), tensor.dtype(), tensor.shape(), {}, false) {}

TensorView::TensorView(const DLTensor& tensor, Location where) {
  check_dlpack(tensor, where);
  const auto rank = static_cast<std::size_t>(tensor.ndim);
  dtype = *dtype_of_dlpack(tensor.dtype);
  device = {static_cast<std::int32_t>(tensor.device.device_type), tensor.device.device_id};
  if (rank > 0) shape.assign(tensor.shape, tensor.shape + rank);
  if (rank > 0 && tensor.strides != nullptr) strides.assign(tensor.strides, tensor.strides + rank);
  if (tensor.data != nullptr) {
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
    data = reinterpret_cast<void*>(address + static_cast<std::uintptr_t>(tensor.byte_offset));
  }
  size(where);
}

TensorView::TensorView(const DLManagedTensor* tensor, Location where)
    : TensorView(managed_tensor(tensor, where), where) {}

TensorView::TensorView(const DLManagedTensorVersioned* tensor, Location where)
    : TensorView(managed_tensor(tensor, where), where) {
  writable = (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0;
}

TensorView TensorView::as(DType other, Location where) const {
  if (bits(other) != bits(dtype)) {
    raise(ErrorCode::E0702, where,
          {.needed = fmt::format("a dtype of {} bits", bits(dtype)),
           .found = fmt::format("{}, which has {}", to_string(other), bits(other)),
           .help = "convert the values with a copy to a tensor of the other dtype"});
  }
  TensorView view = *this;
  view.dtype = other;
  return view;
}

std::int64_t TensorView::size(Location where) const { return count_elements(shape, dtype, where); }

std::vector<std::int64_t> TensorView::full_strides(Location where) const {
  if (strides.size() == shape.size()) return strides;
  if (!strides.empty()) {
    raise(ErrorCode::E0705, where,
          {.needed = fmt::format("{} strides for shape {}", shape.size(), shape_text(shape)),
           .found = fmt::format("{} strides", strides.size())});
  }
  // An empty array may have extents whose product overflows; its strides are never used.
  std::vector<std::int64_t> steps(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    steps[i - 1] = steps[i];
    if (!multiply(steps[i - 1], shape[i])) steps[i - 1] = 0;
  }
  return steps;
}

bool TensorView::contiguous() const {
  if (strides.empty()) return true;
  if (strides.size() != shape.size()) return false;
  std::int64_t dense = 1;
  bool row_major = true;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != dense) row_major = false;
    if (!multiply(dense, shape[i])) row_major = false;
  }
  return row_major;
}

void Tensor::Free::operator()(void* memory) const noexcept {
  ::operator delete(memory, std::align_val_t(alignment));
}

// Gets zeroed memory for size_ elements.
void Tensor::allocate(Location where) {
  if (size_ == 0) return;
  const auto size_bytes = static_cast<std::size_t>(bytes());
  data_.reset(::operator new(size_bytes, std::align_val_t(alignment), std::nothrow));
  if (data_ == nullptr) {
    raise(ErrorCode::E0712, where,
          {.needed = fmt::format("{} bytes for shape {} of {}", size_bytes, shape_text(shape_),
                                 to_string(dtype_)),
           .found = "that the system refused them",
           .help = "use a smaller tensor, or free memory"});
  }
  std::memset(data_.get(), 0, size_bytes);
}

Tensor::Tensor(std::vector<std::int64_t> shape, DType dtype, Location where)
    : dtype_(dtype), shape_(std::move(shape)), size_(count_elements(shape_, dtype, where)) {
  allocate(where);
}

Tensor::Tensor(const TensorView& view, Location where) : Tensor(view.shape, view.dtype, where) {
  if (!view.device.is_host()) {
    raise(ErrorCode::E0709, where,
          {.needed = "memory that the host can read", .found = to_string(view.device)});
  }
  std::vector<std::int64_t> strides = view.full_strides(where);
  if (size_ == 0) return;
  // The stride of a single element is never taken, so it may be any number.
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (shape_[i] == 1) strides[i] = 0;
  }
  if (view.data == nullptr) {
    raise(ErrorCode::E0706, where,
          {.needed = fmt::format("the address of {} elements", size_), .found = "a null pointer"});
  }
  check_reach(view, strides, where);
  gather(view, strides, size_, static_cast<std::byte*>(data()));
}

Tensor::Tensor(const Tensor& other)
    : dtype_(other.dtype_), shape_(other.shape_), size_(other.size_) {
  allocate({});
  if (size_ > 0) std::memcpy(data(), other.data(), static_cast<std::size_t>(bytes()));
}

Tensor& Tensor::operator=(const Tensor& other) {
  if (this != &other) *this = Tensor(other);
  return *this;
}

Tensor::Tensor(Tensor&& other) noexcept
    : dtype_(other.dtype_),
      shape_(std::move(other.shape_)),
      size_(std::exchange(other.size_, 0)),
      data_(std::move(other.data_)) {}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  std::swap(dtype_, other.dtype_);
  std::swap(shape_, other.shape_);
  std::swap(size_, other.size_);
  std::swap(data_, other.data_);
  return *this;
}

void Tensor::check_type(DType dtype) const {
  if (dtype == dtype_) return;
  if (is_unsigned_int(dtype) && bits(dtype) == bits(dtype_)) return;
  raise(ErrorCode::E0702, {},
        {.needed = fmt::format("the C++ type of {}, or uint{} for its bits", to_string(dtype_),
                               bits(dtype_)),
         .found = std::string(to_string(dtype)),
         .help = "name the tensor's own type in elements<T>() or at<T>()"});
}

std::size_t Tensor::offset(std::initializer_list<std::int64_t> index) const {
  if (index.size() != shape_.size()) {
    raise(ErrorCode::E0703, {},
          {.needed = fmt::format("{} indices for shape {}", shape_.size(), shape_text(shape_)),
           .found = fmt::format("{} indices", index.size()),
           .help = "pass one index for each dimension"});
  }
  if (size_ == 0)
    raise(
        ErrorCode::E0715, {},
        {.needed = "a tensor with elements", .found = fmt::format("shape {}", shape_text(shape_))});
  std::int64_t offset = 0;
  std::size_t d = 0;
  for (std::int64_t i : index) {
    if (i < 0 || i >= shape_[d]) {
      raise(ErrorCode::E0715, {},
            {.needed = fmt::format("0 to below {} in dimension {}", shape_[d], d),
             .found = fmt::format("{}", i)});
    }
    offset = offset * shape_[d] + i;
    ++d;
  }
  return static_cast<std::size_t>(offset);
}

void Tensor::fill_random(std::uint64_t seed) {
  const auto width = static_cast<std::size_t>(tilecopy::bytes(dtype_));
  auto* to = static_cast<std::byte*>(data());
  for (std::int64_t i = 0; i < size_; ++i) {
    const std::uint64_t element = random_element(dtype_, mix(seed, static_cast<std::uint64_t>(i)));
    for (std::size_t b = 0; b < width; ++b) *to++ = static_cast<std::byte>(element >> (8 * b));
  }
}

}  // namespace tilecopy
