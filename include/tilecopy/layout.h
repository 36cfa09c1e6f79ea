// Layouts as values: the shape:stride algebra in CuTe's words, XOR swizzles, tile layouts and
// fragments. Every function is total: input that breaks a rule raises a UserError.
//
// A Layout maps a coordinate to an offset by digits:
//
//   (4,(2,8)):(8,(1,64))     mode 0: extent 4, stride 8
//                            mode 1: extent 16 = (2,8); 5 has the digits (1,2): 1*1 + 2*64
//
// The first digit of a mode runs fastest (colexicographic order), as in CuTe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tilecopy/types.h"

namespace tilecopy {

/// A nested tuple of integers: an integer, or a list of IntTuples.
class IntTuple {
 public:
  /// Deeper tuples raise E0424.
  static constexpr int max_depth = 16;

  /// The empty list.
  IntTuple() = default;
  IntTuple(std::int64_t value)  // NOLINT: implicit, so that {4, {2, 8}} is a tuple
      : value_(value), depth_(0), is_int_(true) {}
  /// The list of `modes`: IntTuple{4} is the list (4), IntTuple(4) the integer.
  IntTuple(std::initializer_list<IntTuple> modes);
  IntTuple(const std::vector<std::int64_t>& modes);  // NOLINT: a shape is a tuple
  explicit IntTuple(std::vector<IntTuple> modes);

  bool is_int() const { return is_int_; }
  /// The integer; E0424 for a list.
  std::int64_t value() const;
  /// The entries of a list; empty for an integer.
  const std::vector<IntTuple>& modes() const& { return modes_; }
  std::vector<IntTuple> modes() && { return std::move(modes_); }
  /// Entry `i`; an integer is its own entry 0. E0423 when there is none.
  const IntTuple& operator[](int i) const;
  /// 0 for an integer, 1 for a list of integers or nothing.
  int depth() const { return depth_; }

  friend bool operator==(const IntTuple& a, const IntTuple& b);

 private:
  void set_depth();

  std::vector<IntTuple> modes_;
  std::int64_t value_ = 0;
  int depth_ = 1;
  bool is_int_ = false;
};

/// One digit of a layout.
struct Mode {
  std::int64_t extent = 1;
  std::int64_t stride = 0;

  friend bool operator==(const Mode&, const Mode&) = default;
};

/// A map from coordinates to offsets. Extents are at least 1; strides may be zero or negative.
class Layout {
 public:
  /// ():(), which maps () to 0.
  Layout() = default;
  /// E0424 unless `shape` and `stride` nest alike; E0410 when size or cosize overflow.
  Layout(IntTuple shape, IntTuple stride, Location where = std::source_location::current());

  const IntTuple& shape() const { return shape_; }
  const IntTuple& stride() const { return stride_; }

  /// Mode `i` of the top level, as a layout.
  Layout mode(int i, Location where = std::source_location::current()) const;
  std::vector<Layout> modes() const;
  /// The digits of all modes, or of mode `i`, fastest first, including those of extent 1.
  std::vector<Mode> flat() const;
  std::vector<Mode> flat(int i, Location where = std::source_location::current()) const;

  /// The offset of the coordinate with this linear index; E0423 outside of the layout.
  std::int64_t operator()(std::int64_t index,
                          Location where = std::source_location::current()) const;
  /// The offset of a coordinate: one integer, or one entry for each mode, at every level.
  std::int64_t operator()(const IntTuple& coord,
                          Location where = std::source_location::current()) const;

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  IntTuple shape_;
  IntTuple stride_;
};

/// The number of integers' product, entries, and levels of a tuple.
std::int64_t size(const IntTuple& tuple, Location where = std::source_location::current());
int rank(const IntTuple& tuple);
int depth(const IntTuple& tuple);
/// Whether the two tuples nest alike.
bool congruent(const IntTuple& a, const IntTuple& b);

/// The number of coordinates of a layout.
std::int64_t size(const Layout& layout);
int rank(const Layout& layout);
int depth(const Layout& layout);
/// The length of the smallest interval that holds 0 and all offsets.
std::int64_t cosize(const Layout& layout);
/// Whether no two coordinates share an offset. Exact for every layout met in practice; false when
/// a contrived one with very many overlapping strides cannot be decided in bounded time.
bool is_injective(const Layout& layout);
/// Whether the two have modes of equal sizes and map every coordinate alike.
bool equivalent(const Layout& a, const Layout& b);

/// The compact layout of `shape` whose last entry runs fastest, at every level.
Layout row_major(const IntTuple& shape, Location where = std::source_location::current());
/// The compact layout of `shape` whose first entry runs fastest.
Layout column_major(const IntTuple& shape, Location where = std::source_location::current());
/// The layout with the given modes.
Layout make_layout(const std::vector<Layout>& modes,
                   Location where = std::source_location::current());

/// The offset of `coord` in a layout of this shape and stride.
std::int64_t crd2idx(const IntTuple& coord, const IntTuple& shape, const IntTuple& stride,
                     Location where = std::source_location::current());
/// The linear index of `coord` in `shape`.
std::int64_t crd2idx(const IntTuple& coord, const IntTuple& shape,
                     Location where = std::source_location::current());
/// The coordinate of `shape` with this linear index; nests like `shape`.
IntTuple idx2crd(std::int64_t index, const IntTuple& shape,
                 Location where = std::source_location::current());

/// The same digits on one level.
Layout flatten(const Layout& layout);
/// The flat layout with the fewest modes that maps every linear index alike.
Layout coalesce(const Layout& layout);
/// Each top-level mode coalesced by itself; the rank and the sizes of the modes stay.
Layout coalesce_modes(const Layout& layout);
/// Without the modes of stride 0 and extent 1, coalesced: as many offsets, each reached once less
/// often.
Layout filter(const Layout& layout);

/// R(c) == a(b(c)) for every coordinate c of b; R nests like b, or deeper. E0422 when b leaves the
/// domain of a, or when no layout equals the composition.
Layout composition(const Layout& a, const Layout& b,
                   Location where = std::source_location::current());
/// The layout of the offsets that `layout` skips: together they reach each of [0, cotarget) once,
/// rounded up to whole repetitions of `layout`. Its strides are positive and increase. E0422 when
/// the offsets of `layout` overlap or do not tile.
Layout complement(const Layout& layout, std::int64_t cotarget,
                  Location where = std::source_location::current());
/// An R with layout(R(i)) == i for every i below size(R), as large as the digits of `layout` reach
/// without a gap.
Layout right_inverse(const Layout& layout, Location where = std::source_location::current());
/// An R with R(layout(i)) == i for every i below size(layout); its domain holds every offset of
/// `layout`. E0422 when there is none.
Layout left_inverse(const Layout& layout, Location where = std::source_location::current());

/// A tile shape, mode by mode: entry i picks the elements of mode i that a tile holds.
using Tiler = std::vector<Layout>;

/// `composition` mode by mode; modes past the tiler's stay as they are.
Layout composition(const Layout& layout, const Tiler& tiler,
                   Location where = std::source_location::current());
/// (tile, rest): the elements that `tiler` picks, and the tiles. E0422 unless tiles fit exactly.
Layout logical_divide(const Layout& layout, const Layout& tiler,
                      Location where = std::source_location::current());
/// ((tile0, rest0), (tile1, rest1), ...).
Layout logical_divide(const Layout& layout, const Tiler& tiler,
                      Location where = std::source_location::current());
/// ((tile0, tile1, ...), (rest0, rest1, ..., modes past the tiler's)).
Layout zipped_divide(const Layout& layout, const Tiler& tiler,
                     Location where = std::source_location::current());
/// ((tile0, tile1, ...), rest0, rest1, ..., modes past the tiler's).
Layout tiled_divide(const Layout& layout, const Tiler& tiler,
                    Location where = std::source_location::current());
/// (block, repetitions): copies of `block` laid out by `tiler`.
Layout logical_product(const Layout& block, const Layout& tiler,
                       Location where = std::source_location::current());
/// Mode by mode (block, tiler): whole blocks beside each other.
Layout blocked_product(const Layout& block, const Layout& tiler,
                       Location where = std::source_location::current());
/// Mode by mode (tiler, block): the blocks interleaved.
Layout raked_product(const Layout& block, const Layout& tiler,
                     Location where = std::source_location::current());

/// CuTe's Swizzle<bits, base, shift>: XORs `bits` bits of an offset with those `shift` higher.
///
///   0bxxxxxxYYYxxxZZZxxxx      Z ^= Y; the lowest Z is bit `base`, the lowest Y bit base + shift
///           ^--^  ^-^ ^--^     (for a negative shift, the lowest Y is bit `base`)
///          shift bits base
class Swizzle {
 public:
  /// E0425 unless 0 <= bits <= |shift|, 0 <= base and all bits are below bit 62.
  Swizzle(int bits, int base, int shift, Location where = std::source_location::current());

  int bits() const { return bits_; }
  int base() const { return base_; }
  int shift() const { return shift_; }

  /// The swizzled offset; its own inverse. E0423 for a negative offset.
  std::int64_t operator()(std::int64_t offset,
                          Location where = std::source_location::current()) const;
  /// The bits that are read, and the bits that change.
  std::int64_t source_mask() const;
  std::int64_t target_mask() const;
  /// The pattern repeats every so many offsets; also the alignment that a base address needs.
  std::int64_t period() const;
  /// The same map on byte addresses of elements of 1, 2, 4, 8 or 16 bytes.
  Swizzle in_bytes(int element_bytes, Location where = std::source_location::current()) const;

  friend bool operator==(const Swizzle&, const Swizzle&) = default;

 private:
  int bits_;
  int base_;
  int shift_;
};

/// What a buffer's layout is: a Layout with a mode for each dimension, then maybe a Swizzle of its
/// offsets. Offsets count elements and are not negative.
class TileLayout {
 public:
  TileLayout() = default;
  /// E0424 for a negative stride.
  TileLayout(Layout layout,  // NOLINT: implicit, because a Layout is a tile layout
             std::optional<Swizzle> swizzle = std::nullopt,
             Location where = std::source_location::current());

  const Layout& layout() const { return layout_; }
  const std::optional<Swizzle>& swizzle() const { return swizzle_; }

  int rank() const;
  /// The extent of each dimension of the buffer.
  std::vector<std::int64_t> shape() const;
  /// The element offset of a coordinate with one entry for each dimension.
  std::int64_t operator()(const IntTuple& coord,
                          Location where = std::source_location::current()) const;
  /// The elements that the buffer takes: whole swizzled blocks, above every offset.
  std::int64_t cosize() const;
  bool is_injective() const;

  friend bool operator==(const TileLayout&, const TileLayout&) = default;

 private:
  Layout layout_;
  std::optional<Swizzle> swizzle_;
};

/// Whether the two map every coordinate alike, as far as their structure tells.
bool equivalent(const TileLayout& a, const TileLayout& b);

/// Row-major with `pad` unused elements after each row.
Layout padded_row_major(const IntTuple& shape, std::int64_t pad,
                        Location where = std::source_location::current());
/// The TMA layout with a swizzle of `span_bytes` (32, 64 or 128) of the last two dimensions: column
/// panels as wide as the span, one after the other, each row-major; leading dimensions outermost.
/// E0425 unless a row is a multiple of the span and, where there is more than one panel, the number
/// of rows is a multiple of 8.
TileLayout swizzled_row_major(const std::vector<std::int64_t>& shape, int element_bytes,
                              int span_bytes, Location where = std::source_location::current());

/// How the elements of a register tile, or the iterations of a parallel loop, are shared out over
/// the threads of a block: a thread index and a register index for each coordinate.
class Fragment {
 public:
  Fragment() = default;
  /// `thread` and `reg` have a mode of size shape[i] for each i; E0424 otherwise, or for a negative
  /// stride.
  Fragment(std::vector<std::int64_t> shape, Layout thread, Layout reg,
           Location where = std::source_location::current());

  /// CuTe's tiled copy: each thread of `thr` holds a contiguous block of shape `val`, mode by mode.
  static Fragment raked(const Layout& thr, const Layout& val,
                        Location where = std::source_location::current());
  /// From a layout of (thread, value) to linear (colexicographic) indices of `shape`, each reached
  /// once, as CuTe describes the operands of an instruction. E0422 otherwise.
  static Fragment from_thread_value(const Layout& layout_tv, std::vector<std::int64_t> shape,
                                    Location where = std::source_location::current());
  /// Row-major order dealt out to `threads` threads, `vector` neighbours at a time, round after
  /// round. E0422 when rows and rounds do not nest, as when the last of several rounds is not full.
  static Fragment linear(std::vector<std::int64_t> shape, std::int64_t threads, std::int64_t vector,
                         Location where = std::source_location::current());

  const std::vector<std::int64_t>& shape() const { return shape_; }
  const Layout& thread() const { return thread_; }
  const Layout& reg() const { return reg_; }

  /// The number of threads, and of registers in each: all indices are below.
  std::int64_t threads() const;
  std::int64_t registers() const;
  std::int64_t thread_of(const IntTuple& coord,
                         Location where = std::source_location::current()) const;
  std::int64_t register_of(const IntTuple& coord,
                           Location where = std::source_location::current()) const;
  /// Whether no two coordinates share a register of a thread.
  bool is_injective() const;
  /// Whether, besides, every register of every thread holds a coordinate.
  bool is_bijective() const;
  /// The layout of (thread, register) to linear (colexicographic) indices of the shape. E0422
  /// unless bijective, or when no layout inverts the digits.
  Layout layout_tv(Location where = std::source_location::current()) const;
  /// For each dimension, the layout of (thread, register) to that entry of the coordinate. Raises
  /// as layout_tv does.
  std::vector<Layout> inverse(Location where = std::source_location::current()) const;

  friend bool operator==(const Fragment&, const Fragment&) = default;

 private:
  std::optional<Layout> joint() const;

  std::vector<std::int64_t> shape_;
  Layout thread_;
  Layout reg_;
};

/// `(4,(2,8))`, `(4,(2,8)):(8,(1,64))`, `swizzle<3,4,3> o (64,64):(64,1)` and
/// `fragment(shape=(8,4), thread=(8,4):(4,1), reg=(8,4):(0,0))`.
std::string to_string(const IntTuple& tuple);
std::string to_string(const Layout& layout);
std::string to_string(const Swizzle& swizzle);
std::string to_string(const TileLayout& layout);
std::string to_string(const Fragment& fragment);

/// The inverses of to_string, which also take spaces between words. E0426 for text of another form;
/// numbers that make no layout raise what its constructor raises.
IntTuple parse_int_tuple(std::string_view text, Location where = std::source_location::current());
Layout parse_layout(std::string_view text, Location where = std::source_location::current());
TileLayout parse_tile_layout(std::string_view text,
                             Location where = std::source_location::current());
Fragment parse_fragment(std::string_view text, Location where = std::source_location::current());

}  // namespace tilecopy
