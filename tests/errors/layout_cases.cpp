// E0422 to E0426: layouts.
#include "errors/error_case.h"

namespace tilecopy::test {

std::vector<ErrorCase> layout_cases() {
  return {
      {"E0410", "layout_of_too_many_elements", "sizes and offsets below 2^63",
       "4294967296 * 4294967296 in a layout",
       [](Location& at) {
         IntTuple huge{1LL << 32, 1LL << 32};
         at = next_line();
         row_major(huge);
       }},
      {"E0422", "composition_beyond_the_domain", "offsets from 0 to 7, the domain of 8:1",
       "the offsets of 16:1",
       [](Location& at) {
         Layout a(8, 1);
         Layout b(16, 1);
         at = next_line();
         composition(a, b);
       }},
      {"E0422", "complement_of_overlapping_offsets", "a stride that is a positive multiple of 4",
       "stride 2 in (4,4):(1,2)",
       [](Location& at) {
         Layout layout({4, 4}, {1, 2});
         at = next_line();
         complement(layout, 64);
       }},
      {"E0423", "coordinate_with_too_few_entries", "a coordinate of 2 entries", "3",
       [](Location& at) {
         TileLayout layout = row_major({8, 8});
         at = next_line();
         layout(3);
       }},
      {"E0423", "index_past_the_end", "a coordinate of (8,8)", "64",
       [](Location& at) {
         Layout layout = row_major({8, 8});
         at = next_line();
         layout(64);
       }},
      {"E0424", "extent_of_zero", "extents of at least 1", "extent 0 in (8,0)",
       [](Location& at) {
         at = next_line();
         Layout(IntTuple{8, 0}, IntTuple{1, 8});
       }},
      {"E0424", "shape_and_stride_that_nest_differently",
       "a stride that nests like the shape (8,8)", "1",
       [](Location& at) {
         IntTuple shape{8, 8};
         at = next_line();
         Layout(shape, 1);
       }},
      {"E0424", "tile_of_negative_stride", "strides of at least 0 in a tile", "stride -1 in 8:-1",
       [](Location& at) {
         Layout reversed(8, -1);
         at = next_line();
         TileLayout{reversed};
       }},
      {"E0425", "span_of_a_hundred_bytes", "a span of 32, 64 or 128 bytes", "100 bytes",
       [](Location& at) {
         at = next_line();
         swizzled_row_major({64, 64}, 2, 100);
       }},
      {"E0425", "rows_shorter_than_the_span", "rows of a multiple of 128 bytes", "rows of 64 bytes",
       [](Location& at) {
         at = next_line();
         swizzled_row_major({64, 32}, 2, 128);
       }},
      {"E0425", "swizzle_of_overlapping_bits",
       "0 <= bits <= |shift|, 0 <= base, and at most 62 bits", "swizzle<3,4,2>",
       [](Location& at) {
         at = next_line();
         Swizzle(3, 4, 2);
       }},
      {"E0426", "text_of_no_layout", "')'", "':(1,4)'",
       [](Location& at) {
         at = next_line();
         parse_layout("(4,8:(1,4)");
       }},
  };
}

}  // namespace tilecopy::test
