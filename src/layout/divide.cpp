// Division into tiles and products of tiles, mode by mode.
#include <algorithm>

#include "layout/checked.h"
#include "tilecopy/layout.h"

namespace tilecopy {

using layout::checked_mul;

namespace {

void check_tiler(const Layout& layout, const Tiler& tiler, Location where) {
  if (tiler.size() <= static_cast<std::size_t>(rank(layout))) return;
  raise(ErrorCode::E0422, where,
        {.needed = fmt::format("a tiler of at most {} modes, the rank of {}", rank(layout),
                               to_string(layout)),
         .found = fmt::format("{} modes", tiler.size())});
}

// (tile, rest) of each tiled mode, then the other modes.
struct Parts {
  std::vector<Layout> tiles, rests, others;
};

Parts divide(const Layout& layout, const Tiler& tiler, Location where) {
  check_tiler(layout, tiler, where);
  Parts out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank(layout)); ++i) {
    Layout mode = layout.mode(static_cast<int>(i));
    if (i >= tiler.size()) {
      out.others.push_back(mode);
      continue;
    }
    Layout divided = logical_divide(mode, tiler[i], where);
    out.tiles.push_back(divided.mode(0));
    out.rests.push_back(divided.mode(1));
  }
  return out;
}

std::vector<Layout> concat(std::vector<Layout> a, const std::vector<Layout>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Layout with_rank(const Layout& layout, int n) {
  std::vector<Layout> modes = layout.modes();
  modes.resize(static_cast<std::size_t>(n), Layout(1, 0));
  return make_layout(modes);
}

// (block, repetitions), both of the larger rank.
std::pair<Layout, Layout> product_parts(const Layout& block, const Layout& tiler, Location where) {
  int n = std::max(rank(block), rank(tiler));
  Layout product = logical_product(with_rank(block, n), with_rank(tiler, n), where);
  return {product.mode(0), product.mode(1)};
}

Layout zip_modes(const Layout& fast, const Layout& slow, Location where) {
  std::vector<Layout> modes;
  for (int i = 0; i < rank(fast); ++i) {
    modes.push_back(coalesce(make_layout({fast.mode(i), slow.mode(i)}, where)));
  }
  return make_layout(modes, where);
}

}  // namespace

Layout composition(const Layout& layout, const Tiler& tiler, Location where) {
  check_tiler(layout, tiler, where);
  std::vector<Layout> modes = layout.modes();
  for (std::size_t i = 0; i < tiler.size(); ++i) {
    modes[i] = composition(modes[i], tiler[i], where);
  }
  return make_layout(modes, where);
}

Layout logical_divide(const Layout& layout, const Layout& tiler, Location where) {
  Layout rest = complement(tiler, size(layout), where);
  std::int64_t covered = checked_mul(size(filter(tiler)), size(rest), where);
  if (covered != size(layout)) {
    raise(ErrorCode::E0422, where,
          {.needed = fmt::format("a tile that divides the {} elements of {}", size(layout),
                                 to_string(layout)),
           .found = fmt::format("{}, which takes up {} elements", to_string(tiler), covered)});
  }
  return composition(layout, make_layout({tiler, rest}, where), where);
}

Layout logical_divide(const Layout& layout, const Tiler& tiler, Location where) {
  Parts parts = divide(layout, tiler, where);
  std::vector<Layout> modes;
  for (std::size_t i = 0; i < parts.tiles.size(); ++i) {
    modes.push_back(make_layout({parts.tiles[i], parts.rests[i]}, where));
  }
  return make_layout(concat(std::move(modes), parts.others), where);
}

Layout zipped_divide(const Layout& layout, const Tiler& tiler, Location where) {
  Parts parts = divide(layout, tiler, where);
  return make_layout({make_layout(parts.tiles, where),
                      make_layout(concat(std::move(parts.rests), parts.others), where)},
                     where);
}

Layout tiled_divide(const Layout& layout, const Tiler& tiler, Location where) {
  Parts parts = divide(layout, tiler, where);
  std::vector<Layout> modes{make_layout(parts.tiles, where)};
  return make_layout(concat(concat(std::move(modes), parts.rests), parts.others), where);
}

Layout logical_product(const Layout& block, const Layout& tiler, Location where) {
  std::int64_t cotarget = checked_mul(size(block), cosize(tiler), where);
  Layout repetitions = composition(complement(block, cotarget, where), tiler, where);
  return make_layout({block, repetitions}, where);
}

Layout blocked_product(const Layout& block, const Layout& tiler, Location where) {
  auto [inner, outer] = product_parts(block, tiler, where);
  return zip_modes(inner, outer, where);
}

Layout raked_product(const Layout& block, const Layout& tiler, Location where) {
  auto [inner, outer] = product_parts(block, tiler, where);
  return zip_modes(outer, inner, where);
}

}  // namespace tilecopy
