// Arrays handed to kernels: a view of memory that belongs to someone else, and a tensor that owns
// host memory. Also the .npy files of NumPy.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tilecopy/dlpack.h"
#include "tilecopy/types.h"

namespace tilecopy {

/// Where memory lives, in DLPack's numbers: type 1 is the host, 2 is CUDA.
struct Device {
  std::int32_t type = kDLCPU;
  std::int32_t id = 0;

  bool operator==(const Device&) const = default;
  /// Whether the host can read the memory at its address: host, pinned and managed memory.
  bool is_host() const;
};

/// "cpu", "cuda:0", or DLPack's number as in "device 7:0".
std::string to_string(const Device& device);

/// The C++ types that are an element type. 16-bit and 8-bit floats have none: name their DType.
template <class T>
concept Element = std::same_as<T, bool> || std::same_as<T, float> || std::same_as<T, double> ||
    (std::integral<T> && sizeof(T) <= 8 && !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
     !std::same_as<T, char16_t> && !std::same_as<T, char32_t>);

template <Element T>
constexpr DType dtype_of() {
  if constexpr (std::same_as<T, bool>)
    return DType::bool_;
  else if constexpr (std::same_as<T, float>)
    return DType::float32;
  else if constexpr (std::same_as<T, double>)
    return DType::float64;
  else if constexpr (sizeof(T) == 1)
    return std::signed_integral<T> ? DType::int8 : DType::uint8;
  else if constexpr (sizeof(T) == 2)
    return std::signed_integral<T> ? DType::int16 : DType::uint16;
  else if constexpr (sizeof(T) == 4)
    return std::signed_integral<T> ? DType::int32 : DType::uint32;
  else
    return std::signed_integral<T> ? DType::int64 : DType::uint64;
}

class Tensor;

/// Memory of someone else, with what is needed to read it as an array. Copying a view copies no
/// elements, and the memory must outlive the view.
struct TensorView {
  void* data = nullptr;  ///< the first element; may be null when there are no elements
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements; empty for row-major
  bool writable = true;
  Device device;

  TensorView() = default;
  TensorView(void* first, DType type, std::vector<std::int64_t> extents,
             std::vector<std::int64_t> steps = {}, bool may_write = true, Device place = {})
      : data(first),
        dtype(type),
        shape(std::move(extents)),
        strides(std::move(steps)),
        writable(may_write),
        device(place) {}

  /// All elements of `elements` in row-major order; read-only if T is const. E0704 when the shape
  /// has another number of elements.
  template <class T>
  requires Element<std::remove_const_t<T>> TensorView(
      std::span<T> elements, std::vector<std::int64_t> extents,
      Location where = std::source_location::current())
      : TensorView(Counted{const_cast<std::remove_const_t<T>*>(elements.data()), elements.size()},
                   dtype_of<std::remove_const_t<T>>(), std::move(extents), !std::is_const_v<T>,
                   where) {}
  template <Element T>
  requires(!std::same_as<T, bool>)
      TensorView(std::vector<T>& elements, std::vector<std::int64_t> extents,
                 Location where = std::source_location::current())
      : TensorView(std::span<T>(elements), std::move(extents), where) {}
  template <Element T>
  requires(!std::same_as<T, bool>)
      TensorView(const std::vector<T>& elements, std::vector<std::int64_t> extents,
                 Location where = std::source_location::current())
      : TensorView(std::span<const T>(elements), std::move(extents), where) {}

  TensorView(Tensor& tensor);        // NOLINT: a tensor is used wherever a view is asked for
  TensorView(const Tensor& tensor);  // NOLINT: the same, read-only

  /// A DLPack tensor, which stays the caller's. E0702 for a dtype that tilecopy lacks and for
  /// vectors of elements, E0703 for a bad rank, E0706 for a null pointer, E0714 for another version
  /// of DLPack.
  TensorView(const DLTensor& tensor, Location where = std::source_location::current());
  TensorView(const DLManagedTensor* tensor, Location where = std::source_location::current());
  TensorView(const DLManagedTensorVersioned* tensor,
             Location where = std::source_location::current());

  /// The same bits read as another dtype of the same width, as uint16 to float16; E0702.
  TensorView as(DType other, Location where = std::source_location::current()) const;

  int rank() const { return static_cast<int>(shape.size()); }
  /// Number of elements; E0704 for a negative extent, E0711 when the number of bytes overflows.
  std::int64_t size(Location where = {}) const;
  /// The strides in elements, with row-major ones written out; E0705 when their number is wrong.
  std::vector<std::int64_t> full_strides(Location where = {}) const;
  /// Whether the elements lie densely in row-major order.
  bool contiguous() const;

 private:
  struct Counted {
    void* data;
    std::size_t count;
  };
  TensorView(Counted elements, DType type, std::vector<std::int64_t> extents, bool may_write,
             Location where);
};

/// A row-major array in host memory, aligned to 64 bytes. Copies are deep.
class Tensor {
 public:
  /// No elements: shape (0), float32.
  Tensor() = default;
  /// All elements zero. E0704 for a negative extent, E0711 when the size overflows, E0712 when
  /// there is not enough memory.
  Tensor(std::vector<std::int64_t> shape, DType dtype,
         Location where = std::source_location::current());
  /// The elements of a view in host memory, whatever its strides; E0705, E0706, E0709 as well.
  explicit Tensor(const TensorView& view, Location where = std::source_location::current());

  Tensor(const Tensor& other);
  Tensor& operator=(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor() = default;

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  std::int64_t size() const { return size_; }
  /// Bytes of all elements.
  std::int64_t bytes() const { return size_ * tilecopy::bytes(dtype_); }
  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }

  TensorView view() { return TensorView(*this); }
  /// A read-only view.
  TensorView view() const { return TensorView(*this); }

  /// All elements in row-major order. T is the dtype's C++ type, or the unsigned type of its width
  /// for the bits of any dtype; E0702.
  template <Element T>
  std::span<T> elements() {
    check_type(dtype_of<T>());
    return {static_cast<T*>(data()), static_cast<std::size_t>(size_)};
  }
  template <Element T>
  std::span<const T> elements() const {
    check_type(dtype_of<T>());
    return {static_cast<const T*>(data()), static_cast<std::size_t>(size_)};
  }

  /// One element; T as for elements(). E0703 for the wrong number of indices, E0715 for one outside
  /// of the shape.
  template <Element T, std::convertible_to<std::int64_t>... Index>
  T& at(Index... index) {
    return elements<T>()[offset({static_cast<std::int64_t>(index)...})];
  }
  template <Element T, std::convertible_to<std::int64_t>... Index>
  const T& at(Index... index) const {
    return elements<T>()[offset({static_cast<std::int64_t>(index)...})];
  }

  /// The same values for the same seed, shape and dtype on every machine: integers over their whole
  /// range, floats finite with magnitudes from 2^-6 to below 2.
  void fill_random(std::uint64_t seed);

 private:
  struct Free {
    void operator()(void* memory) const noexcept;
  };

  void check_type(DType dtype) const;
  std::size_t offset(std::initializer_list<std::int64_t> index) const;
  void allocate(Location where);

  DType dtype_ = DType::float32;
  std::vector<std::int64_t> shape_ = {0};
  std::int64_t size_ = 0;
  std::unique_ptr<void, Free> data_;
};

/// Reads a .npy file of NumPy, in C or Fortran order. E0605 when it cannot be read, E0604 when it
/// is malformed, holds a dtype that tilecopy lacks, or holds bits without a dtype, as NumPy writes
/// bfloat16 and the 8-bit floats.
Tensor load_npy(const std::string& path, Location where = std::source_location::current());
/// The same, for a file that must hold `dtype`. Bits without a dtype, and unsigned integers where
/// NumPy has no such dtype, are taken as `dtype` if the width fits.
Tensor load_npy(const std::string& path, DType dtype,
                Location where = std::source_location::current());

/// Writes a view in host memory as a .npy file, in C order; bfloat16 and the 8-bit floats as bits
/// without a dtype. A failure leaves an older file as it was. E0605, and as for Tensor(view).
void save_npy(const std::string& path, const TensorView& view,
              Location where = std::source_location::current());

}  // namespace tilecopy
