// What depends on the machine: targets, options, the C compiler, memory, and our own faults.
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/os.h"
#include "errors/error_case.h"
#include "ir/make.h"
#include "ir/node.h"
#include "run/testing.h"

// A sanitizer would rather end the program than refuse memory.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace tilecopy::test {
namespace {

namespace fs = std::filesystem;
using testing_tools::ScopedEnv;
using testing_tools::TestDirectory;

Function fill_function(const std::string& name = "fill_one") {
  return function(name, [] {
    Buffer a = tensor("A", {8}, float32);
    kernel({1});
    fill(a, 1);
  });
}

// Compiles with the C compiler that `command` names, or with none for null, past any cache.
void compile_with(const char* command, Location& at) {
  TestDirectory directory;
  ScopedEnv cache("TILECOPY_CACHE_DIR", directory.path().c_str());
  ScopedEnv cc("CC", command);
  Function f = fill_function();
  at = next_line();
  compile(f);
}

// A C compiler whose libraries with kernels are no libraries.
void compile_to_a_broken_library(Location& at) {
  TestDirectory directory;
  const fs::path compiler = directory.path() / "cc";
  os::write_file(compiler,
                 "#!/bin/sh\n"
                 "cc \"$@\" || exit 1\n"
                 "for word in \"$@\"; do\n"
                 "  case \"$word\" in *.c) source=$word;; *.so) library=$word;; esac\n"
                 "done\n"
                 "if grep -q fill_one \"$source\"; then echo no library > \"$library\"; fi\n");
  chmod(compiler.c_str(), 0755);
  compile_with(compiler.c_str(), at);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TILECOPY_TEST_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TILECOPY_TEST_ASAN
#endif

#if !defined(TILECOPY_TEST_ASAN)
// A sanitizer needs more addresses than the limit leaves.
void launch_without_memory(Location& at) {
  CompiledKernel kernel = compile(function("large", [] {
    Buffer a = tensor("A", {8}, float32);
    tilecopy::kernel({1});
    Buffer tile = alloc_shared({64, 1 << 20}, float32);
    fill(tile, 0);
    copy(tile(0, 0), a);
  }));
  Tensor a({8}, float32);
  rlimit before{};
  // Takes the memory away that the tiles of all threads need.
  getrlimit(RLIMIT_AS, &before);
  rlimit less = before;
  less.rlim_cur = rlim_t{16} << 30;
  setrlimit(RLIMIT_AS, &less);
  struct Restore {
    ~Restore() { setrlimit(RLIMIT_AS, &limit); }
    rlimit limit;
  } restore{before};
  at = next_line();
  kernel.run({a}, {.threads = 1024});
}
#endif

// A kernel that reads a variable which nothing declares, as only a broken stage could make it.
Function broken_function() {
  auto kernel = std::make_shared<ir::Kernel>(fill_function().kernel());
  Var lost("lost", float32);
  const Buffer a = std::get<Buffer>(kernel->params[0]);
  kernel->body = ir::make_store(a, {ir::make_int(0)}, lost, kernel->where);
  return Function(std::move(kernel));
}

std::vector<ErrorCase> option_cases() {
  return {
      {"E0601", "unknown_target",
       "cpu, cuda -arch=ARCH or emulator -arch=ARCH, ARCH one of sm_80, sm_90a, sm_100a",
       "\"cuda -arch=sm_9a\"",
       [](Location& at) {
         Function f = fill_function();
         at = next_line();
         compile(f, "cuda -arch=sm_9a");
       }},
      {"E0601", "unknown_target_in_the_environment", "cpu, *", "\"gpu\"",
       [](Location& at) {
         ScopedEnv target("TILECOPY_TARGET", "gpu");
         Function f = fill_function();
         at = next_line();
         compile(f);
       }},
      {"E0602", "emulating_a_kernel_for_the_cpu", "a kernel for \"emulator -arch=...\"",
       "a kernel for cpu",
       [](Location& at) {
         CompiledKernel kernel = compile(fill_function(), "cpu");
         at = next_line();
         kernel.emulate({});
       }},
      {"E0602", "device_level_for_the_cpu", "a kernel with threads, for a cuda or emulator target",
       "one with threads, for cpu",
       [](Location& at) {
         Function f =
             parse("device function f(A: int8[4]) { kernel () threads 32 as t { A[0] = 1 } }");
         at = next_line();
         compile(f, "cpu");
       }},
      {"E0809", "a_race_on_the_emulator", "a kernel without race", "*which thread * wrote*",
       [](Location& at) {
         Function f = function("race", [&] {
           Buffer a = tensor("A", {64}, int32);
           kernel({1}, {.threads = 64});
           parallel({64}, [&](Var i) {
             at = next_line();
             a(i % 2) = i;
           });
         });
         std::vector<int> a(64);
         compile(f, "emulator -arch=sm_90a")(TensorView(a, {64}));
       }},
      {"E0603", "optimisation_level_of_nine", "opt_level 0 to 3", "opt_level 9",
       [](Location& at) {
         Function f = fill_function();
         at = next_line();
         compile(f, "cpu", {.opt_level = 9});
       }},
      {"E0603", "unknown_method", "a method: host_stream, *, im2col_gather", "\"memcpy\"",
       [](Location& at) {
         Function f = fill_function();
         at = next_line();
         compile(f, "cpu", {.method = "memcpy"});
       }},
      {"E0603", "unknown_stage", "a stage: language, infer_layouts or lower", "\"codegen\"",
       [](Location& at) {
         Function f = fill_function();
         at = next_line();
         stage_text(f, "cpu", "codegen");
       }},
      {"E0603", "handle_of_another_function",
       "a handle of one of the 1 tile operations of fill_one", "handle 7",
       [](Location& at) {
         CompiledKernel kernel = compile(fill_function());
         at = next_line();
         kernel.plan(CopyHandle{7});
       }},
  };
}

std::vector<ErrorCase> tool_cases() {
  return {
    {"E0712", "tensor_beyond_all_addresses", "281474976710656 bytes for *", "*",
     [](Location& at) {
       at = next_line();
       Tensor({1LL << 48}, uint8);
     }},
#if !defined(TILECOPY_TEST_ASAN)
        {"E0712", "tiles_of_a_thousand_threads",
         "274877906944 bytes, 268435456 for each of 1024 threads", "a failed allocation",
         launch_without_memory},
#endif
        {"E0801", "no_compiler", "an executable C compiler", "no CC; no * in PATH=/nonexistent",
         [](Location& at) {
           ScopedEnv path("PATH", "/nonexistent");
           compile_with(nullptr, at);
         }},
        {"E0802", "compiler_that_fails", "*", "*/false*",
         [](Location& at) { compile_with("/bin/false", at); }},
        {"E0803", "library_that_is_none", "a loadable library", "*", compile_to_a_broken_library},
        {"E0804", "no_temporary_directory", "a directory for temporary files", "none in *",
         [](Location&) {
           // No file system takes a name this long.
           os::TempDirectory::make_anywhere(std::string(4000, 'x'));
         }},
        {"E0901", "variable_that_nothing_declares", "", "rule *: * in `A[0] = lost`",
         [](Location&) { compile(broken_function()); }},
  };
}

}  // namespace

std::vector<ErrorCase> machine_cases() {
  std::vector<ErrorCase> cases = option_cases();
  for (ErrorCase& tool : tool_cases()) cases.push_back(std::move(tool));
  return cases;
}

}  // namespace tilecopy::test
