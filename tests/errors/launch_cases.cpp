// E07xx at a launch. Each launch that is refused has to leave every argument as it was.
#include <gtest/gtest.h>

#include <cstring>

#include "errors/error_case.h"

namespace tilecopy::test {
namespace {

// B = A * factor on rows of 4, with a tensor C that is declared with strides.
const CompiledKernel& scale_kernel() {
  static const CompiledKernel kernel = compile(function("scale_rows", [] {
    Var n = symbol("n");
    Var pitch = symbol("pitch");
    Buffer a = tensor("A", {n, 4}, float32);
    Buffer b = tensor("B", {n, 4}, float32);
    Buffer c = tensor("C", {n, 4}, float32, {pitch, 1});
    Var factor = scalar("factor", float32);
    Var count = scalar("count", int8);
    tilecopy::kernel({1});
    serial(n, [&](Var row) {
      parallel({4}, [&](Var i) {
        b(row, i) = a(row, i) * factor;
        c(row, i) = a(row, i) + cast(count, float32);
      });
    });
  }));
  return kernel;
}

// Arguments that fit, for a case to break one of.
struct Launch {
  Location& at;
  Tensor a_data{{3, 4}, float32};
  Tensor b_data{{3, 4}, float32};
  Tensor c_data{{3, 4}, float32};
  TensorView a = a_data;
  TensorView b = b_data;
  TensorView c = c_data;
};

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  std::vector<std::byte> copy(static_cast<std::size_t>(tensor.bytes()));
  std::memcpy(copy.data(), tensor.data(), copy.size());
  return copy;
}

Provocation launching(std::function<void(Launch&)> body) {
  return [body](Location& at) {
    Launch launch{at};
    for (Tensor* tensor : {&launch.a_data, &launch.b_data, &launch.c_data}) tensor->fill_random(7);
    auto before_b = bytes_of(launch.b_data);
    auto before_c = bytes_of(launch.c_data);
    try {
      body(launch);
    } catch (const Error&) {
      EXPECT_EQ(bytes_of(launch.b_data), before_b);
      EXPECT_EQ(bytes_of(launch.c_data), before_c);
      throw;
    }
  };
}

// A view of the same memory with another shape and other strides.
TensorView reshaped(TensorView view, std::vector<std::int64_t> shape,
                    std::vector<std::int64_t> strides = {}) {
  view.shape = std::move(shape);
  view.strides = std::move(strides);
  return view;
}

std::vector<ErrorCase> kind_cases() {
  return {
      {"E0701", "too_few_arguments", "5 for scale_rows: A, B, C, factor, count", "1",
       launching([](Launch& l) {
         l.at = next_line();
         scale_kernel()(l.a);
       })},
      {"E0701", "no_arguments", "5 for scale_rows: A, B, C, factor, count", "0",
       launching([](Launch& l) {
         l.at = next_line();
         scale_kernel()();
       })},
      {"E0702", "wrong_dtype", "float32 for A", "int32", launching([](Launch& l) {
         l.a = l.a.as(int32);
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0702", "scalar_out_of_range", "a value that int8 holds, for count", "128",
       launching([](Launch& l) {
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 128);
       })},
      {"E0702", "scalar_with_a_fraction", "a value that int8 holds, for count", "1.5",
       launching([](Launch& l) {
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1.5);
       })},
      {"E0703", "wrong_rank", "rank 2 for B", "shape (12)", launching([](Launch& l) {
         l.b = reshaped(l.b, {12});
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0709", "device_memory", "host memory for C", "cuda:1", launching([](Launch& l) {
         l.c.device = {kDLCUDA, 1};
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0710", "scalar_for_a_tensor", "a tensor for B", "a scalar", launching([](Launch& l) {
         l.at = next_line();
         scale_kernel()(l.a, 3, l.c, 2.0, 1);
       })},
      {"E0710", "tensor_for_a_scalar", "a scalar for factor", "a tensor", launching([](Launch& l) {
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, l.a, 1);
       })},
      {"E0713", "read_only_output", "a writable array for B", "a read-only one",
       launching([](Launch& l) {
         const Tensor constant({3, 4}, float32);
         l.at = next_line();
         scale_kernel()(l.a, constant, l.c, 2.0, 1);
       })},
  };
}

std::vector<ErrorCase> shape_cases() {
  const std::string declared = " for B, declared float32[n, 4] with n = 3, pitch = 4";
  return {
      {"E0704", "wrong_constant_extent", "(3, 4)" + declared, "(4, 3)", launching([](Launch& l) {
         l.b = reshaped(l.b, {4, 3});
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0704", "symbol_with_two_values", "(3, 4)" + declared, "(2, 4)", launching([](Launch& l) {
         l.b = reshaped(l.b, {2, 4});
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0704", "negative_extent", "extents of 0 or more", "(-3, 4)", launching([](Launch& l) {
         l.a = reshaped(l.a, {-3, 4});
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0705", "strided_array_for_a_contiguous_tensor",
       "(4, 1) for A of shape (3, 4) with n = 3, pitch = 4", "(1, 3)", launching([](Launch& l) {
         l.a = reshaped(l.a, {3, 4}, {1, 3});
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0705", "wrong_constant_stride", "(8, 1) for C of shape (3, 4) with n = 3, pitch = 8",
       "(8, 2)", launching([](Launch& l) {
         Tensor wide({3, 8}, float32);
         l.c = reshaped(wide, {3, 4}, {8, 2});
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0705", "wrong_number_of_strides", "2 strides for shape (3, 4)", "1 strides",
       launching([](Launch& l) {
         l.b.strides = {4};
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0711", "stride_that_overflows", "at most 2^47 bytes for C",
       "shape (3, 4) with strides (4611686018427387904, 1)", launching([](Launch& l) {
         l.c.strides = {1LL << 62, 1};
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0711", "more_bytes_than_an_address_space", "at most 2^47 bytes for A",
       "shape (281474976710656, 4) with strides (4, 1)", launching([](Launch& l) {
         l.a = reshaped(l.a, {1LL << 48, 4});
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0711", "more_elements_than_64_bits_count", "fewer than 2^63 bytes",
       "(4611686018427387904, 4) elements of float32", launching([](Launch& l) {
         l.a = reshaped(l.a, {1LL << 62, 4});
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
  };
}

std::vector<ErrorCase> memory_cases() {
  return {
      {"E0706", "null_pointer", "12 elements for A", "a null pointer", launching([](Launch& l) {
         l.a.data = nullptr;
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0707", "output_is_an_input", "memory of its own for B", "memory shared with A",
       launching([](Launch& l) {
         l.at = next_line();
         scale_kernel()(l.b, l.b, l.c, 2.0, 1);
       })},
      {"E0707", "two_outputs_are_one", "memory of its own for B", "memory shared with C",
       launching([](Launch& l) {
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.b, 2.0, 1);
       })},
      {"E0707", "output_overlaps_an_input_in_part", "memory of its own for B",
       "memory shared with A", launching([](Launch& l) {
         Tensor both({4, 4}, float32);
         l.a = reshaped(both, {3, 4});
         l.b = l.a;
         l.b.data = both.elements<float>().data() + 4;
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0707", "interleaved_rows_that_meet", "memory of its own for B", "memory shared with C",
       launching([](Launch& l) {
         Tensor both({6, 4}, float32);
         l.b = reshaped(both, {3, 4});
         l.c = reshaped(both, {3, 4}, {8, 1});
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0707", "output_overlaps_itself", "elements of their own in C",
       "shape (3, 4) with strides (2, 1)", launching([](Launch& l) {
         l.c.strides = {2, 1};
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0708", "misaligned_pointer", "a multiple of 4 bytes for A", "address 0x*2",
       launching([](Launch& l) {
         l.a.data = static_cast<std::byte*>(l.a.data) + 2;
         l.a.shape = {2, 4};
         l.at = next_line();
         scale_kernel()(l.a, l.b, l.c, 2.0, 1);
       })},
      {"E0603", "negative_number_of_threads", "0 to 1024 threads", "-1", launching([](Launch& l) {
         l.at = next_line();
         scale_kernel().run({l.a, l.b, l.c, 2.0, 1}, {.threads = -1});
       })},
  };
}

}  // namespace

std::vector<ErrorCase> launch_cases() {
  std::vector<ErrorCase> cases = kind_cases();
  for (auto more : {shape_cases(), memory_cases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace tilecopy::test
