// Errors of the cuda target: with a stand-in for the driver, so that they need no GPU.
#include "errors/error_case.h"
#include "run/cuda_driver.h"
#include "run/nvrtc.h"
#include "run/tensor_map.h"
#include "run/testing.h"

namespace tilecopy::test {
namespace {

using testing_tools::ScopedEnv;

Function copy_on_ampere() {
  return function("copy_on_ampere", [] {
    Buffer a = tensor("A", {64, 64}, float16);
    kernel({1}, {.threads = 128});
    Buffer tile = alloc_shared({64, 64}, float16);
    cuda::copy(a, tile, {.prefer_instruction = "tma"});
  });
}

Function fill_blocks() {
  return function("fill_blocks", [] {
    Var n = symbol("n");
    Buffer a = tensor("A", {n}, int8);
    auto [bx] = kernel({n}, {.threads = 1});
    fill(a(range(bx, bx + 1)), 1);
  });
}

run::BoundMap unaligned_map(const run::TensorMapRecipe& recipe) {
  return {&recipe, float16, 0x1008, {64, 64}, {128}};
}

std::vector<ErrorCase> driver_cases() {
  return {
      {"E0606", "no_driver", "libcuda.so.1 and a GPU", "*no_such_library*",
       [](Location&) { run::CudaDriver driver("no_such_library.so"); }},
      {"E0606", "driver_that_does_not_start", "libcuda.so.1 and a GPU", "cuInit: CUDA_ERROR_FAKE*",
       [](Location&) {
         ScopedEnv fail("FAKE_CUDA_FAIL", "cuInit");
         run::CudaDriver driver(TILECOPY_FAKE_CUDA);
       }},
      {"E0607", "driver_of_cuda_11", "CUDA 12.0", "CUDA 11.8",
       [](Location&) {
         ScopedEnv version("FAKE_CUDA_VERSION", "11080");
         run::CudaDriver driver(TILECOPY_FAKE_CUDA);
       }},
      {"E0608", "no_nvrtc", "one of *libnvrtc*", "none that opens",
       [](Location&) {
         run::hide_nvrtc_for_testing(true);
         struct Show {
           ~Show() { run::hide_nvrtc_for_testing(false); }
         } show;
         run::nvrtc_version();
       }},
      {"E0712", "no_device_memory", "cuMemAlloc to succeed", "CUDA_ERROR_FAKE (2)*",
       [](Location&) { run::CudaDriver(TILECOPY_FAKE_CUDA).check(2, "cuMemAlloc"); }},
      {"E0806", "failed_launch", "cuLaunchKernel to succeed", "CUDA_ERROR_FAKE (701)*",
       [](Location&) { run::CudaDriver(TILECOPY_FAKE_CUDA).check(701, "cuLaunchKernel"); }},
      {"E0806", "failed_kernel", "cuStreamSynchronize to succeed", "CUDA_ERROR_FAKE (700)*",
       [](Location&) {
         run::CudaDriver(TILECOPY_FAKE_CUDA).check_finished(700, "cuStreamSynchronize");
       }},
      {"E0808", "earlier_failure", "a GPU without a pending error at cuLaunchKernel",
       "CUDA_ERROR_FAKE (700)*",
       [](Location&) { run::CudaDriver(TILECOPY_FAKE_CUDA).check(700, "cuLaunchKernel"); }},
      {"E0807", "unaligned_tensor", "an address that is a multiple of 16",
       "map float16: address 0x1008, dims (64, 64), strides (128) bytes, box (64, 64)*",
       [](Location&) {
         ScopedEnv fail("FAKE_CUDA_FAIL", "cuTensorMapEncodeTiled");
         run::TensorMapRecipe recipe;
         recipe.name = "map";
         recipe.box = {64, 64};
         recipe.element_strides = {1, 1};
         run::encode(unaligned_map(recipe), run::CudaDriver(TILECOPY_FAKE_CUDA));
       }},
  };
}

}  // namespace

std::vector<ErrorCase> cuda_cases() {
  std::vector<ErrorCase> cases = driver_cases();
  cases.push_back({"E0207", "tma_on_ampere", "every hint met, by strict_hints",
                   "copy A -> *: prefer_instruction=tma: not met, *", [](Location& at) {
                     Function f = copy_on_ampere();
                     at = {};
                     compile(f, "cuda -arch=sm_80", {.strict_hints = true});
                   }});
  cases.push_back(
      {"E0716", "grid_of_2_to_the_32", "at most 2^31 - 1 blocks", "4294967296 or more",
       [](Location& at) {
         CompiledKernel kernel = compile(fill_blocks(), "cuda -arch=sm_80");
         TensorView many(nullptr, int8, {std::int64_t{1} << 32}, {}, true, Device{kDLCUDA, 0});
         many.data = &many;
         at = next_line();
         kernel(many);
       }});
  if (run::nvrtc_available()) {
    cases.push_back(
        {"E0805", "source_that_is_none", "CUDA C++ for sm_80", "*error*", [](Location&) {
           // Where the source of a failure is kept.
           testing_tools::TestDirectory directory;
           ScopedEnv temporary("TMPDIR", directory.path().c_str());
           run::compile_cubin("no code", "none", "sm_80");
         }});
  }
  return cases;
}

}  // namespace tilecopy::test
