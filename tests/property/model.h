// The plain reference: what copy, transpose, fill and im2col mean, by loops over elements. It knows
// arrays of bytes and strides, nothing of kernels, and shares no code with the compiler.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "property/scalar.h"

namespace tilecopy::property {

using Indices = std::vector<std::int64_t>;

/// An element as it was read; one that nobody wrote has no known value. The NaN that arithmetic of
/// float32 and float64 gives is the machine's: then any NaN is right.
struct Value {
  Scalar scalar;
  bool known = true;
  bool any_nan = false;

  Value as(DType dtype) const {
    return {convert(scalar, dtype), known, any_nan && dtype == scalar.dtype};
  }
};

/// An array in memory of its own, with guard bytes around it. Copies are deep.
class Array {
 public:
  static constexpr std::int64_t guard = 4096;  ///< bytes on each side

  Array() = default;
  /// Strides in elements, of any sign; `shift` elements move the array off its alignment. All
  /// bytes, gaps and guards too, are 0xa5.
  Array(DType dtype, Indices shape, Indices strides, std::int64_t shift = 0);
  /// A row-major array whose elements are not known.
  static Array unknown(DType dtype, const Indices& shape);

  DType dtype() const { return dtype_; }
  const Indices& shape() const { return shape_; }
  const Indices& strides() const { return strides_; }
  std::int64_t size() const;
  /// The address of element 0.
  void* first() { return bytes_.data() + first_; }

  bool holds(const Indices& at) const;
  Value load(const Indices& at) const;
  void store(const Indices& at, Value value);

  /// Visits every element in row-major order.
  void for_each(const std::function<void(const Indices&)>& visit) const;
  /// Fills gaps and guards as well, so that no two arrays have the same ones.
  void fill_random(std::uint64_t seed);

  const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  /// The place of element 0 in bytes().
  std::int64_t first_place() const { return first_; }
  void set_bytes(std::vector<std::uint8_t> bytes) { bytes_ = std::move(bytes); }

  /// Whether an element whose value is not known was ever stored here.
  bool stored_unknown() const { return stored_unknown_; }

  /// Told of every access of the model to an element, by its place in `bytes`.
  std::function<void(std::int64_t place, bool write)> on_access;

 private:
  std::int64_t place(const Indices& at) const;

  DType dtype_ = float32;
  Indices shape_, strides_;
  std::int64_t first_ = 0;
  std::vector<std::uint8_t> bytes_;
  bool stored_unknown_ = false;
  std::vector<std::uint8_t> state_;  // of each element, at its first byte; empty when all is known
};

/// Row-major strides.
Indices dense_strides(const Indices& shape);
/// Visits each index below `extent`, the last dimension fastest.
void for_each_index(const Indices& extent, const std::function<void(const Indices&)>& visit);

struct Region {
  Array* array = nullptr;
  Indices origin, extent;
};

/// Out of bounds, a source element is `safe`, and a destination element is not written.
void copy(const Region& src, const Region& dst, Scalar safe);
/// A copy from the source with its last two dimensions swapped.
void transpose(const Region& src, const Region& dst, Scalar safe);
void fill(const Region& dst, Value value);

struct Pair {
  std::int64_t h = 1, w = 1;
};
struct Window {
  Pair kernel, stride, dilation, pad = {0, 0};

  std::int64_t out_h(const Array& img) const;
  std::int64_t out_w(const Array& img) const;
};

/// The last two dimensions of `col` are the tile.
void im2col(const Array& img, const Region& col, std::int64_t nhw_step, std::int64_t c_step,
            const Window& window);

}  // namespace tilecopy::property
