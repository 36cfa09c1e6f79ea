#include "property/model.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace tilecopy::property {
namespace {

constexpr std::uint8_t untouched = 0xa5;

// What is not known of an element.
enum State : std::uint8_t { all_known = 0, not_known = 1, which_nan = 2 };

// The dimensions of a region that are more than one element long, in order.
std::vector<std::size_t> long_dims(const Region& region, bool swap_last) {
  std::vector<std::size_t> order(region.extent.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  if (swap_last) std::swap(order[order.size() - 1], order[order.size() - 2]);
  std::erase_if(order, [&](std::size_t d) { return region.extent[d] == 1; });
  return order;
}

Value read(const Region& region, const Indices& at, Scalar safe) {
  return region.array->holds(at) ? region.array->load(at) : Value{safe};
}

void write(const Region& region, const Indices& at, Value value) {
  if (!region.array->holds(at)) return;
  region.array->store(at, value.as(region.array->dtype()));
}

void move(const Region& src, const Region& dst, Scalar safe, bool swap_last) {
  const std::vector<std::size_t> from = long_dims(src, swap_last);
  const std::vector<std::size_t> to = long_dims(dst, false);
  Indices extent;
  for (std::size_t d : to) extent.push_back(dst.extent[d]);
  for_each_index(extent, [&](const Indices& i) {
    Indices src_at = src.origin;
    Indices dst_at = dst.origin;
    for (std::size_t k = 0; k < i.size(); ++k) {
      src_at[from[k]] += i[k];
      dst_at[to[k]] += i[k];
    }
    // A destination out of bounds asks nothing of the source.
    if (dst.array->holds(dst_at)) write(dst, dst_at, read(src, src_at, safe));
  });
}

// A float of any dtype: often a special one, since random bits seldom are.
std::uint64_t random_real(DType dtype, std::mt19937_64& random) {
  switch (random() % 8) {
    case 0: return from_double(0.0, dtype).bits;
    case 1: return from_double(-0.0, dtype).bits;
    case 2: return convert({float64, random()}, dtype).bits;
    case 3: return from_int64(static_cast<std::int64_t>(random() % 41) - 20, dtype).bits;
    case 4: return from_double(static_cast<double>(random() % 4096) / 128 - 16, dtype).bits;
    default: return random();  // infinities, subnormals and NaNs of every kind among them
  }
}

}  // namespace

Indices dense_strides(const Indices& shape) {
  Indices strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

void for_each_index(const Indices& extent, const std::function<void(const Indices&)>& visit) {
  if (std::any_of(extent.begin(), extent.end(), [](std::int64_t e) { return e <= 0; })) return;
  Indices at(extent.size());
  for (;;) {
    visit(at);
    std::size_t d = extent.size();
    while (d > 0 && ++at[d - 1] == extent[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

// ---- Array ----

Array::Array(DType dtype, Indices shape, Indices strides, std::int64_t shift)
    : dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)) {
  const std::int64_t width = width_of(dtype);
  std::int64_t low = 0, high = 0;
  for (std::size_t d = 0; d < shape_.size() && size() > 0; ++d) {
    const std::int64_t reach = strides_[d] * (shape_[d] - 1);
    (reach < 0 ? low : high) += reach;
  }
  first_ = guard + (shift - low) * width;
  const std::int64_t total = first_ + (size() > 0 ? (high + 1) * width : 0) + guard;
  bytes_.assign(static_cast<std::size_t>(total), untouched);
}

Array Array::unknown(DType dtype, const Indices& shape) {
  Array result(dtype, shape, dense_strides(shape));
  result.state_.assign(result.bytes_.size(), not_known);
  return result;
}

std::int64_t Array::size() const {
  std::int64_t result = 1;
  for (std::int64_t extent : shape_) result *= extent;
  return result;
}

bool Array::holds(const Indices& at) const {
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (at[d] < 0 || at[d] >= shape_[d]) return false;
  }
  return true;
}

std::int64_t Array::place(const Indices& at) const {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * strides_[d];
  return first_ + offset * width_of(dtype_);
}

Value Array::load(const Indices& at) const {
  const std::int64_t from = place(at);
  if (on_access) on_access(from, false);
  Value value{{dtype_, 0}};
  if (!state_.empty()) {
    const std::uint8_t state = state_[static_cast<std::size_t>(from)];
    value.known = state != not_known;
    value.any_nan = state == which_nan;
  }
  std::memcpy(&value.scalar.bits, bytes_.data() + from, static_cast<std::size_t>(width_of(dtype_)));
  return value;
}

void Array::store(const Indices& at, Value value) {
  const std::int64_t to = place(at);
  if (on_access) on_access(to, true);
  std::memcpy(bytes_.data() + to, &value.scalar.bits, static_cast<std::size_t>(width_of(dtype_)));
  stored_unknown_ |= !value.known;
  const State state = !value.known ? not_known : value.any_nan ? which_nan : all_known;
  if (state != all_known && state_.empty()) state_.assign(bytes_.size(), all_known);
  if (!state_.empty()) state_[static_cast<std::size_t>(to)] = state;
}

void Array::for_each(const std::function<void(const Indices&)>& visit) const {
  for_each_index(shape_, visit);
}

void Array::fill_random(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::uint8_t& byte : bytes_) byte = static_cast<std::uint8_t>(random());
  for_each([&](const Indices& at) {
    std::uint64_t bits = is_real(dtype_) ? random_real(dtype_, random) : random();
    if (!is_real(dtype_) && random() % 4 == 0) bits = random() % 5 - 2;
    if (dtype_ == bool_) bits &= 1;
    store(at, {{dtype_, bits}});
  });
}

// ---- Operations ----

void copy(const Region& src, const Region& dst, Scalar safe) { move(src, dst, safe, false); }
void transpose(const Region& src, const Region& dst, Scalar safe) { move(src, dst, safe, true); }

void fill(const Region& dst, Value value) {
  for_each_index(dst.extent, [&](const Indices& i) {
    Indices at = dst.origin;
    for (std::size_t d = 0; d < i.size(); ++d) at[d] += i[d];
    write(dst, at, value);
  });
}

std::int64_t Window::out_h(const Array& img) const {
  const std::int64_t room = img.shape()[1] + 2 * pad.h - dilation.h * (kernel.h - 1) - 1;
  return room < 0 ? 0 : room / stride.h + 1;
}

std::int64_t Window::out_w(const Array& img) const {
  const std::int64_t room = img.shape()[2] + 2 * pad.w - dilation.w * (kernel.w - 1) - 1;
  return room < 0 ? 0 : room / stride.w + 1;
}

void im2col(const Array& img, const Region& col, std::int64_t nhw_step, std::int64_t c_step,
            const Window& window) {
  const std::size_t rank = col.extent.size();
  const std::int64_t oh = window.out_h(img), ow = window.out_w(img), channels = img.shape()[3];
  const std::int64_t rows = img.shape()[0] * oh * ow;
  const std::int64_t columns = window.kernel.h * window.kernel.w * channels;
  const std::int64_t block_m = col.extent[rank - 2], block_k = col.extent[rank - 1];
  for (std::int64_t i = 0; i < block_m; ++i) {
    for (std::int64_t j = 0; j < block_k; ++j) {
      Value value{{img.dtype(), 0}};
      const std::int64_t m = nhw_step * block_m + i, k = c_step * block_k + j;
      if (m >= 0 && m < rows && k >= 0 && k < columns) {
        const std::int64_t tap = k / channels;
        const std::int64_t h = m / ow % oh * window.stride.h +
                               tap / window.kernel.w * window.dilation.h - window.pad.h;
        const std::int64_t w =
            m % ow * window.stride.w + tap % window.kernel.w * window.dilation.w - window.pad.w;
        const Indices at = {m / (oh * ow), h, w, k % channels};
        if (img.holds(at)) value = img.load(at);
      }
      Indices to = col.origin;
      to[rank - 2] += i;
      to[rank - 1] += j;
      write(col, to, value);
    }
  }
}

}  // namespace tilecopy::property
