#include "flags.h"

namespace tilecopy::tool {
namespace {

using R = Request;
using enum FlagGroup;

constexpr FlagRow rows[] = {
    {"--shape", "EXTENTS",
     "extents of A, or of img as NxHxWxC\n(default 4096x4096; im2col 8x56x56x64)", built_in,
     &R::shape},
    {"--dtype", "DTYPE", "element type, such as bfloat16, float32, int8 or uint8 (default float16)",
     built_in, &R::dtype},
    {"--tile", "EXTENTS",
     "tile of a block: rows x columns, or block_m x block_k of im2col\n(default: by kernel, target "
     "and dtype; `tilecopy ir` shows it)",
     built_in, &R::tile},
    {"--threads", "N", "threads of a block, 1 to 1024 (default 128; transpose on a GPU 256)",
     built_in, &R::threads},
    {"--through", "MEMORY",
     "what copy goes through: shared, fragment or nothing\n(default shared; on a GPU nothing, "
     "unless --prefer-instruction is tma or cp_async)",
     built_in, &R::through},
    {"--coalesced-width", "N", "hint: elements of one access of a thread, a power of two", built_in,
     &R::coalesced_width},
    {"--eviction-policy", "POLICY", "hint: evict_normal, evict_first or evict_last", built_in,
     &R::eviction_policy},
    {"--prefer-instruction", "NAME", "hint: tma, cp_async or sync", built_in,
     &R::prefer_instruction},
    {"--kernel", "N or HxW", "size of the convolution's kernel (default 3)", im2col, &R::window},
    {"--stride", "N or HxW", "stride of the convolution (default 1)", im2col, &R::stride},
    {"--dilation", "N or HxW", "dilation of the convolution (default 1)", im2col, &R::dilation},
    {"--pad", "N or HxW", "zeros around the image (default 0)", im2col, &R::pad},
    {"--target", "TARGET", "as `tilecopy targets` lists\n(default: TILECOPY_TARGET, or cpu)",
     compile, &R::target},
    {"--method", "NAME",
     "a way to copy that is taken wherever its rules hold,\nsuch as bulk (docs/planner.md)",
     compile, &R::method},
    {"--opt-level", "N", "optimisation level of the C compiler, 0 to 3 (default 3)", compile,
     &R::opt_level},
    {"--cpu-threads", "N", "threads of the cpu target\n(default: OMP_NUM_THREADS, or all cores)",
     data, &R::cpu_threads},
    {"--seed", "N", "seed of the random data and of emulated schedules (default 0)", data,
     &R::seed},
    {"--schedules", "N", "interleavings to try (default 20)", emulating, &R::schedules},
    {"--ignore", "KINDS", "verdicts to leave out, such as race,unwritten", emulating, &R::ignore},
    {"--trace", "FILE", "write a timeline of the first interleaving,\nwhich ui.perfetto.dev opens",
     emulating, &R::trace},
};

}  // namespace

const char* title(FlagGroup group) {
  switch (group) {
    case built_in: return "Flags of the built-in kernels";
    case im2col: return "Flags of im2col";
    case compile: return "Compiling";
    case data: return "Data and running";
    case emulating: return "Emulating";
  }
  return "";
}

std::span<const FlagRow> flag_table() { return rows; }

}  // namespace tilecopy::tool
