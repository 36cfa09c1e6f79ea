// Fragment: the threads and registers that hold a register tile.
#include <algorithm>

#include "layout/checked.h"
#include "tilecopy/layout.h"

namespace tilecopy {

using layout::checked_mul;

namespace {

void check_part(const Layout& part, const std::vector<std::int64_t>& shape, const char* name,
                Location where) {
  bool fits = rank(part) == static_cast<int>(shape.size());
  for (int i = 0; fits && i < rank(part); ++i) {
    fits = size(part.mode(i)) == shape[static_cast<std::size_t>(i)];
  }
  for (const Mode& mode : part.flat()) fits = fits && mode.stride >= 0;
  if (fits) return;
  raise(ErrorCode::E0424, where,
        {.needed = fmt::format("a {} layout with modes of the sizes {} and strides of at least 0",
                               name, to_string(IntTuple(shape))),
         .found = to_string(part)});
}

// A mode's digits, each with both of its strides.
struct JointMode {
  std::int64_t extent, thread, reg;
};

// Splits the digits of two layouts of equal size until they agree; empty when they interleave.
std::optional<std::vector<JointMode>> refine(std::vector<Mode> a, std::vector<Mode> b) {
  std::vector<JointMode> out;
  std::erase_if(a, [](const Mode& mode) { return mode.extent == 1; });
  std::erase_if(b, [](const Mode& mode) { return mode.extent == 1; });
  for (std::size_t i = 0, j = 0; i < a.size();) {
    std::int64_t extent = std::min(a[i].extent, b[j].extent);
    if (a[i].extent % extent != 0 || b[j].extent % extent != 0) return std::nullopt;
    out.push_back({extent, a[i].stride, b[j].stride});
    for (auto [mode, index] : {std::pair{&a[i], &i}, std::pair{&b[j], &j}}) {
      mode->extent /= extent;
      if (mode->extent == 1) {
        ++*index;
      } else {
        mode->stride *= extent;
      }
    }
  }
  return out;
}

// No two of the first size(thread) indices give the same thread and register.
bool is_injective_by_enumeration(const Layout& thread, const Layout& reg, std::int64_t threads,
                                 std::int64_t slots) {
  constexpr std::int64_t max_enumerated = std::int64_t{1} << 22;
  if (slots > max_enumerated) return false;
  std::vector<bool> taken(static_cast<std::size_t>(slots));
  for (std::int64_t index = 0; index < size(thread); ++index) {
    auto slot = static_cast<std::size_t>(thread(index) + threads * reg(index));
    if (taken[slot]) return false;
    taken[slot] = true;
  }
  return true;
}

std::int64_t value_at(const Layout& part, const IntTuple& coord, Location where) {
  if (rank(coord) != rank(part)) {
    raise(ErrorCode::E0423, where,
          {.needed = fmt::format("a coordinate of {} entries", rank(part)),
           .found = to_string(coord)});
  }
  return part(coord, where);
}

Layout broadcast(std::int64_t extent) { return Layout(extent, 0); }

}  // namespace

Fragment::Fragment(std::vector<std::int64_t> shape, Layout thread, Layout reg, Location where)
    : shape_(std::move(shape)), thread_(std::move(thread)), reg_(std::move(reg)) {
  check_part(thread_, shape_, "thread", where);
  check_part(reg_, shape_, "register", where);
  checked_mul(threads(), registers(), where);
}

Fragment Fragment::raked(const Layout& thr, const Layout& val, Location where) {
  std::vector<std::int64_t> shape;
  std::vector<Layout> thread;
  std::vector<Layout> reg;
  for (int i = 0; i < std::max(rank(thr), rank(val)); ++i) {
    Layout t = i < rank(thr) ? thr.mode(i) : broadcast(1);
    Layout v = i < rank(val) ? val.mode(i) : broadcast(1);
    shape.push_back(checked_mul(size(v), size(t), where));
    thread.push_back(coalesce(make_layout({broadcast(size(v)), t}, where)));
    reg.push_back(coalesce(make_layout({v, broadcast(size(t))}, where)));
  }
  return Fragment(std::move(shape), make_layout(thread, where), make_layout(reg, where), where);
}

Fragment Fragment::from_thread_value(const Layout& layout_tv, std::vector<std::int64_t> shape,
                                     Location where) {
  Layout inverse = right_inverse(layout_tv, where);
  std::int64_t elements = size(IntTuple(shape), where);
  bool fits = rank(layout_tv) == 2 && size(layout_tv) == elements && size(inverse) == elements;
  if (!fits) {
    raise(ErrorCode::E0422, where,
          {.needed = fmt::format("a layout of (thread, value) that reaches each of {} once",
                                 to_string(IntTuple(shape))),
           .found = to_string(layout_tv)});
  }
  IntTuple slots{size(layout_tv.mode(0)), size(layout_tv.mode(1))};
  Layout slot = composition(inverse, column_major(shape, where), where);
  Layout thread = composition(Layout(slots, {1, 0}, where), slot, where);
  Layout reg = composition(Layout(slots, {0, 1}, where), slot, where);
  return Fragment(std::move(shape), coalesce_modes(thread), coalesce_modes(reg), where);
}

Fragment Fragment::linear(std::vector<std::int64_t> shape, std::int64_t threads,
                          std::int64_t vector, Location where) {
  if (threads < 1 || vector < 1) {
    raise(ErrorCode::E0424, where,
          {.needed = "at least 1 thread and 1 element for each",
           .found = fmt::format("{} threads and {} elements", threads, vector)});
  }
  Layout order = row_major(shape, where);
  std::int64_t rounds = layout::ceil_div(size(order), checked_mul(threads, vector, where));
  IntTuple dealt{vector, threads, rounds};
  Layout thread = composition(Layout(dealt, {0, 1, 0}, where), order, where);
  Layout reg = composition(Layout(dealt, {1, 0, vector}, where), order, where);
  return Fragment(std::move(shape), std::move(thread), std::move(reg), where);
}

std::int64_t Fragment::threads() const { return cosize(thread_); }
std::int64_t Fragment::registers() const { return cosize(reg_); }

std::int64_t Fragment::thread_of(const IntTuple& coord, Location where) const {
  return value_at(thread_, coord, where);
}

std::int64_t Fragment::register_of(const IntTuple& coord, Location where) const {
  return value_at(reg_, coord, where);
}

// The layout of coordinates to thread + threads() * register.
std::optional<Layout> Fragment::joint() const {
  std::vector<Layout> modes;
  for (int i = 0; i < rank(thread_); ++i) {
    auto digits = refine(thread_.flat(i), reg_.flat(i));
    if (!digits) return std::nullopt;
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides;
    for (const JointMode& digit : *digits) {
      extents.push_back(digit.extent);
      strides.push_back(digit.thread + threads() * digit.reg);
    }
    modes.push_back(Layout(extents, strides));
  }
  return make_layout(modes);
}

bool Fragment::is_injective() const {
  std::int64_t slots = threads() * registers();
  if (size(thread_) > slots) return false;
  if (std::optional<Layout> layout = joint()) return tilecopy::is_injective(*layout);
  return is_injective_by_enumeration(thread_, reg_, threads(), slots);
}

bool Fragment::is_bijective() const {
  return size(thread_) == threads() * registers() && is_injective();
}

Layout Fragment::layout_tv(Location where) const {
  std::optional<Layout> layout = joint();
  Layout inverse = layout ? right_inverse(*layout, where) : Layout();
  std::int64_t slots = threads() * registers();
  if (size(thread_) != slots || size(inverse) != slots) {
    raise(ErrorCode::E0422, where,
          {.needed = fmt::format("one coordinate for each of {} registers of {} threads",
                                 registers(), threads()),
           .found = to_string(*this)});
  }
  return composition(inverse, column_major({threads(), registers()}, where), where);
}

std::vector<Layout> Fragment::inverse(Location where) const {
  Layout tv = layout_tv(where);
  std::vector<Layout> out;
  for (std::size_t i = 0; i < shape_.size(); ++i) {
    std::vector<std::int64_t> strides(shape_.size(), 0);
    strides[i] = 1;
    out.push_back(composition(Layout(shape_, strides, where), tv, where));
  }
  return out;
}

}  // namespace tilecopy
