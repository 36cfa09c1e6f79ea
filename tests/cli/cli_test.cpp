// The command as a user meets it: every command, its files, and its exit statuses.
#include "cli/support.h"

namespace tilecopy::cli_test {
namespace {

const std::string cat = TILECOPY_SOURCE_DIR "/examples/data/cat.npy";

// ---- run ----

TEST_F(Cli, RunNeedsNothingButAKernel) {
  for (const char* kernel : {"copy", "transpose", "im2col"}) {
    expect_contains(output_of({"run", kernel}), {std::string(kernel) + " on cpu, 2 threads",
                                                 "float16", "compile", "run", "check   passed"});
  }
}

TEST_F(Cli, RunTakesTheShapesAndHintsOfTheDemo) {
  expect_contains(
      output_of({"run", "im2col", "--in", "img=" + cat, "--kernel", "3", "--stride", "1", "--pad",
                 "1", "--tile", "64x32", "--eviction-policy", "evict_first", "--target", "cpu",
                 "--explain"}),
      {"uint8 (1, 192, 256, 3)", "(49152, 27)", "passed", "im2col img -> tile", "eviction_policy"});
  expect_contains(output_of({"run", "copy", "--shape", "1000x1001", "--dtype", "float16", "--tile",
                             "64x48", "--eviction-policy", "evict_first", "--prefer-instruction",
                             "tma", "--target", "cpu", "--explain"}),
                  {"(1000, 1001)", "passed", "prefer_instruction"});
}

TEST_F(Cli, RunPassesForRaggedShapesOfEveryRankAndDtype) {
  const std::vector<std::vector<std::string>> runs = {
      {"copy", "--shape", "5000"},
      {"copy", "--shape", "1"},
      {"copy", "--shape", "0x7"},
      {"copy", "--shape", "3x5x33x65", "--tile", "16x32"},
      {"copy", "--shape", "2x1x2x1x2x1x7x9", "--tile", "1x4", "--dtype", "float64"},
      {"copy", "--shape", "65x129", "--dtype", "bool", "--coalesced-width", "4"},
      {"transpose", "--shape", "65x130", "--dtype", "int32", "--tile", "32x16"},
      {"transpose", "--shape", "3x2x17x33", "--dtype", "float8_e5m2"},
      {"im2col", "--shape", "2x13x17x5", "--kernel", "3x5", "--stride", "2x1", "--dilation", "1x2",
       "--pad", "1x3", "--tile", "8x12", "--dtype", "float32"},
      {"im2col", "--shape", "0x8x8x4"},
      {"im2col", "--shape", "1x8x8x1", "--kernel", "1", "--disable-tma"},
  };
  for (std::vector<std::string> words : runs) {
    words.insert(words.begin(), "run");
    expect_contains(output_of(words), {"check   passed"});
  }
}

TEST_F(Cli, RunReadsAndWritesFiles) {
  const Tensor photo = load_npy(cat);
  output_of({"run", "copy", "--in", "A=" + cat, "--out", "B=" + path("b.npy")});
  EXPECT_TRUE(same_elements(load_npy(path("b.npy")), photo));

  output_of({"run", "transpose", "--in", "A=" + cat, "--out", "B=" + path("t.npy")});
  const Tensor turned = load_npy(path("t.npy"));
  EXPECT_EQ(turned.shape(), (std::vector<std::int64_t>{1, 192, 3, 256}));
  EXPECT_EQ(turned.at<std::uint8_t>(0, 100, 2, 30), photo.at<std::uint8_t>(0, 100, 30, 2));

  output_of({"run", "im2col", "--in", "img=" + cat, "--pad", "1", "--out", "col=" + path("c.npy")});
  const Tensor columns = load_npy(path("c.npy"));
  EXPECT_EQ(columns.shape(), (std::vector<std::int64_t>{192 * 256, 27}));
  EXPECT_EQ(columns.at<std::uint8_t>(0, 0), 0);
  // Output pixel (100, 30), kernel element (2, 0), channel 1.
  EXPECT_EQ(columns.at<std::uint8_t>(100 * 256 + 30, 2 * 9 + 1),
            photo.at<std::uint8_t>(0, 101, 29, 1));
}

TEST_F(Cli, RunKeepsTheBitsOfDtypesThatNumPyLacks) {
  const Tensor input = random_npy("x.npy", {10, 20}, DType::bfloat16);
  output_of({"run", "copy", "--dtype", "bfloat16", "--in", "A=" + path("x.npy"), "--out",
             "B=" + path("y.npy")});
  EXPECT_TRUE(same_elements(load_npy(path("y.npy"), DType::bfloat16), input));
}

TEST_F(Cli, RunIsTheSameForASeedAndAnyThreads) {
  auto save = [&](const char* seed, const char* threads, const std::string& file) {
    output_of({"run", "copy", "--shape", "50x70", "--seed", seed, "--cpu-threads", threads, "--out",
               "B=" + path(file)});
    return load_npy(path(file));
  };
  const Tensor first = save("1", "1", "a.npy");
  EXPECT_TRUE(same_elements(first, save("1", "3", "b.npy")));
  EXPECT_FALSE(same_elements(first, save("2", "3", "c.npy")));
}

// A compiler that breaks the kernel: what is checked is the result, not the compiler.
TEST_F(Cli, RunTellsAWrongResultFromARightOne) {
  const std::string header = write("evil.h",
                                   "#include <string.h>\n"
                                   "static inline void* evil(void* to, const void* from, size_t n) "
                                   "{\n"
                                   "  memset(to, 0x11, n);\n"
                                   "  return to;\n"
                                   "}\n"
                                   "#define memcpy(to, from, n) evil(to, from, n)\n");
  const ScopedEnv cc("CC", ("cc -include " + header).c_str());
  const std::string old = write("b.npy", "old");
  const std::vector<std::string> words = {"run", "copy", "--shape", "40x40", "--out", "B=" + old};
  const os::ProcessResult result = tilecopy(words);
  EXPECT_EQ(result.ending(), "exit status 1");
  expect_contains(result.output, {"check   FAILED"});
  expect_contains(result.errors,
                  {"the result of copy is wrong", "as A(0, 0)", "0x1111", "in B(0, 0)"});
  EXPECT_EQ(os::read_file(old), "old");

  std::vector<std::string> unchecked = words;
  unchecked.push_back("--no-check");
  expect_contains(output_of(unchecked), {"check   none: --no-check"});
  EXPECT_EQ(tilecopy({"bench", "copy", "--shape", "40x40"}).ending(), "exit status 1");
}

// ---- Kernel files ----

const char* scale_text = R"(function scale(A: float32[n, m], B: float32[n, m], alpha: float32) {
  kernel (bx: (m + 31) / 32, by: (n + 15) / 16) threads 128 {
    tile = alloc_shared float32[16, 32]
    copy A[by * 16 : +16, bx * 32 : +32] -> tile
    parallel (i: 16, j: 32) {
      tile[i, j] = tile[i, j] * alpha
    }
    copy tile -> B[by * 16 : +16, bx * 32 : +32]
  }
}
)";

TEST_F(Cli, RunTakesAKernelFile) {
  const std::string file = write("scale.tile", scale_text);
  expect_contains(output_of({"run", file, "--set", "n=100", "--set", "m=70", "--set", "alpha=0.5"}),
                  {"scale on cpu", "(100, 70)", "check   none"});

  const Tensor input = random_npy("x.npy", {9, 40}, DType::float32);
  output_of({"run", file, "--in", "A=" + path("x.npy"), "--set", "alpha=2", "--out",
             "B=" + path("y.npy")});
  const Tensor output = load_npy(path("y.npy"));
  ASSERT_EQ(output.shape(), input.shape());
  for (std::size_t i = 0; i < 9 * 40; ++i) {
    EXPECT_EQ(output.elements<float>()[i], input.elements<float>()[i] * 2);
  }
}

TEST_F(Cli, RunTakesTensorsWithStrides) {
  const std::string file =
      write("gather.tile",
            "function gather(A: int32[n, 4] strides [s, 1], B: int32[n, 4]) {\n"
            "  kernel (bx: n) threads 32 {\n"
            "    tile = alloc_shared int32[1, 4]\n"
            "    copy A[bx : +1, 0 : +4] -> tile\n"
            "    copy tile -> B[bx : +1, 0 : +4]\n"
            "  }\n"
            "}\n");
  const Tensor input = random_npy("x.npy", {5, 4}, DType::int32);
  output_of({"run", file, "--in", "A=" + path("x.npy"), "--set", "s=-6", "--out",
             "B=" + path("y.npy"), "--out", "A=" + path("a.npy")});
  EXPECT_TRUE(same_elements(load_npy(path("y.npy")), input));
  EXPECT_TRUE(same_elements(load_npy(path("a.npy")), input));
  expect_failure({"run", file, "--in", "A=" + path("x.npy")}, 2, {"E0503", "a value for s"});
}

TEST_F(Cli, IrPrintsWhatRunReads) {
  for (const char* kernel : {"copy", "transpose", "im2col"}) {
    const std::string text = output_of({"ir", kernel});
    const std::string file = write(std::string(kernel) + ".tile", text);
    EXPECT_EQ(output_of({"ir", file}), text);
    expect_contains(output_of({"run", file}), {"check   none"});
  }
  expect_contains(output_of({"ir", "copy", "--stop-after", "lower"}), {"device function copy"});
  expect_contains(output_of({"ir", "copy", "--stop-after", "infer_layouts"}), {"alloc_shared"});
  expect_failure({"ir", "copy", "--stop-after", "codegen"}, 2, {"E0603", "infer_layouts"});
}

TEST_F(Cli, KernelFilesAreChecked) {
  const std::string file = write("scale.tile", scale_text);
  const std::string broken = write("broken.tile", "function f(A: float32[4]) {\n  kernel 7\n}\n");
  const std::string other = path("x.npy");
  random_npy("x.npy", {9, 40}, DType::float64);
  random_npy("flat.npy", {9}, DType::float32);
  random_npy("good.npy", {9, 40}, DType::float32);
  expect_failure({"run", broken}, 2, {"E0501", "broken.tile:2"});
  expect_failure({"run", write("binary.tile", std::string("\0ELF", 4))}, 2,
                 {"E0501", "binary data in "});
  expect_failure({"run", "nothing.tile"}, 2, {"E0603", "\"nothing.tile\"", "copy, transpose"});
  expect_failure({"run", file}, 2, {"E0503", "a value for n", "--set n="});
  expect_failure({"run", file, "--set", "n=2", "--set", "m=2"}, 2, {"E0503", "alpha"});
  expect_failure({"run", file, "--set", "k=2"}, 2, {"E0503", "one of n, m, alpha", "k=2"});
  expect_failure({"run", file, "--set", "n=two"}, 2, {"E0503", "\"two\""});
  expect_failure({"run", file, "--set", "n"}, 2, {"E0603", "NAME=VALUE"});
  expect_failure({"run", file, "--set", "n=1", "--set", "n=2"}, 2, {"E0503", "n twice"});
  expect_failure({"run", file, "--set", "n=-3", "--set", "m=2", "--set", "alpha=1"}, 2, {"E0704"});
  expect_failure({"run", file, "--shape", "3x4"}, 2, {"E0603", "--shape"});
  expect_failure({"run", file, "--disable-tma"}, 2, {"E0603", "--disable-tma"});
  expect_failure({"run", file, "--in", "A=" + other}, 2, {"E0604"});
  expect_failure({"run", file, "--in", "A=" + path("flat.npy")}, 2, {"E0703", "(9,)"});
  expect_failure({"run", file, "--in", "C=" + other}, 2, {"E0603", "A, B", "C="});
  expect_failure(
      {"run", file, "--in", "A=" + path("good.npy"), "--set", "n=10", "--set", "alpha=1"}, 2,
      {"E0503", "n = 9", "n=10"});
}

// ---- The other commands ----

TEST_F(Cli, ExplainTellsEachCopy) {
  expect_contains(output_of({"explain", "copy", "--shape", "100x100"}),
                  {"copy for cpu: 2 tile operations", "copy A -> tile", "by "});
  const nlohmann::json json = json_of({"explain", "copy", "--shape", "100x100", "--json"});
  EXPECT_EQ(json["kernel"], "copy");
  EXPECT_EQ(json["operations"].size(), 2u);
  expect_contains(output_of({"explain", write("scale.tile", scale_text)}), {"scale for cpu"});
}

TEST_F(Cli, ExplainTellsErrorCodes) {
  expect_contains(output_of({"explain", "E0101"}), {"E0101", "copy.extents", "help"});
  expect_contains(output_of({"explain", "e0801"}), {"E0801", "cc.missing"});
  EXPECT_EQ(json_of({"explain", "E0602", "--json"})["name"], "target.kind");
  expect_failure({"explain", "E9999"}, 2, {"E0603", "E9999"});
}

TEST_F(Cli, SourceIsC) {
  expect_contains(output_of({"source", "copy", "--shape", "100x100"}), {"copy_kernel", "#include"});
}

TEST_F(Cli, BenchMeasures) {
  expect_contains(output_of({"bench", "copy", "--shape", "64x64"}), {"median", "GB/s", "memcpy"});
  const nlohmann::json json = json_of({"bench", "transpose", "--shape", "64x64", "--json"});
  EXPECT_EQ(json["bytes"], 2 * 64 * 64 * 2);
  EXPECT_EQ(json["tensors"].size(), 2u);
  EXPECT_GT(json["result"]["median_ms"].get<double>(), 0);
  EXPECT_GT(json["memcpy"]["gb_per_s"].get<double>(), 0);
  EXPECT_GT(json["times_memcpy"]["best"].get<double>(), 0);
}

TEST_F(Cli, TargetsAndDoctorTellWhatThereIs) {
  expect_contains(output_of({"targets"}), {"cpu ", "available", "emulator -arch=sm_90a"});
  expect_contains(output_of({"doctor"}),
                  {"C compiler: /", "OpenMP", "kernel cache: ", "TILECOPY_CACHE_DIR",
                   "right result", "The cpu target can run."});
  const nlohmann::json json = json_of({"doctor", "--json"});
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["cache"]["writable"], true);
  EXPECT_EQ(json["threads"], 2);
  EXPECT_GE(json["options"].size(), 8u);
}

TEST_F(Cli, DoctorSaysWhatIsMissing) {
  const ScopedEnv cc("CC", "/nowhere/cc");
  const ScopedEnv cache("TILECOPY_CACHE_DIR", "/proc/nowhere");
  const os::ProcessResult text = tilecopy({"doctor"});
  EXPECT_EQ(text.ending(), "exit status 3");
  expect_contains(text.output, {"E0801", "/nowhere/cc", "cannot run"});
  const os::ProcessResult json = tilecopy({"doctor", "--json"});
  EXPECT_EQ(json.ending(), "exit status 3");
  const auto report = nlohmann::json::parse(json.output, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << json.output;
  EXPECT_EQ(report["ok"], false);
  EXPECT_EQ(report["cache"]["writable"], false);
  expect_failure({"run", "copy", "--shape", "4x4"}, 3, {"E0801", "/nowhere/cc"});
}

TEST_F(Cli, CacheIsListedAndCleared) {
  const ScopedEnv cache("TILECOPY_CACHE_DIR", path("cache").c_str());
  expect_contains(output_of({"cache", "ls"}), {"0 entries"});
  output_of({"run", "copy", "--shape", "8x8", "--no-cache"});
  output_of({"run", "copy", "--shape", "8x8"});
  expect_contains(output_of({"run", "copy", "--shape", "8x8"}), {"from the cache"});
  expect_contains(output_of({"cache", "ls"}), {"copy.", "KB"});
  expect_contains(output_of({"cache", "clear"}), {"removed "});
  expect_contains(output_of({"cache", "ls"}), {"0 entries"});
  const ScopedEnv off("TILECOPY_CACHE_DIR", "off");
  expect_contains(output_of({"cache", "clear"}), {"off"});
  expect_failure({"cache", "burn"}, 2, {"E0603", "cache ls or cache clear"});
}

TEST_F(Cli, HelpTellsEverything) {
  const std::string help = output_of({"--help"});
  expect_contains(help,
                  {"copy", "transpose", "im2col", "Examples:", "Exit status:", "docs/text-form.md",
                   "TILECOPY_CACHE_DIR", "NO_COLOR", "explain", "doctor", "cache"});
  expect_contains(output_of({"run", "--help"}), {"--shape",
                                                 "--dtype",
                                                 "--tile",
                                                 "--threads",
                                                 "--coalesced-width",
                                                 "--disable-tma",
                                                 "--eviction-policy",
                                                 "--prefer-instruction",
                                                 "--kernel",
                                                 "--stride",
                                                 "--dilation",
                                                 "--pad",
                                                 "--target",
                                                 "--cpu-threads",
                                                 "--seed",
                                                 "--no-check",
                                                 "--opt-level",
                                                 "--no-cache",
                                                 "--in",
                                                 "--out",
                                                 "--set",
                                                 "--explain",
                                                 "Exit status:"});
  expect_contains(output_of({"--version"}), {"tilecopy 0."});
}

TEST_F(Cli, EmulatesBuiltInsAndBrokenKernels) {
  const auto clean = tilecopy({"emulate", "copy", "--shape", "100x72", "--schedules", "3"});
  EXPECT_EQ(clean.ending(), "exit status 0");
  expect_contains(clean.output, {"clean: 3 schedules"});
  const std::string broken = std::string(TILECOPY_SOURCE_DIR) + "/examples/data/broken_tma.tile";
  const auto verdicts = tilecopy({"emulate", broken, "--json"});
  EXPECT_EQ(verdicts.ending(), "exit status 1");
  const auto json = nlohmann::json::parse(verdicts.output);
  EXPECT_FALSE(json["clean"]);
  EXPECT_EQ(json["verdicts"][0]["kind"], "missing_fence");
  EXPECT_EQ(json["verdicts"][0]["line"], 21);
  EXPECT_EQ(json["verdicts"][0]["other_line"], 18);
}

}  // namespace
}  // namespace tilecopy::cli_test
