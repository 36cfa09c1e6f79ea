// E01xx: operands and regions of tile operations.
#include "errors/error_case.h"

namespace tilecopy::test {

std::vector<ErrorCase> operand_cases() {
  return {
      {"E0101", "unequal_extents", "equal extents, dimensions of 1 apart",
       "(64, 95) of A and (64, 96) of tile", in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a(range(0, 64), range(0, 95)), s.tile);
       })},
      {"E0101", "different_number_of_extents", "equal extents, dimensions of 1 apart",
       "(64, 96) of A and (64, 1) of tile", in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a, s.tile(range(0, 64), range(3, 4)));
       })},
      {"E0101", "symbolic_extent_against_constant", "equal extents, dimensions of 1 apart",
       "(n, 64) of B and (64, 64) of tile", in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.b, s.tile(range(0, 64), range(0, 64)));
       })},
      {"E0101", "transposed_extents", "equal extents, dimensions of 1 apart",
       "(64, 96) of A and (96, 64) of turned", in_kernel([](Scene& s) {
         Buffer turned = alloc_shared({96, 64}, float16, "turned");
         s.at = next_line();
         copy(s.a, turned);
       })},
      {"E0101", "transpose_to_the_same_shape", "equal extents, dimensions of 1 apart",
       "(64, 96) of A and (96, 64) of tile", in_kernel([](Scene& s) {
         s.at = next_line();
         transpose(s.a, s.tile);
       })},
      {"E0102", "too_few_indices", "2 indices for A(64, 96)", "1", in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a(range(0, 64)), s.tile);
       })},
      {"E0102", "too_many_indices_of_an_element", "2 indices for A(64, 96)", "3",
       in_kernel([](Scene& s) {
         s.at = next_line();
         Expr value = s.a(0, 0, 0);
       })},
      {"E0102", "no_indices_of_an_element", "2 indices for A(64, 96)", "0", in_kernel([](Scene& s) {
         s.at = next_line();
         s.tile(0, 0) = Expr(s.a());
       })},
      {"E0102", "too_few_indices_of_a_store", "2 indices for tile(64, 96)", "1",
       in_kernel([](Scene& s) {
         s.at = next_line();
         s.tile(0) = 1;
       })},
      {"E0103", "stepped_slice", "a step of 1", "a step of 2 in a region of A",
       in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a(range(0, 64, 2), range(0, 96)), s.tile);
       })},
      {"E0103", "reversed_slice", "a step of 1", "a step of -1 in a region of tile",
       in_kernel([](Scene& s) {
         s.at = next_line();
         fill(s.tile(range(0, 64, -1), 0), 1);
       })},
      {"E0103", "symbolic_step", "a step of 1", "a step of n in a region of A",
       in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a(range(0, 64, s.n), range(0, 96)), s.tile);
       })},
      {"E0104", "negative_extent", "an extent of 0 or more",
       "range(8, 4), of extent -4, in a region of A", in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a(range(8, 4), range(0, 96)), s.tile);
       })},
      {"E0104", "negative_extent_at_a_symbolic_origin", "an extent of 0 or more",
       "range(bx * 8 + 1, bx * 8), of extent -1, in a region of tile", in_kernel([](Scene& s) {
         s.at = next_line();
         clear(s.tile(range(s.bx * 8 + 1, s.bx * 8), 0));
       })},
      {"E0105", "bare_elements_of_different_rank",
       "elements of equal rank, or a region on one side", "A with 2 indices and row with 1",
       in_kernel([](Scene& s) {
         Buffer row = alloc_shared({96}, float16, "row");
         s.at = next_line();
         copy(s.a(s.bx, 0), row(0));
       })},
      {"E0106", "element_with_too_few_indices", "as many extents as row has dimensions: 1",
       "(64, 96) of A, 2 of them not 1", in_kernel([](Scene& s) {
         Buffer row = alloc_shared({96}, float16, "row");
         s.at = next_line();
         copy(s.a, row(0));
       })},
      {"E0107", "tile_of_extent_zero", "positive constants", "(64, 0) for empty",
       in_kernel([](Scene& s) {
         s.at = next_line();
         alloc_shared({64, 0}, float16, "empty");
       })},
      {"E0107", "tile_of_negative_extent", "positive constants", "(-8) for negative",
       in_kernel([](Scene& s) {
         s.at = next_line();
         alloc_fragment({-8}, float32, "negative");
       })},
      {"E0107", "tile_of_symbolic_extent", "positive constants", "(n) for local",
       in_kernel([](Scene& s) {
         s.at = next_line();
         alloc_local({s.n}, float32);
       })},
      {"E0107", "tile_without_dimensions", "1 to 8 dimensions", "0", in_kernel([](Scene& s) {
         s.at = next_line();
         alloc_shared({}, float16);
       })},
      {"E0107", "tile_of_nine_dimensions", "1 to 8 dimensions", "9", in_kernel([](Scene& s) {
         s.at = next_line();
         alloc_shared({1, 1, 1, 1, 1, 1, 1, 1, 1}, float16);
       })},
      {"E0108", "transpose_of_rank_one", "equal ranks of 2 or more", "1 for row and 2 for A",
       in_kernel([](Scene& s) {
         Buffer row = alloc_shared({96}, float16, "row");
         s.at = next_line();
         transpose(row, s.a);
       })},
      {"E0111", "buffer_of_another_function",
       "a buffer of function second, in the loop that allocates it", "A",
       [](Location& at) {
         Buffer a;
         function("first", [&] {
           a = tensor("A", {8}, float32);
           kernel({1});
         });
         function("second", [&] {
           kernel({1});
           at = next_line();
           clear(a);
         });
       }},
      {"E0111", "tile_after_its_loop", "a buffer of function scene, in the loop that allocates it",
       "inner", in_kernel([](Scene& s) {
         Buffer inner;
         serial(4, [&](Var) { inner = alloc_shared({64, 96}, float16, "inner"); });
         s.at = next_line();
         copy(inner, s.tile);
       })},
      {"E0111", "loop_variable_after_its_loop",
       "a variable of function scene, in the loop that makes it", "k", in_kernel([](Scene& s) {
         Var escaped;
         serial(4, [&](Var k) { escaped = k; });
         s.at = next_line();
         s.tile(escaped, 0) = 1;
       })},
      {"E0111", "tile_of_the_other_branch",
       "a buffer of function scene, in the loop that allocates it", "inner",
       in_kernel([](Scene& s) {
         Buffer inner;
         auto then_body = [&] { inner = alloc_shared({64, 96}, float16, "inner"); };
         auto else_body = [&] {
           s.at = next_line();
           clear(inner);
         };
         if_then(s.bx == 0, then_body, else_body);
       })},
      {"E0112", "overlapping_copy", "regions that are proved to share no element",
       "(64, 16) at (0, 0) and (64, 16) at (0, 8), both of tile", in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.tile(range(0, 64), range(0, 16)), s.tile(range(0, 64), range(8, 24)));
       })},
      {"E0112", "overlapping_transpose", "regions that are proved to share no element",
       "(8, 8) at (0, 0) and (8, 8) at (0, 0), both of tile", in_kernel([](Scene& s) {
         s.at = next_line();
         transpose(s.tile(range(0, 8), range(0, 8)), s.tile(range(0, 8), range(0, 8)));
       })},
      {"E0113", "region_read_as_an_element", "an index", "range(0, 4)", in_kernel([](Scene& s) {
         s.at = next_line();
         s.tile(0, 0) = s.a(range(0, 4), 0) + 1;
       })},
      {"E0113", "region_assigned_as_an_element", "an index", "range(0, 4)", in_kernel([](Scene& s) {
         s.at = next_line();
         s.tile(range(0, 4), 0) = 1;
       })},
  };
}

}  // namespace tilecopy::test
