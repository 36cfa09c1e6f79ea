// The system's C compiler, which turns the generated C of the cpu target into shared libraries.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "run/cache.h"

namespace tilecopy {

enum class CcKind : std::uint8_t { gcc, clang, tcc, other };

std::string_view to_string(CcKind kind);

struct CcOptions {
  int opt_level = 3;   ///< 0 to 3
  bool openmp = true;  ///< use OpenMP where the compiler has it
};

/// What decides which code a compiler makes.
struct CcIdentity {
  CcKind kind = CcKind::other;
  std::string version;        ///< the first line of --version
  bool openmp = false;        ///< an OpenMP library was compiled, linked and loaded
  bool march_native = false;  ///< -march=native is understood
};

/// Names the instruction set of this machine's processor, for keys of code made for it.
std::string cpu_fingerprint();

class Cc {
 public:
  /// $CC with its arguments, or the first of cc, gcc and clang in PATH. What the compiler can do is
  /// tried out once and remembered in `cache`. E0801 when there is none, E0802 when it does not
  /// work.
  static Cc find(const Cache& cache);

  const CcIdentity& identity() const { return identity_; }
  /// The command, such as {"/usr/bin/cc"}, without flags.
  const std::vector<std::string>& command() const { return command_; }
  /// The flags of a compile with these options, as on a command line; E0603.
  std::string flags(const CcOptions& options = {}) const;
  /// All that decides the code besides its source: command, version, flags and processor.
  std::string key_text(const CcOptions& options = {}) const;

  /// Compiles a C11 source to the shared library `output`, and leaves the source beside it, with
  /// the suffix .c. E0802 names a copy of the source that outlives `output`'s directory.
  void compile(const std::string& c_source, const std::filesystem::path& output,
               const CcOptions& options = {}) const;

 private:
  Cc(std::vector<std::string> command, CcIdentity identity)
      : command_(std::move(command)), identity_(std::move(identity)) {}

  std::vector<std::string> command_;
  CcIdentity identity_;
};

}  // namespace tilecopy
