// E03xx: im2col. Windows that only a launch can tell to be too large are at the end.
#include "errors/error_case.h"

namespace tilecopy::test {
namespace {

// im2col of a constant image in shared memory, (2, 8, 12, 4), into tile[64, 96].
Provocation window(HeightWidth kernel, HeightWidth stride, HeightWidth dilation, HeightWidth pad) {
  return in_kernel([=](Scene& s) {
    Buffer img = alloc_shared({2, 8, 12, 4}, float16, "img");
    s.at = next_line();
    im2col(img, s.tile, s.bx, 0, kernel, stride, dilation, pad);
  });
}

Provocation launched_window(std::int64_t h, std::int64_t w) {
  return [h, w](Location& at) {
    Function unfold = function("unfold", [&] {
      Buffer img = tensor("img", {1, symbol("h"), symbol("w"), 3}, float32);
      Buffer out = tensor("out", {16, 32}, float32);
      kernel({1});
      Buffer col = alloc_shared({16, 32}, float32, "col");
      at = next_line();
      im2col(img, col, 0, 0, {3, 4}, 1, {2, 1}, {0, 1});
      copy(col, out);
    });
    Tensor img({1, h, w, 3}, float32);
    Tensor out({16, 32}, float32);
    compile(unfold)(img, out);
  };
}

std::vector<ErrorCase> window_cases() {
  return {
      {"E0303", "kernel_of_zero", "a kernel of 1 or more", "(0, 3)", window({0, 3}, 1, 1, 1)},
      {"E0303", "negative_kernel", "a kernel of 1 or more", "(-1, -1)", window(-1, 1, 1, 1)},
      {"E0304", "stride_of_zero", "a stride of 1 or more", "(1, 0)", window(3, {1, 0}, 1, 1)},
      {"E0304", "negative_stride", "a stride of 1 or more", "(-2, -2)", window(3, -2, 1, 1)},
      {"E0305", "dilation_of_zero", "a dilation of 1 or more", "(0, 0)", window(3, 1, 0, 1)},
      {"E0306", "negative_pad", "a pad of 0 or more", "(0, -1)", window(3, 1, 1, {0, -1})},
      {"E0307", "kernel_higher_than_the_padded_image", "a dilated kernel of at most 10 along H",
       "11", window({11, 3}, 1, 1, 1)},
      {"E0307", "dilated_kernel_wider_than_the_image", "a dilated kernel of at most 12 along W",
       "13", window(3, 1, {1, 6}, 0)},
      {"E0307", "window_that_overflows", "a dilated kernel of at most 8 along H", "*",
       window({(1LL << 31) - 1, 1}, 1, {(1LL << 31) - 1, 1}, 0)},
      {"E0309", "kernel_of_two_to_the_31", "a kernel below 2^31", "(2147483648, 1)",
       window({1LL << 31, 1}, 1, 1, 0)},
      {"E0309", "pad_of_two_to_the_62", "a pad below 2^31", "(4611686018427387904, 0)",
       window(3, 1, 1, {1LL << 62, 0})},
      {"E0307", "symbolic_height_at_launch", "a dilated kernel of at most 4 along H", "5",
       launched_window(4, 4)},
      {"E0307", "symbolic_width_at_launch", "a dilated kernel of at most 3 along W", "4",
       launched_window(5, 1)},
  };
}

std::vector<ErrorCase> operand_cases_of_im2col() {
  return {
      {"E0301", "image_of_rank_three", "rank 4", "img(8, 8, 3)", in_kernel([](Scene& s) {
         Buffer img = alloc_shared({8, 8, 3}, float16, "img");
         s.at = next_line();
         im2col(img, s.tile, 0, 0, 3, 1, 1, 1);
       })},
      {"E0302", "column_of_rank_one", "rank 2 or more", "col(96)", in_kernel([](Scene& s) {
         Buffer img = alloc_shared({1, 8, 8, 3}, float16);
         Buffer col = alloc_shared({96}, float16, "col");
         s.at = next_line();
         im2col(img, col, 0, 0, 3, 1, 1, 1);
       })},
      {"E0302", "column_with_two_tiles", "extents of 1 before the last two dimensions",
       "col(2, 16, 32)", in_kernel([](Scene& s) {
         Buffer img = alloc_shared({1, 8, 8, 3}, float16);
         Buffer col = alloc_shared({2, 16, 32}, float16, "col");
         s.at = next_line();
         im2col(img, col, 0, 0, 3, 1, 1, 1);
       })},
      {"E0308", "column_of_another_dtype", "uint8 for col", "float16", in_kernel([](Scene& s) {
         Buffer img = alloc_shared({1, 8, 8, 3}, uint8);
         s.at = next_line();
         im2col(img, s.tile, 0, 0, 3, 1, 1, 1);
       })},
      {"E0420", "step_of_a_float", "an integer for nhw_step", "0.5 of dtype float64",
       in_kernel([](Scene& s) {
         Buffer img = alloc_shared({1, 8, 8, 3}, float16);
         s.at = next_line();
         im2col(img, s.tile, 0.5, 0, 3, 1, 1, 1);
       })},
      {"E0418", "im2col_inside_a_parallel_loop", "loads, stores, loops, branches and local buffers",
       "im2col", in_kernel([](Scene& s) {
         Buffer img = alloc_shared({1, 8, 8, 3}, float16);
         parallel({4}, [&](Var) {
           s.at = next_line();
           im2col(img, s.tile, 0, 0, 3, 1, 1, 1);
         });
       })},
      // C++ has no spelling for a part of an image.
      {"E0310", "part_of_an_image", "a whole buffer", "a region of img",
       in_text("function unfold(img: float32[2, 8, 8, 3]) {\n"
               "  kernel (bx: 1) threads 32 {\n"
               "    col = alloc_shared float32[16, 32]\n"
               "    im2col img[0:1, 0:8, 0:8, 0:3] -> col step (0, 0) kernel 3\n"
               "  }\n"
               "}\n",
               4)},
  };
}

}  // namespace

std::vector<ErrorCase> im2col_cases() {
  std::vector<ErrorCase> cases = window_cases();
  for (ErrorCase& operand : operand_cases_of_im2col()) cases.push_back(std::move(operand));
  return cases;
}

}  // namespace tilecopy::test
