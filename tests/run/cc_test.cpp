#include "run/cc.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/os.h"
#include "run/testing.h"

namespace tilecopy {
namespace {

namespace fs = std::filesystem;
using testing_tools::code_of;
using testing_tools::LogCapture;
using testing_tools::ScopedEnv;
using testing_tools::TestDirectory;

// The text of the error that `action` raises.
template <class Action>
std::string text_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class CcTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!os::find_executable(real_)) GTEST_SKIP() << "no " << real_ << " on this machine";
  }

  fs::path path(const std::string& name) const { return directory_.path() / name; }

  // A compiler that notes each run in the file `runs`, then runs `before` and the real compiler.
  fs::path fake_compiler(const std::string& name, const std::string& before) {
    fs::create_directories(path("bin"));
    const fs::path script = path("bin") / name;
    os::write_file(script, "#!/bin/sh\necho \"$*\" >> " + path("runs").string() + "\n" + before +
                               "\nexec " + real_ + " \"$@\"\n");
    chmod(script.c_str(), 0755);
    return script;
  }
  std::ptrdiff_t runs() const {
    const std::string text = os::try_read_file(path("runs")).value_or("");
    return std::count(text.begin(), text.end(), '\n');
  }

  std::string real_ = "/usr/bin/gcc";
  TestDirectory directory_;
  Cache cache_{path("cache")};
  ScopedEnv cc_{"CC", nullptr};
};

TEST_F(CcTest, CompilesWhatCanBeLoadedAndRun) {
  const Cc cc = Cc::find(cache_);
  EXPECT_FALSE(cc.identity().version.empty());
  EXPECT_TRUE(fs::path(cc.command()[0]).is_absolute());
  fs::create_directory(path("a dir"));
  const fs::path output = path("a dir") / "k.so";
  cc.compile("int answer(void) { return 42; }\n", output);
  EXPECT_EQ(os::read_file(path("a dir") / "k.c"), "int answer(void) { return 42; }\n");
  os::SharedLibrary library(output);
  EXPECT_EQ(reinterpret_cast<int (*)()>(library.symbol("answer"))(), 42);
}

TEST_F(CcTest, FlagsKeepResultsTheSame) {
  cc_.set(real_.c_str());
  const Cc cc = Cc::find(cache_);
  const std::string native = cc.identity().march_native ? " -march=native" : "";
  const std::string openmp = cc.identity().openmp ? " -fopenmp" : "";
  const std::string rest =
      " -fPIC -shared -ffp-contract=off -fno-math-errno -fwrapv -fno-strict-aliasing";
  EXPECT_EQ(cc.identity().kind, CcKind::gcc);
  EXPECT_EQ(cc.flags(), "-std=c11 -O3" + native + rest + openmp);
  EXPECT_EQ(cc.flags({.opt_level = 0, .openmp = false}), "-std=c11 -O0" + native + rest);
  for (int level : {-1, 4}) {
    EXPECT_EQ(code_of([&] { cc.flags({.opt_level = level}); }), "E0603");
    EXPECT_EQ(code_of([&] { cc.compile("", path("k.so"), {.opt_level = level}); }), "E0603");
  }
}

TEST_F(CcTest, ArithmeticIsIeeeAndWraps) {
  const Cc cc = Cc::find(cache_);
  cc.compile(
      "#include <math.h>\n"
      "float mad(float a, float b, float c) { return a * b + c; }\n"
      "double root(double x) { return sqrt(x); }\n"
      "int above(int x) { return x + 1 > x; }\n",
      path("k.so"));
  os::SharedLibrary library(path("k.so"));
  const auto mad = reinterpret_cast<float (*)(float, float, float)>(library.symbol("mad"));
  const float a = 1.0f + std::ldexp(1.0f, -12);
  EXPECT_NE(std::fma(a, a, -1.0f), mad(a, a, -1.0f)) << "a contracted product";
  const auto root = reinterpret_cast<double (*)(double)>(library.symbol("root"));
  EXPECT_EQ(root(2.0), std::sqrt(2.0));
  EXPECT_TRUE(std::isnan(root(-1.0)));
  const auto above = reinterpret_cast<int (*)(int)>(library.symbol("above"));
  EXPECT_EQ(above(std::numeric_limits<int>::max()), 0);
}

TEST_F(CcTest, IsTriedOutOnceAndRemembered) {
  cc_.set(fake_compiler("gcc", "").c_str());
  const CcIdentity first = Cc::find(cache_).identity();
  const auto tries = runs();
  EXPECT_GE(tries, 2);
  const CcIdentity second = Cc::find(Cache(path("cache"))).identity();
  EXPECT_EQ(runs(), tries) << "a remembered compiler was run again";
  EXPECT_EQ(second.version, first.version);
  EXPECT_EQ(second.kind, first.kind);
  EXPECT_EQ(second.openmp, first.openmp);
  EXPECT_EQ(second.march_native, first.march_native);
}

TEST_F(CcTest, AChangedCompilerIsTriedAgain) {
  const fs::path script = fake_compiler("gcc", "");
  cc_.set(script.c_str());
  Cc::find(cache_);
  const auto tries = runs();
  fs::last_write_time(script, fs::last_write_time(script) - std::chrono::hours(5));
  Cc::find(cache_);
  EXPECT_EQ(runs(), 2 * tries);
}

TEST_F(CcTest, ADamagedMemoryIsTriedAgain) {
  cc_.set(fake_compiler("gcc", "").c_str());
  const CcIdentity identity = Cc::find(cache_).identity();
  if (!identity.openmp) GTEST_SKIP() << "no OpenMP, so nothing is remembered";
  for (const auto& file : fs::recursive_directory_iterator(path("cache"))) {
    if (file.path().filename() == "identity") os::write_file(file.path(), "gcc");
  }
  LogCapture log;
  EXPECT_EQ(Cc::find(cache_).identity().version, identity.version);
  EXPECT_EQ(log.count("identity is damaged"), 1);
}

TEST_F(CcTest, WorksWithoutACache) {
  cc_.set(real_.c_str());
  EXPECT_EQ(Cc::find(Cache(fs::path())).identity().kind, CcKind::gcc);
}

TEST_F(CcTest, NamesWhereItSearchedWhenThereIsNone) {
  ScopedEnv empty_path("PATH", "");
  const auto find = [&] { Cc::find(cache_); };
  EXPECT_EQ(code_of(find), "E0801");
  std::string text = text_of(find);
  for (const char* part : {"cc, gcc, clang", "an empty PATH", "apt-get install gcc"}) {
    EXPECT_TRUE(contains(text, part)) << text;
  }
  cc_.set("/nonexistent/cc -m32");
  EXPECT_EQ(code_of(find), "E0801");
  EXPECT_TRUE(contains(text_of(find), "CC=\"/nonexistent/cc -m32\"")) << text_of(find);
  ScopedEnv some_path("PATH", "/nowhere:/usr/bin");
  text = text_of(find);
  EXPECT_TRUE(contains(text, "E0801")) << "a compiler named in CC is not replaced: " << text;
  cc_.set("no-such-cc");
  text = text_of(find);
  EXPECT_TRUE(contains(text, "no no-such-cc in PATH=/nowhere:/usr/bin")) << text;
}

TEST_F(CcTest, ABlankCcIsNoCc) {
  cc_.set("  ");
  EXPECT_EQ(code_of([&] { Cc::find(cache_); }), "none");
}

TEST_F(CcTest, TakesTheFirstThatWorks) {
  fake_compiler("cc", "echo broken >&2; exit 1");
  fake_compiler("gcc", "");
  ScopedEnv search("PATH", (path("bin").string() + ":/usr/bin:/bin").c_str());
  EXPECT_EQ(Cc::find(cache_).command()[0], path("bin") / "gcc");
}

TEST_F(CcTest, SaysWhyNoneWorks) {
  cc_.set(
      fake_compiler("cc", "case $1 in --version) ;; *) echo no crt1.o >&2; exit 1;; esac").c_str());
  const auto find = [&] { Cc::find(cache_); };
  EXPECT_EQ(code_of(find), "E0802");
  EXPECT_TRUE(contains(text_of(find), "no crt1.o")) << text_of(find);
  EXPECT_TRUE(cache_.list().empty()) << "a failure must not be remembered";
}

TEST_F(CcTest, OpenMpIsUsedOnlyWhereItWorks) {
  cc_.set(
      fake_compiler("gcc", "case \"$*\" in *-fopenmp*) echo no libomp >&2; exit 1;; esac").c_str());
  const Cc without = Cc::find(cache_);
  EXPECT_FALSE(without.identity().openmp);
  EXPECT_FALSE(contains(without.flags(), "-fopenmp"));
  without.compile("int f(void) { return 1; }\n", path("k.so"));
  const auto tries = runs();
  Cc::find(cache_);
  EXPECT_EQ(runs(), tries) << "the same process asks once";
  EXPECT_TRUE(cache_.list().empty()) << "it may be installed before the next process";
}

TEST_F(CcTest, OpenMpMustAlsoLoad) {
  cc_.set(fake_compiler("gcc",
                        "case \"$*\" in *-fopenmp*) while [ \"$1\" != -o ]; do shift; done; "
                        "echo junk > \"$2\"; exit 0;; esac")
              .c_str());
  EXPECT_FALSE(Cc::find(cache_).identity().openmp);
}

TEST_F(CcTest, NativeCodeIsUsedOnlyWhereItWorks) {
  cc_.set(fake_compiler("gcc", "case \"$*\" in *-march=native*) exit 1;; esac").c_str());
  const Cc cc = Cc::find(cache_);
  EXPECT_FALSE(cc.identity().march_native);
  EXPECT_FALSE(contains(cc.flags(), "-march"));
}

TEST_F(CcTest, AFailureNamesTheCommandTheOutputAndTheSource) {
  cc_.set(real_.c_str());
  const Cc cc = Cc::find(cache_);
  ScopedEnv tmp("TMPDIR", directory_.path().c_str());
  ScopedEnv dump("TILECOPY_DUMP_DIR", nullptr);
  const std::string source = "int f(void) { return undeclared_name; }\n";
  fs::create_directory(path("build"));
  const auto compile = [&] { cc.compile(source, path("build") / "k.so"); };
  EXPECT_EQ(code_of(compile), "E0802");
  std::string text = text_of(compile);
  for (const char* part : {"exit status 1", "-std=c11 -O3", "undeclared_name", "/usr/bin/gcc"}) {
    EXPECT_TRUE(contains(text, part)) << text;
  }
  EXPECT_FALSE(fs::exists(path("build") / "k.so"));
  const auto kept_in = [](const std::string& message) {
    const auto begin = message.find("kept in ") + 8;
    return message.substr(begin, message.find(';', begin) - begin);
  };
  fs::remove_all(path("build"));
  EXPECT_EQ(os::read_file(kept_in(text)), source);
  dump.set(path("dump").c_str());
  fs::create_directory(path("build"));
  text = text_of(compile);
  EXPECT_EQ(os::read_file(kept_in(text)), source);
  EXPECT_EQ(fs::path(kept_in(text)).parent_path(), path("dump"));
}

TEST_F(CcTest, ArgumentsInCcAreKept) {
  cc_.set("gcc '-DANSWER=6 * 7'");
  const Cc cc = Cc::find(cache_);
  ASSERT_EQ(cc.command().size(), 2u);
  cc.compile("int answer(void) { return ANSWER; }\n", path("k.so"));
  os::SharedLibrary library(path("k.so"));
  EXPECT_EQ(reinterpret_cast<int (*)()>(library.symbol("answer"))(), 42);
}

TEST_F(CcTest, KeyTextTellsBuildsApart) {
  cc_.set(real_.c_str());
  const Cc cc = Cc::find(cache_);
  EXPECT_EQ(cc.key_text(), Cc::find(cache_).key_text());
  EXPECT_NE(cc.key_text(), cc.key_text({.opt_level = 1}));
  EXPECT_TRUE(contains(cc.key_text(), cc.identity().version));
  EXPECT_TRUE(contains(cc.key_text(), cpu_fingerprint()));
  cc_.set("gcc -DX");
  EXPECT_NE(cc.key_text(), Cc::find(cache_).key_text());
}

TEST_F(CcTest, OpenMpCodeMayBeUnloaded) {
  const char* source =
      "double sum(const double* x, int n) {\n"
      "  double s = 0;\n"
      "#pragma omp parallel for num_threads(4) reduction(+ : s)\n"
      "  for (int i = 0; i < n; ++i) s += x[i];\n"
      "  return s;\n"
      "}\n";
  for (const char* name : {"gcc", "clang"}) {
    if (!os::find_executable(name)) continue;
    cc_.set(name);
    const Cc cc = Cc::find(cache_);
    if (!cc.identity().openmp) continue;
    cc.compile(source, path("k.so"));
    const pid_t child = fork();
    if (child == 0) {
      const std::vector<double> ones(1000, 1.0);
      for (int round = 0; round < 20; ++round) {
        {
          os::SharedLibrary library(path("k.so"));
          const auto sum = reinterpret_cast<double (*)(const double*, int)>(library.symbol("sum"));
          if (sum(ones.data(), 1000) != 1000.0) _exit(1);
        }
        usleep(2000);  // for the idle threads of OpenMP to miss their code
      }
#ifdef __SANITIZE_ADDRESS__
      _exit(0);  // the leak checker itself fails over the threads of libomp
#endif
      std::exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << name;
  }
}

TEST(CpuFingerprint, IsOneLineThatNamesTheProcessor) {
  const std::string text = cpu_fingerprint();
  EXPECT_GT(text.size(), 10u);
  EXPECT_FALSE(contains(text, "\n"));
#if defined(__x86_64__)
  EXPECT_TRUE(text.starts_with("x86 0.0:")) << text;
#endif
}

TEST(CcIdentity, ClangAndUnknownCompilersAreTold) {
  TestDirectory directory;
  const Cache cache(directory.path() / "cache");
  if (os::find_executable("clang")) {
    ScopedEnv cc("CC", "clang");
    EXPECT_EQ(Cc::find(cache).identity().kind, CcKind::clang);
  }
  // Stands for tcc, which knows few flags.
  const fs::path script = directory.path() / "tcc";
  os::write_file(
      script,
      "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'tcc version 0.9.27'; exit 0; fi\n"
      "case \"$*\" in *-ffp*|*-march*|*-fopenmp*) exit 1;; esac\nexec cc \"$@\"\n");
  chmod(script.c_str(), 0755);
  ScopedEnv cc("CC", script.c_str());
  const Cc tiny = Cc::find(cache);
  EXPECT_EQ(tiny.identity().kind, CcKind::tcc);
  EXPECT_EQ(tiny.flags(), "-std=c11 -O3 -fPIC -shared");
}

}  // namespace
}  // namespace tilecopy
