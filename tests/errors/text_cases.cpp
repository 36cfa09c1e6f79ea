// E05xx: the text form; and values that the command binds to it.
#include "errors/error_case.h"
#include "scalar_values.h"

namespace tilecopy::test {
namespace {

std::string body(const std::string& statement) {
  return "function f(A: float16[n, 64]) {\n"
         "  kernel (bx: 4) threads 128 {\n"
         "    tile = alloc_shared float16[16, 64]\n    " +
         statement + "\n  }\n}\n";
}

Provocation set_value(const std::string& word) {
  return [word](Location&) {
    run::LaunchPlan plan;
    plan.kernel = "scale";
    plan.symbols = {"n"};
    plan.scalars = {{"factor", float32}};
    tool::ScalarValues(plan, {word});
  };
}

}  // namespace

std::vector<ErrorCase> text_cases() {
  return {
      {"E0501", "missing_arrow", "'->'", "'tile' in column 18",
       in_text(body("copy A[0, 0] tile"), 4)},
      {"E0501", "unknown_statement", "a statement", "'copi' in column 5",
       in_text(body("copi A -> tile"), 4)},
      {"E0501", "unreadable_byte", "a name, a number or a symbol", "'?'",
       in_text(body("copy A ? tile"), 4)},
      {"E0501", "text_that_ends_early", "a parameter", "the end of the text in column 12",
       in_text("function f(", 1)},
      {"E0501", "number_of_more_than_64_bits", "an integer of 64 bits",
       "'9223372036854775808' in column 13", in_text(body("tile[0, 9223372036854775808] = 1"), 4)},
      {"E0502", "undeclared_tile", "a declared name", "'tyle' in column 21",
       in_text(body("copy A[0, 0] -> tyle"), 4)},
      {"E0502", "undeclared_function", "a declared name", "'sqr' in column 18",
       in_text(body("tile[0, 0] = sqr(2.0)"), 4)},
      {"E0503", "set_of_an_unknown_name", "one of n, factor, for scale", "m=4", set_value("m=4")},
      {"E0503", "set_of_a_word", "an integer for n", "\"many\"", set_value("n=many")},
      {"E0101", "copy_in_text", "equal extents, dimensions of 1 apart",
       "(n, 64) of A and (16, 64) of tile", in_text(body("copy A -> tile"), 4)},
      {"E0202", "hint_of_another_statement", "coalesced_width or loop_layout for a parallel loop",
       "disable_tma", in_text(body("parallel (i: 4) {disable_tma: true} { tile[i, 0] = 1 }"), 4)},
  };
}

}  // namespace tilecopy::test
