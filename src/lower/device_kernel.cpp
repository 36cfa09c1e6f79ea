#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostic.h"
#include "ir/make.h"
#include "ir/walk.h"
#include "lower/lower.h"

namespace tilecopy::lower {
namespace {

std::int64_t size_of(const ir::Alloc& alloc) {
  std::int64_t elements = 1;
  for (const Expr& extent : alloc.buffer.shape()) elements *= *ir::const_int(extent);
  if (alloc.layout) elements = std::max(elements, alloc.layout->cosize());
  return elements * bytes(alloc.buffer.dtype());
}

}  // namespace

SimtKernel place_device_kernel(const ir::Kernel& kernel, const target::Target& target) {
  if (!target::is_simt(target) || !kernel.thread.defined()) {
    raise(ErrorCode::E0602, {},
          {.needed = "a kernel with threads, for a cuda or emulator target",
           .found = fmt::format("{} threads, for {}",
                                kernel.thread.defined() ? "one with" : "one without",
                                target.to_string())});
  }
  SimtKernel result;
  result.kernel = kernel;
  const std::int64_t most = target::most_shared_bytes(target);
  ir::for_each_stmt(kernel.body, [&](const ir::Stmt& s) {
    const auto* alloc = ir::as<ir::Alloc>(s);
    if (!alloc || alloc->buffer.scope() != Scope::shared) return;
    constexpr std::int64_t alignment = planner::shared_alignment;
    const std::int64_t begin = (result.shared_bytes + alignment - 1) / alignment * alignment;
    result.shared_offsets[alloc->buffer.node()] = begin;
    result.shared_bytes = begin + size_of(*alloc);
    if (result.shared_bytes <= most) return;
    raise(ErrorCode::E0421, s->where,
          {.needed = fmt::format("at most {} bytes of shared memory for a block", most),
           .found = fmt::format("{} bytes with {}", result.shared_bytes, alloc->buffer.name())});
  });
  return result;
}

}  // namespace tilecopy::lower
