// E02xx: hints.
#include "errors/error_case.h"

namespace tilecopy::test {
namespace {

Fragment rows(std::int64_t threads) { return Fragment::linear({64, 96}, threads, 4); }

const std::string all_keys =
    "coalesced_width, disable_tma, eviction_policy, prefer_instruction, loop_layout";

std::vector<ErrorCase> value_cases() {
  return {
      {"E0201", "unknown_eviction_policy",
       "evict_normal, evict_first or evict_last for eviction_policy", "\"evict_frist\"",
       in_kernel([](Scene& s) {
         s.at = next_line();
         cuda::copy(s.a, s.tile, {.eviction_policy = "evict_frist"});
       })},
      {"E0201", "unknown_instruction", "tma, cp_async or sync for prefer_instruction", "\"TMA\"",
       in_kernel([](Scene& s) {
         s.at = next_line();
         cuda::copy(s.a, s.tile, {.prefer_instruction = "TMA"});
       })},
      {"E0201", "unknown_value_in_annotations", "tma, cp_async or sync for prefer_instruction",
       "\"\"", in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a, s.tile, {.annotations = {{"prefer_instruction", ""}}});
       })},
      {"E0201", "unknown_value_that_annotations_beat",
       "tma, cp_async or sync for prefer_instruction", "\"tmaa\"", in_kernel([](Scene& s) {
         cuda::CopyOptions options{.prefer_instruction = "tmaa"};
         options.annotations = {{"prefer_instruction", "tma"}};
         s.at = next_line();
         cuda::copy(s.a, s.tile, options);
       })},
      {"E0201", "unknown_policy_of_im2col",
       "evict_normal, evict_first or evict_last for eviction_policy", "\"first\"",
       in_kernel([](Scene& s) {
         Buffer img = alloc_shared({1, 8, 8, 4}, float16);
         cuda::Im2colOptions options{.eviction_policy = "first"};
         s.at = next_line();
         cuda::im2col(img, s.tile, 0, 0, 3, 1, 1, 1, options);
       })},
      {"E0202", "unknown_key", all_keys, "\"prefer_instructions\"", in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a, s.tile, {.annotations = {{"prefer_instructions", "tma"}}});
       })},
      {"E0202", "unknown_key_of_im2col", all_keys, "\"multicast\"", in_kernel([](Scene& s) {
         Buffer img = alloc_shared({1, 8, 8, 4}, float16);
         s.at = next_line();
         im2col(img, s.tile, 0, 0, 3, 1, 1, 1, {.annotations = {{"multicast", 1}}});
       })},
      {"E0203", "string_for_an_int", "an int for coalesced_width", "a string",
       in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a, s.tile, {.annotations = {{"coalesced_width", "8"}}});
       })},
      {"E0203", "int_for_a_bool", "a bool for disable_tma", "an int", in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a, s.tile, {.annotations = {{"disable_tma", 1}}});
       })},
      {"E0203", "bool_for_a_string", "a string for eviction_policy", "a bool",
       in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a, s.tile, {.annotations = {{"eviction_policy", true}}});
       })},
      {"E0203", "fragment_for_a_string", "a string for prefer_instruction", "a fragment",
       in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a, s.tile, {.annotations = {{"prefer_instruction", rows(96)}}});
       })},
      {"E0203", "int_for_a_fragment", "a fragment for loop_layout", "an int",
       in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a, s.tile, {.annotations = {{"loop_layout", 4}}});
       })},
  };
}

std::vector<ErrorCase> rule_cases() {
  const std::string both = "prefer_instruction=tma together with disable_tma=true";
  return {
      {"E0204", "tma_preferred_and_disabled", "at most one of the two", both,
       in_kernel([](Scene& s) {
         s.at = next_line();
         cuda::copy(s.a, s.tile, {.disable_tma = true, .prefer_instruction = "tma"});
       })},
      {"E0204", "annotation_makes_a_contradiction", "at most one of the two", both,
       in_kernel([](Scene& s) {
         cuda::CopyOptions options{.prefer_instruction = PreferInstruction::tma};
         options.annotations = {{"disable_tma", true}};
         s.at = next_line();
         cuda::copy(s.a, s.tile, options);
       })},
      {"E0204", "annotations_contradict_each_other", "at most one of the two", both,
       in_kernel([](Scene& s) {
         Annotations annotations = {{"disable_tma", true}, {"prefer_instruction", "tma"}};
         s.at = next_line();
         copy(s.a, s.tile, {.annotations = annotations});
       })},
      {"E0205", "width_of_zero", "1, 2, 4, 8, 16 or 32 elements", "0", in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a, s.tile, {.coalesced_width = 0});
       })},
      {"E0205", "width_of_three", "1, 2, 4, 8, 16 or 32 elements", "3", in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a, s.tile, {.annotations = {{"coalesced_width", 3}}});
       })},
      {"E0205", "width_that_annotations_beat", "1, 2, 4, 8, 16 or 32 elements", "-4",
       in_kernel([](Scene& s) {
         CopyOptions options{.coalesced_width = -4, .annotations = {{"coalesced_width", 4}}};
         s.at = next_line();
         copy(s.a, s.tile, options);
       })},
      {"E0205", "width_of_a_parallel_loop", "1, 2, 4, 8, 16 or 32 elements", "64",
       in_kernel([](Scene& s) {
         s.at = next_line();
         parallel({64}, [](Var) {}, {.coalesced_width = 64});
       })},
      {"E0206", "layout_of_another_shape", "a fragment of shape (32, 96)",
       "fragment(shape=(64,96)*", in_kernel([](Scene& s) {
         auto part = s.a(range(0, 32), range(0, 96));
         s.at = next_line();
         copy(part, s.tile(0, 0), {.loop_layout = rows(96)});
       })},
      {"E0206", "layout_over_too_many_threads", "at most 128 threads", "192",
       in_kernel([](Scene& s) {
         s.at = next_line();
         copy(s.a, s.tile, {.loop_layout = rows(192)});
       })},
      {"E0206", "layout_with_a_shared_place", "a place of its own for each element",
       "fragment(*, where two share one", in_kernel([](Scene& s) {
         Fragment same({64, 96}, Layout({64, 96}, {0, 1}), Layout({64, 96}, {0, 0}));
         s.at = next_line();
         copy(s.a, s.tile, {.annotations = {{"loop_layout", same}}});
       })},
      {"E0206", "layout_of_a_parallel_loop", "a fragment of shape (96)", "fragment(shape=(64,96)*",
       in_kernel([](Scene& s) {
         s.at = next_line();
         parallel({96}, [](Var) {}, {.loop_layout = rows(96)});
       })},
  };
}

}  // namespace

std::vector<ErrorCase> hint_cases() {
  std::vector<ErrorCase> cases = value_cases();
  for (ErrorCase& rule : rule_cases()) cases.push_back(std::move(rule));
  return cases;
}

}  // namespace tilecopy::test
