#include "target/target.h"

#include <fmt/format.h>

#include "base/diagnostic.h"
#include "base/options.h"

namespace tilecopy::target {
namespace {

// Architectures whose kernels the planner knows.
constexpr std::string_view archs[] = {"sm_80", "sm_90a", "sm_100a"};

[[noreturn]] void raise_unknown(const std::string& text) {
  raise(
      ErrorCode::E0601, {},
      {.needed = "cpu, cuda -arch=ARCH or emulator -arch=ARCH, ARCH one of sm_80, sm_90a, sm_100a",
       .found = fmt::format("\"{}\"", text)});
}

}  // namespace

std::string Target::to_string() const {
  switch (kind) {
    case TargetKind::cpu: return "cpu";
    case TargetKind::cuda: return "cuda -arch=" + arch;
    case TargetKind::emulator: return "emulator -arch=" + arch;
  }
  return {};
}

Target parse_target(const std::string& given) {
  std::string text = given.empty() ? default_target() : given;
  if (text == "cpu") return {};
  for (TargetKind kind : {TargetKind::cuda, TargetKind::emulator}) {
    for (std::string_view arch : archs) {
      Target target{kind, std::string(arch)};
      if (target.to_string() == text) return target;
    }
  }
  raise_unknown(text);
}

bool is_simt(const Target& target) { return target.kind != TargetKind::cpu; }
bool has_tma(const Target& target) { return is_simt(target) && target.arch != "sm_80"; }
bool has_wide_access(const Target& target) { return target.arch == "sm_100a"; }
std::int64_t most_shared_bytes(const Target& target) {
  return (target.arch == "sm_80" ? 163 : 227) * std::int64_t{1024};
}

std::span<const std::string_view> architectures() { return archs; }

int host_vector_bytes() {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_supports("avx512f")) return 64;
  if (__builtin_cpu_supports("avx")) return 32;
#endif
  return 16;
}

}  // namespace tilecopy::target
