// The operations on the digits of layouts: coalesce, composition, complement and the inverses.
#include <algorithm>

#include "layout/checked.h"
#include "layout/int_tuple.h"
#include "tilecopy/layout.h"

namespace tilecopy {

using layout::ceil_div;
using layout::checked_mul;

namespace {

Layout from_modes(const std::vector<Mode>& modes, Location where) {
  if (modes.empty()) return Layout(1, 0, where);
  if (modes.size() == 1) return Layout(modes[0].extent, modes[0].stride, where);
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;
  for (const Mode& mode : modes) {
    shape.push_back(mode.extent);
    stride.push_back(mode.stride);
  }
  return Layout(shape, stride, where);
}

// Without extents of 1, and with neighbours joined where the second goes on where the first ends.
std::vector<Mode> coalesced(const std::vector<Mode>& modes) {
  std::vector<Mode> out;
  for (const Mode& mode : modes) {
    if (mode.extent == 1) continue;
    std::int64_t end = 0;
    bool joins = !out.empty() &&
                 !__builtin_mul_overflow(out.back().extent, out.back().stride, &end) &&
                 end == mode.stride;
    if (joins) {
      out.back().extent *= mode.extent;
    } else {
      out.push_back(mode);
    }
  }
  return out;
}

std::vector<Mode> sorted_by_stride(std::vector<Mode> modes) {
  std::stable_sort(modes.begin(), modes.end(),
                   [](const Mode& a, const Mode& b) { return a.stride < b.stride; });
  return modes;
}

std::vector<Mode> without_zero_strides(std::vector<Mode> modes) {
  std::erase_if(modes, [](const Mode& mode) { return mode.stride == 0; });
  return modes;
}

// A mode and what one step of it adds to the linear index.
struct Placed {
  Mode mode;
  std::int64_t place = 1;
};

std::vector<Placed> placed_by_stride(const Layout& layout) {
  std::vector<Placed> out;
  std::int64_t place = 1;
  for (const Mode& mode : coalesced(layout.flat())) {
    out.push_back({mode, place});
    place *= mode.extent;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Placed& a, const Placed& b) { return a.mode.stride < b.mode.stride; });
  return out;
}

// Composes a with one mode of b after the other. A step of b is written in the digits of a; a run
// of steps becomes one mode as long as no digit of a carries. `room_` is what is left of each digit
// of a: where all modes of b together stay within it, a(b(c)) is the sum of what they give.
class Composer {
 public:
  Composer(const Layout& a, const Layout& b, Location where)
      : a_(a), b_(b), where_(where), digits_(coalesced(a.flat())) {
    for (const Mode& digit : digits_) room_.push_back(digit.extent - 1);
  }

  Layout compose() { return compose(b_.shape(), b_.stride()); }

 private:
  Layout compose(const IntTuple& shape, const IntTuple& stride) {
    if (shape.is_int()) return from_modes(compose({shape.value(), stride.value()}), where_);
    std::vector<Layout> modes;
    for (int i = 0; i < rank(shape); ++i) modes.push_back(compose(shape[i], stride[i]));
    return make_layout(modes, where_);
  }

  std::vector<Mode> compose(Mode mode) {
    if (mode.extent == 1) return {};
    if (mode.stride == 0) return {mode};
    if (mode.stride < 0) raise_domain();
    std::vector<Mode> out;
    while (mode.extent > 1) {
      Mode run = take_run(mode);
      if (mode.extent % run.extent != 0) {
        raise_inadmissible(fmt::format("a run of {} of {} steps", run.extent, mode.extent));
      }
      out.push_back(run);
      mode.extent /= run.extent;
      if (mode.extent > 1) mode.stride = checked_mul(mode.stride, run.extent, where_);
    }
    return coalesced(out);
  }

  // The longest run of steps that stays within the digits of a.
  Mode take_run(const Mode& mode) {
    std::vector<std::int64_t> step;
    std::int64_t rest = mode.stride;
    Mode run{mode.extent, 0};
    for (const Mode& digit : digits_) {
      step.push_back(rest % digit.extent);
      rest /= digit.extent;
      if (step.back() > 0) run.extent = std::min(run.extent, (digit.extent - 1) / step.back() + 1);
    }
    if (rest > 0) raise_domain();
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      room_[i] -= (run.extent - 1) * step[i];
      if (room_[i] < 0 && i + 1 == digits_.size()) raise_domain();
      if (room_[i] < 0) raise_inadmissible("modes that carry into each other");
      run.stride += step[i] * digits_[i].stride;
    }
    return run;
  }

  [[noreturn]] void raise_domain() const {
    raise(ErrorCode::E0422, where_,
          {.needed =
               fmt::format("offsets from 0 to {}, the domain of {}", size(a_) - 1, to_string(a_)),
           .found = "the offsets of " + to_string(b_)});
  }

  [[noreturn]] void raise_inadmissible(const std::string& found) const {
    raise(ErrorCode::E0422, where_,
          {.needed =
               fmt::format("steps of {} that fit the digits of {}", to_string(b_), to_string(a_)),
           .found = found});
  }

  const Layout& a_;
  const Layout& b_;
  Location where_;
  std::vector<Mode> digits_;
  std::vector<std::int64_t> room_;
};

}  // namespace

Layout flatten(const Layout& layout) {
  if (layout.shape().is_int()) return layout;
  return Layout(layout::leaves(layout.shape()), layout::leaves(layout.stride()));
}

Layout coalesce(const Layout& layout) { return from_modes(coalesced(layout.flat()), {}); }

Layout coalesce_modes(const Layout& layout) {
  if (layout.shape().is_int()) return coalesce(layout);
  std::vector<Layout> modes;
  for (const Layout& mode : layout.modes()) modes.push_back(coalesce(mode));
  return make_layout(modes);
}

Layout filter(const Layout& layout) {
  return from_modes(coalesced(without_zero_strides(layout.flat())), {});
}

Layout composition(const Layout& a, const Layout& b, Location where) {
  return Composer(a, b, where).compose();
}

Layout complement(const Layout& layout, std::int64_t cotarget, Location where) {
  if (cotarget < 1) {
    raise(ErrorCode::E0422, where,
          {.needed = "a cotarget of at least 1", .found = fmt::format("{}", cotarget)});
  }
  std::vector<Mode> out;
  std::int64_t end = 1;
  for (const Mode& mode : sorted_by_stride(filter(layout).flat())) {
    if (mode.extent == 1) continue;
    if (mode.stride < end || mode.stride % end != 0) {
      raise(ErrorCode::E0422, where,
            {.needed = fmt::format("a stride that is a positive multiple of {}", end),
             .found = fmt::format("stride {} in {}", mode.stride, to_string(layout))});
    }
    out.push_back({mode.stride / end, end});
    end = checked_mul(mode.extent, mode.stride, where);
  }
  out.push_back({ceil_div(cotarget, end), end});
  return from_modes(coalesced(out), where);
}

Layout right_inverse(const Layout& layout, Location where) {
  std::vector<Mode> out;
  std::int64_t end = 1;
  for (const auto& [mode, place] : placed_by_stride(layout)) {
    if (mode.stride != end) continue;
    out.push_back({mode.extent, place});
    end *= mode.extent;
  }
  return from_modes(coalesced(out), where);
}

Layout left_inverse(const Layout& layout, Location where) {
  std::vector<Placed> modes = placed_by_stride(layout);
  // The digits of an offset: strides that divide each other, with room for each mode in between.
  std::vector<Mode> out;
  std::int64_t below = 1;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    std::int64_t stride = modes[i].mode.stride;
    std::int64_t room = i == 0 ? 1 : modes[i - 1].mode.extent;
    if (stride < 1 || stride % below != 0 || stride / below < room) {
      raise(ErrorCode::E0422, where,
            {.needed =
                 fmt::format("a stride that is a multiple of {}, {} or more times", below, room),
             .found = fmt::format("stride {} in {}", stride, to_string(layout))});
    }
    out.push_back({stride / below, i == 0 ? 0 : modes[i - 1].place});
    below = stride;
  }
  if (!modes.empty()) out.push_back({modes.back().mode.extent, modes.back().place});
  return from_modes(coalesced(out), where);
}

}  // namespace tilecopy
