// The instruction set of this machine's processor, asked of the processor itself.
#include <fmt/format.h>

#include <string>

#include "run/cc.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif

namespace tilecopy {
namespace {

#if defined(__x86_64__) || defined(__i386__)

// One leaf of CPUID, without the registers that name the core that asks or count the cores.
std::string leaf_text(unsigned leaf, unsigned subleaf) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(leaf, subleaf, &eax, &ebx, &ecx, &edx) == 0) return " -";
  if (leaf == 1 || leaf == 0xd) ebx = 0;
  if (leaf == 0x80000008U) ecx = 0;
  return fmt::format(" {:x}.{:x}:{:x},{:x},{:x},{:x}", leaf, subleaf, eax, ebx, ecx, edx);
}

// The register state that the operating system saves: without it AVX exists but cannot be used.
std::string saved_state_text() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned osxsave = 1U << 27;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & osxsave) == 0) return " xcr0:-";
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return fmt::format(" xcr0:{:x}{:08x}", high, low);
}

std::string ask_processor() {
  return "x86" + leaf_text(0, 0) + leaf_text(1, 0) + leaf_text(7, 0) + leaf_text(7, 1) +
         leaf_text(0xd, 1) + leaf_text(0x80000001U, 0) + leaf_text(0x80000008U, 0) +
         saved_state_text();
}

#elif defined(__linux__)

std::string ask_processor() {
#if defined(__aarch64__)
  constexpr const char* family = "aarch64";
#else
  constexpr const char* family = "other";
#endif
  return fmt::format("{} {:x} {:x}", family, getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
}

#else

std::string ask_processor() { return "unknown"; }

#endif

}  // namespace

std::string cpu_fingerprint() {
  // A virtual machine may take tens of microseconds for each question.
  static const std::string fingerprint = ask_processor();
  return fingerprint;
}

}  // namespace tilecopy
