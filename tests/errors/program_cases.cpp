// E04xx: the program around the tile operations.
#include <climits>
#include <functional>

#include "errors/error_case.h"

namespace tilecopy::test {
namespace {

std::vector<ErrorCase> order_cases() {
  const std::string inside = "a call inside tilecopy::function";
  return {
      {"E0401", "copy_outside_of_a_function", inside, "no function",
       [](Location& at) {
         Buffer a;
         function("f", [&] {
           a = tensor("A", {8}, float32);
           kernel({1});
         });
         at = next_line();
         copy(a, a);
       }},
      {"E0401", "copy_before_the_kernel", "a call after kernel({...})", "no kernel yet",
       [](Location& at) {
         function("f", [&] {
           Buffer a = tensor("A", {8}, float32);
           Buffer b = tensor("B", {8}, float32);
           at = next_line();
           copy(a, b);
         });
       }},
      {"E0401", "read_outside_of_a_function", inside, "no function",
       [](Location& at) {
         Buffer a;
         function("f", [&] {
           a = tensor("A", {8}, float32);
           kernel({1});
         });
         at = next_line();
         Expr value = a(0);
       }},
      {"E0402", "tensor_outside_of_a_function", inside, "no function",
       [](Location& at) {
         at = next_line();
         tensor("A", {8}, float32);
       }},
      {"E0402", "kernel_outside_of_a_function", inside, "no function",
       [](Location& at) {
         at = next_line();
         kernel({1});
       }},
      {"E0403", "tensor_after_the_kernel", "declarations before kernel({...})", "one after it",
       in_kernel([](Scene& s) {
         s.at = next_line();
         tensor("C", {8}, float32);
       })},
      {"E0403", "second_kernel", "one kernel in a function", "a second call of kernel",
       in_kernel([](Scene& s) {
         s.at = next_line();
         kernel({1});
       })},
      {"E0404", "function_without_a_kernel", "one call of kernel", "none in nothing",
       [](Location& at) {
         at = next_line();
         function("nothing", [] {});
       }},
      {"E0429", "loops_without_end", "at most 256 loops and branches inside each other", "one more",
       [](Location& at) {
         function("f", [&] {
           kernel({1});
           std::function<void(int)> nest = [&](int levels) {
             at = next_line();
             serial(2, [&](Var) { nest(levels + 1); });
           };
           nest(0);
         });
       }},
      {"E0407", "no_threads", "1 to 1024 threads", "0",
       [](Location& at) {
         function("f", [&] {
           at = next_line();
           kernel({1}, {.threads = 0});
         });
       }},
      {"E0407", "too_many_threads", "1 to 1024 threads", "1025",
       [](Location& at) {
         function("f", [&] {
           at = next_line();
           kernel({1}, {.threads = 1025});
         });
       }},
      {"E0408", "grid_of_four_dimensions", "1 to 3 extents", "4",
       [](Location& at) {
         function("f", [&] {
           at = next_line();
           kernel({1, 1, 1, 1});
         });
       }},
      {"E0408", "negative_grid", "extents of 0 or more", "-1",
       [](Location& at) {
         function("f", [&] {
           at = next_line();
           kernel({4, -1});
         });
       }},
  };
}

std::vector<ErrorCase> declaration_cases() {
  return {
      {"E0405", "function_named_with_a_dash", "an identifier", "\"my-kernel\"",
       [](Location& at) {
         at = next_line();
         function("my-kernel", [] { kernel({1}); });
       }},
      {"E0405", "empty_tensor_name", "an identifier", "\"\"",
       [](Location& at) {
         function("f", [&] {
           at = next_line();
           tensor("", {8}, float32);
         });
       }},
      {"E0405", "name_that_starts_with_a_digit", "an identifier", "\"2d\"", in_kernel([](Scene& s) {
         s.at = next_line();
         alloc_shared({8}, float32, "2d");
       })},
      {"E0405", "name_twice", "a new name", "\"A\", which is taken", in_kernel([](Scene& s) {
         s.at = next_line();
         alloc_shared({8}, float32, "A");
       })},
      {"E0406", "symbol_only_inside_of_a_product",
       "a tensor with the symbol alone as a dimension or stride",
       "m only inside larger expressions",
       [](Location& at) {
         auto body = [] {
           tensor("A", {symbol("m") * 2}, float32);
           kernel({1});
         };
         at = next_line();
         function("f", body);
       }},
      {"E0406", "symbol_of_no_tensor", "a symbol that is a dimension or stride of a tensor", "m",
       in_kernel([](Scene& s) {
         s.at = next_line();
         s.tile(symbol("m"), 0) = 1;
       })},
      {"E0412", "tensor_of_nine_dimensions", "at most 8 dimensions", "9 for A",
       [](Location& at) {
         function("f", [&] {
           at = next_line();
           tensor("A", {1, 1, 1, 1, 1, 1, 1, 1, 1}, float32);
         });
       }},
      {"E0413", "too_few_strides", "2 strides for A", "1",
       [](Location& at) {
         function("f", [&] {
           at = next_line();
           tensor("A", {8, 8}, float32, {8});
         });
       }},
      {"E0414", "negative_tensor_extent", "0 or more", "-8 in A",
       [](Location& at) {
         function("f", [&] {
           at = next_line();
           tensor("A", {4, -8}, float32);
         });
       }},
      {"E0428", "size_that_no_launch_computes", "symbols, integers and + - * / % min max", "*",
       [](Location& at) {
         Function f = function("f", [&] {
           Var n = symbol("n");
           tensor("A", {n}, float32);
           at = next_line();
           tensor("B", {select(n > 4, n, 4)}, float32);
           kernel({1});
         });
         compile(f);
       }},
      {"E0421", "tiles_larger_than_a_block_may_have", "at most 268435456 bytes for a block",
       "small 4096 bytes, large 1073741824 bytes",
       [](Location& at) {
         Function f = function("f", [&] {
           kernel({1});
           alloc_shared({1024}, float32, "small");
           at = next_line();
           alloc_shared({1 << 14, 1 << 14}, float32, "large");
         });
         compile(f);
       }},
  };
}

std::vector<ErrorCase> body_cases() {
  const std::string in_parallel = "loads, stores, loops, branches and local buffers";
  return {
      {"E0417", "local_buffer_shared_by_iterations", "a local buffer of the iteration",
       "sum, allocated outside of the loop", in_kernel([](Scene& s) {
         Buffer sum = alloc_local({1}, float32, "sum");
         parallel({64}, [&](Var i) {
           s.at = next_line();
           sum(0) += cast(s.tile(i, 0), float32);
         });
       })},
      {"E0418", "copy_inside_a_parallel_loop", in_parallel, "copy", in_kernel([](Scene& s) {
         parallel({4}, [&](Var) {
           s.at = next_line();
           copy(s.a, s.tile);
         });
       })},
      {"E0418", "fill_inside_a_parallel_loop", in_parallel, "fill", in_kernel([](Scene& s) {
         parallel({4}, [&](Var) {
           s.at = next_line();
           clear(s.tile);
         });
       })},
      {"E0418", "transpose_inside_a_parallel_loop", in_parallel, "transpose",
       in_kernel([](Scene& s) {
         parallel({4}, [&](Var) {
           s.at = next_line();
           transpose(s.a, s.tile);
         });
       })},
      {"E0418", "parallel_loop_inside_another", in_parallel, "a parallel loop",
       in_kernel([](Scene& s) {
         parallel({4}, [&](Var) {
           s.at = next_line();
           parallel({4}, [](Var) {});
         });
       })},
      {"E0418", "tile_inside_a_parallel_loop", in_parallel, "a shared tile",
       in_kernel([](Scene& s) {
         parallel({4}, [&](Var) {
           s.at = next_line();
           alloc_shared({4}, float32);
         });
       })},
      {"E0419", "parallel_loop_of_nine_extents", "1 to 8 extents", "9", in_kernel([](Scene& s) {
         auto body = [](Var, Var, Var, Var, Var, Var, Var, Var, Var) {};
         s.at = next_line();
         parallel({1, 1, 1, 1, 1, 1, 1, 1, 1}, body);
       })},
      {"E0419", "unrolled_loop_of_symbolic_extent", "constant limits for an unrolled loop",
       "0 .. n", in_kernel([](Scene& s) {
         s.at = next_line();
         unrolled(s.n, [](Var) {});
       })},
  };
}

std::vector<ErrorCase> annotation_cases() {
  return {
      {"E0415", "layout_of_another_shape", "the shape (64, 96) of tile", "(64,64):(64,1)",
       in_kernel([](Scene& s) {
         s.at = next_line();
         annotate_layout(s.tile, row_major({64, 64}));
       })},
      {"E0415", "layout_where_elements_share_a_place", "a place of its own for each element",
       "(64,96):(1,1)", in_kernel([](Scene& s) {
         s.at = next_line();
         annotate_layout(s.tile, Layout({64, 96}, {1, 1}));
       })},
      {"E0415", "layout_of_a_tensor", "a shared, fragment or local tile", "A in global memory",
       in_kernel([](Scene& s) {
         s.at = next_line();
         annotate_layout(s.a, row_major({64, 96}));
       })},
      {"E0415", "tile_layout_of_a_fragment", "a fragment layout for fragment tile f", "(8):(1)",
       in_kernel([](Scene& s) {
         Buffer f = alloc_fragment({8}, float32, "f");
         s.at = next_line();
         annotate_layout(f, row_major({8}));
       })},
      {"E0415", "fragment_layout_of_a_shared_tile", "a tile layout for shared tile tile",
       "fragment(*", in_kernel([](Scene& s) {
         s.at = next_line();
         annotate_layout(s.tile, Fragment::linear({64, 96}, 96, 4));
       })},
      {"E0415", "fragment_over_too_many_threads",
       "a one-to-one fragment of shape (256) over at most 128 threads", "fragment(*",
       in_kernel([](Scene& s) {
         Buffer f = alloc_fragment({256}, float32, "f");
         s.at = next_line();
         annotate_layout(f, Fragment::linear({256}, 256, 1));
       })},
      {"E0416", "safe_value_that_varies", "a constant of dtype float16", "bx for A",
       in_kernel([](Scene& s) {
         s.at = next_line();
         annotate_safe_value(s.a, s.bx);
       })},
      {"E0416", "safe_value_out_of_range", "a constant of dtype uint8", "256 for bytes",
       in_kernel([](Scene& s) {
         Buffer bytes = alloc_shared({8}, uint8, "bytes");
         s.at = next_line();
         annotate_safe_value(bytes, 256);
       })},
      {"E0416", "safe_value_with_a_fraction", "a constant of dtype int32", "0.5 for whole",
       in_kernel([](Scene& s) {
         Buffer whole = alloc_shared({8}, int32, "whole");
         s.at = next_line();
         annotate_safe_value(whole, 0.5);
       })},
  };
}

}  // namespace

std::vector<ErrorCase> program_cases() {
  std::vector<ErrorCase> cases = order_cases();
  for (auto more : {declaration_cases(), body_cases(), annotation_cases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace tilecopy::test
