// E06xx and E07xx of tensors, views and files.
#include <fstream>

#include "errors/error_case.h"
#include "run/testing.h"

namespace tilecopy::test {
namespace {

std::vector<ErrorCase> dlpack_cases() {
  return {
      {"E0702", "dlpack_dtype_that_is_unknown", "a dtype of tilecopy, with 1 lane",
       "DLPack code 5, 64 bits, 1 lanes",
       [](Location& at) {
         DLTensor complex{};
         complex.dtype = {5, 64, 1};
         at = next_line();
         TensorView{complex};
       }},
      {"E0703", "dlpack_of_negative_rank", "0 to * dimensions", "ndim -1",
       [](Location& at) {
         DLTensor tensor{};
         tensor.ndim = -1;
         at = next_line();
         TensorView{tensor};
       }},
      {"E0706", "null_dlpack_tensor", "a DLPack tensor", "a null pointer",
       [](Location& at) {
         const DLManagedTensor* nothing = nullptr;
         at = next_line();
         TensorView{nothing};
       }},
      {"E0714", "dlpack_of_another_version", "DLPack version 1", "version 2.3",
       [](Location& at) {
         DLManagedTensorVersioned tensor{};
         tensor.version = {2, 3};
         at = next_line();
         TensorView{&tensor};
       }},
  };
}

std::vector<ErrorCase> tensor_cases() {
  return {
      {"E0702", "bits_of_another_width", "a dtype of 32 bits", "float16, which has 16",
       [](Location& at) {
         TensorView view(nullptr, float32, {0});
         at = next_line();
         view.as(float16);
       }},
      {"E0704", "vector_of_another_size", "6 elements for shape (2, 3)", "5 elements",
       [](Location& at) {
         std::vector<float> numbers(5);
         at = next_line();
         TensorView(numbers, {2, 3});
       }},
      {"E0711", "tensor_of_too_many_bytes", "fewer than 2^63 bytes",
       "(4294967296, 4294967296) elements of float32",
       [](Location& at) {
         at = next_line();
         Tensor({1LL << 32, 1LL << 32}, float32);
       }},
      // These say which element: the C++ type and the indices are all that their calls know.
      {"E0702", "elements_of_another_type", "the C++ type of float16, or uint16 for its bits",
       "float32", [](Location&) { Tensor({4}, float16).elements<float>(); }},
      {"E0703", "element_of_another_rank", "2 indices for shape (2, 2)", "1 indices",
       [](Location&) {
         Tensor({2, 2}, float32).at<float>(0);
       }},
      {"E0715", "element_past_the_end", "0 to below 2 in dimension 1", "2",
       [](Location&) {
         Tensor({2, 2}, float32).at<float>(0, 2);
       }},
      {"E0715", "element_of_an_empty_tensor", "a tensor with elements", "shape (0)",
       [](Location&) { Tensor({0}, float32).at<float>(0); }},
  };
}

std::vector<ErrorCase> file_cases() {
  return {
      {"E0604", "file_that_is_no_npy", "a .npy file, which starts with *NUMPY", "*broken.npy",
       [](Location& at) {
         testing_tools::TestDirectory directory;
         const std::string path = directory.path() / "broken.npy";
         std::ofstream(path) << "no array\n";
         at = next_line();
         load_npy(path);
       }},
      {"E0605", "file_that_is_missing", "a readable file",
       "/proc/nonexistent/a.npy: No such file or directory",
       [](Location& at) {
         at = next_line();
         load_npy("/proc/nonexistent/a.npy");
       }},
      {"E0605", "directory_that_is_missing", "a writable file",
       "/proc/nonexistent/a.npy: No such file or directory",
       [](Location& at) {
         Tensor tensor({4}, float32);
         at = next_line();
         save_npy("/proc/nonexistent/a.npy", tensor);
       }},
  };
}

}  // namespace

std::vector<ErrorCase> view_cases() {
  std::vector<ErrorCase> cases = dlpack_cases();
  for (auto more : {tensor_cases(), file_cases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace tilecopy::test
