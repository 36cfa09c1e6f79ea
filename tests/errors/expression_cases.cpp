// E04xx: expressions.
#include <climits>

#include "errors/error_case.h"

namespace tilecopy::test {
namespace {

std::vector<ErrorCase> dtype_cases() {
  return {
      {"E0409", "float_with_int", "operands of one dtype for +", "float32 and int32",
       [](Location& at) {
         Var x("x", float32);
         Var i("i", int32);
         at = next_line();
         x + i;
       }},
      {"E0409", "two_floats", "operands of one dtype for *", "float16 and bfloat16",
       [](Location& at) {
         Var x("x", float16);
         Var y("y", bfloat16);
         at = next_line();
         x* y;
       }},
      {"E0409", "literal_out_of_range", "a literal in the range of uint8", "300",
       [](Location& at) {
         Var x("x", uint8);
         at = next_line();
         x + 300;
       }},
      {"E0409", "bits_of_a_float", "an integer for &", "float32",
       [](Location& at) {
         Var x("x", float32);
         at = next_line();
         x & 1.0;
       }},
      {"E0409", "square_root_of_an_int", "a float for sqrt", "int32",
       [](Location& at) {
         Var x("x", int32);
         at = next_line();
         sqrt(x);
       }},
      {"E0420", "index_of_a_float", "an integer for an index", "0.5 of dtype float64",
       in_kernel([](Scene& s) {
         s.at = next_line();
         s.tile(0.5, 0) = 1;
       })},
      {"E0420", "extent_of_a_float", "an integer for a dimension", "8.0 of dtype float64",
       [](Location& at) {
         function("f", [&] {
           at = next_line();
           tensor("A", {8.0}, float32);
         });
       }},
      {"E0420", "condition_of_an_int", "a condition of dtype bool", "bx of dtype int64",
       in_kernel([](Scene& s) {
         s.at = next_line();
         if_then(s.bx, [] {});
       })},
      {"E0420", "select_on_an_int", "a condition of dtype bool", "int64", in_kernel([](Scene& s) {
         s.at = next_line();
         select(s.bx, 1, 2);
       })},
  };
}

std::vector<ErrorCase> value_cases() {
  return {
      {"E0410", "product_of_constants", "a result in the range of int64", "9223372036854775807 * 2",
       [](Location& at) {
         Expr large = std::int64_t{LLONG_MAX};
         at = next_line();
         large * 2;
       }},
      {"E0410", "sum_of_constants", "a result in the range of int64", "9223372036854775807 + 1",
       [](Location& at) {
         Expr large = std::int64_t{LLONG_MAX};
         at = next_line();
         large + 1;
       }},
      {"E0410", "negation_of_the_smallest", "a result in the range of int64",
       "-(-9223372036854775808)",
       [](Location& at) {
         Expr small = std::int64_t{LLONG_MIN};
         at = next_line();
         -small;
       }},
      {"E0410", "tensor_of_too_many_bytes", "a tensor of less than 2^63 bytes",
       "A of shape (4294967296, 2147483648) with strides (2147483648, 1)",
       [](Location& at) {
         function("f", [&] {
           at = next_line();
           tensor("A", {1LL << 32, 1LL << 31}, float32);
         });
       }},
      {"E0410", "strides_of_too_many_bytes", "a tensor of less than 2^63 bytes",
       "A of shape (4, 4) with strides (-2305843009213693952, 1)",
       [](Location& at) {
         function("f", [&] {
           at = next_line();
           tensor("A", {4, 4}, float32, {-(1LL << 61), 1});
         });
       }},
      {"E0410", "row_major_strides", "a result in the range of int64", "4294967296 * 4294967296",
       [](Location& at) {
         function("f", [&] {
           at = next_line();
           tensor("A", {2, 1LL << 32, 1LL << 32}, uint8);
         });
       }},
      {"E0411", "empty_expression", "a value for +", "an empty expression",
       [](Location& at) {
         Expr nothing;
         at = next_line();
         nothing + 1;
       }},
      {"E0411", "empty_index", "an index", "an empty expression", in_kernel([](Scene& s) {
         Var nothing;
         s.at = next_line();
         s.tile(nothing, 0) = 1;
       })},
      {"E0411", "empty_buffer", "a buffer", "an empty buffer", in_kernel([](Scene& s) {
         s.at = next_line();
         copy(Buffer(), s.tile);
       })},
      {"E0411", "empty_image", "a buffer", "an empty buffer", in_kernel([](Scene& s) {
         s.at = next_line();
         im2col(Buffer(), s.tile, 0, 0, 3, 1, 1, 1);
       })},
      {"E0411", "empty_buffer_that_is_read", "a buffer", "an empty buffer", in_kernel([](Scene& s) {
         Buffer nothing;
         s.at = next_line();
         s.tile(0, 0) = nothing(0, 0);
       })},
      {"E0411", "empty_value_to_store", "a value to store", "an empty expression",
       in_kernel([](Scene& s) {
         s.at = next_line();
         s.tile(0, 0) = Expr();
       })},
      {"E0411", "empty_value_to_fill_with", "a value to fill with", "an empty expression",
       in_kernel([](Scene& s) {
         s.at = next_line();
         fill(s.tile, Expr());
       })},
      {"E0411", "empty_safe_value", "a safe value", "an empty expression", in_kernel([](Scene& s) {
         s.at = next_line();
         annotate_safe_value(s.a, Expr());
       })},
      {"E0411", "empty_condition", "a condition", "an empty expression", in_kernel([](Scene& s) {
         s.at = next_line();
         if_then(Expr(), [] {});
       })},
      {"E0411", "empty_extent", "an extent", "an empty expression", in_kernel([](Scene& s) {
         s.at = next_line();
         parallel({Expr()}, [](Var) {});
       })},
      {"E0427", "expression_of_a_thousand_levels", "at most 1000 operations inside each other",
       "one more",
       [](Location& at) {
         Var x("x", float32);
         Expr sum = x;
         for (int i = 0; i < 1000; ++i) {
           at = next_line();
           sum = sum + x;
         }
       }},
      {"E0427", "shared_parts_of_an_endless_expression",
       "at most 1048576 operations in one expression", "more",
       [](Location& at) {
         Expr sum = Var("x", float32);
         for (int i = 0; i < 64; ++i) {
           at = next_line();
           sum = sum + sum;
         }
       }},
  };
}

}  // namespace

std::vector<ErrorCase> expression_cases() {
  std::vector<ErrorCase> cases = dtype_cases();
  for (ErrorCase& value : value_cases()) cases.push_back(std::move(value));
  return cases;
}

}  // namespace tilecopy::test
