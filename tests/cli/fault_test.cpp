// Bad usage and bad input: one clear message, the right exit status, and no file touched.
#include "cli/support.h"

namespace tilecopy::cli_test {
namespace {

TEST_F(Cli, UsageFaultsAreStatus2) {
  expect_failure({}, 2, {"a command is needed", "tilecopy --help"});
  expect_failure({"frobnicate"}, 2, {"unknown command frobnicate"});
  expect_failure({"run"}, 2, {"error: ", "KERNEL", "tilecopy run --help"});
  expect_failure({"run", "copy", "--shpae", "4x4"}, 2,
                 {"unknown flag --shpae", "tilecopy run --help"});
  expect_failure({"run", "copy", "--shape"}, 2, {"--shape"});
  expect_failure({"run", "copy", "--shape", "4x4", "--shape", "5x5"}, 2, {"--shape"});
  expect_failure({"run", "copy", "transpose"}, 2, {"unexpected word transpose"});
  expect_failure({"cache"}, 2, {"ACTION"});
  expect_failure({"explain", "copy", "--out", "B=x.npy"}, 2, {"--out"});
}

TEST_F(Cli, BadNumbersAreStatus2) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"--shape", "4xx4"},
      {"--shape", "-4x4"},
      {"--shape", "4x4x"},
      {"--shape", ""},
      {"--shape", "4.5x2"},
      {"--shape", "99999999999999999999"},
      {"--shape", "1x1x1x1x1x1x1x1x1"},
      {"--tile", "0x4"},
      {"--tile", "-1x4"},
      {"--tile", "4x4x4"},
      {"--tile", "4"},
      {"--threads", "0"},
      {"--threads", "1025"},
      {"--threads", "many"},
      {"--cpu-threads", "-1"},
      {"--cpu-threads", "0"},
      {"--cpu-threads", "99999"},
      {"--seed", "-1"},
      {"--seed", "0x10"},
      {"--opt-level", "4"},
      {"--opt-level", "fast"},
      {"--coalesced-width", "0"},
      {"--dtype", "float17"},
      {"--dtype", ""},
  };
  for (const auto& [flag, value] : bad)
    expect_failure({"run", "copy", flag, value}, 2, {"E0603", flag});
  for (const char* flag : {"--kernel", "--stride", "--dilation"}) {
    for (const char* value : {"0", "-1", "3x", "3x3x3", "x", "1e3", "4294967296"}) {
      expect_failure({"run", "im2col", flag, value}, 2, {"E0603", flag});
    }
  }
  expect_failure({"run", "im2col", "--pad", "-1"}, 2, {"E0603", "--pad"});
}

TEST_F(Cli, ContradictionsAreStatus2) {
  expect_failure({"run", "copy", "--kernel", "3"}, 2, {"E0603", "--kernel with copy"});
  expect_failure({"run", "transpose", "--pad", "0"}, 2, {"E0603", "--pad with transpose"});
  expect_failure({"run", "copy", "--set", "n=3"}, 2, {"E0603", "--set with copy"});
  expect_failure({"run", "copy", "--disable-tma", "--prefer-instruction", "tma"}, 2, {"E0204"});
  expect_failure({"run", "copy", "--eviction-policy", "evict_frist"}, 2,
                 {"E0201", "evict_frist", "evict_first"});
  expect_failure({"run", "copy", "--prefer-instruction", "TMA"}, 2, {"E0201"});
  expect_failure({"run", "copy", "--coalesced-width", "3"}, 2, {"E0205"});
  random_npy("x.npy", {8, 8}, DType::float32);
  const std::string in = "A=" + path("x.npy");
  expect_failure({"run", "copy", "--in", in, "--shape", "8x8"}, 2, {"E0603", "--shape"});
  expect_failure({"run", "copy", "--in", in, "--dtype", "int8"}, 2, {"E0604"});
  expect_failure({"run", "copy", "--in", in, "--in", in}, 2, {"E0603", "A twice"});
  expect_failure({"run", "copy", "--in", "B=" + path("x.npy")}, 2, {"E0603", "--in A=FILE"});
  expect_failure({"run", "copy", "--in", path("x.npy")}, 2, {"E0603", "NAME=FILE"});
  expect_failure({"run", "copy", "--out", "C=" + path("y.npy")}, 2, {"E0603", "A, B"});
  expect_failure({"run", "copy", "--out", "A=" + path("y.npy"), "--out", "B=" + path("y.npy")}, 2,
                 {"E0603", "y.npy twice"});
}

TEST_F(Cli, ErrorsDoNotPointAtOurSource) {
  const std::vector<std::vector<std::string>> faults = {
      {"run", "copy", "--coalesced-width", "3"},
      {"emulate", "copy", "--target", "cpu"},
      {"run", "copy", "--tile", "1000000x1000000"},
      {"ir", "copy", "--stop-after", "codegen"},
      {"run", "im2col", "--shape", "1x2x8x1"}};
  for (const auto& words : faults) {
    const auto result = tilecopy(words);
    EXPECT_NE(result.errors, "");
    EXPECT_EQ(result.errors.find(".cpp"), std::string::npos) << result.errors;
  }
}

TEST_F(Cli, RanksThatDoNotFitAreStatus2) {
  random_npy("flat.npy", {8}, DType::float32);
  random_npy("scalar.npy", {}, DType::float32);
  expect_failure({"run", "im2col", "--in", "img=" + path("flat.npy")}, 2,
                 {"E0301", "(N, H, W, C)", "flat.npy of shape (8,)"});
  expect_failure({"run", "im2col", "--shape", "8x8"}, 2, {"E0301", "8x8"});
  expect_failure({"run", "transpose", "--in", "A=" + path("flat.npy")}, 2, {"E0108", "(8,)"});
  expect_failure({"run", "copy", "--in", "A=" + path("scalar.npy")}, 2, {"E0603", "rank 1"});
  expect_failure({"run", "im2col", "--shape", "1x2x8x1", "--kernel", "3"}, 2, {"E0307"});
}

TEST_F(Cli, SizesThatOverflowAreRefused) {
  expect_failure({"run", "copy", "--shape", "99999999999999x99999999999999"}, 2, {"E0711"});
  expect_failure({"run", "copy", "--shape", "1000000000x10000"}, 3, {"E0712"});
  expect_failure({"run", "copy", "--tile", "1000000x1000000"}, 2, {"E0421"});
}

TEST_F(Cli, BadFilesLeaveOutputsAsTheyWere) {
  const std::string old = write("old.npy", "old");
  const std::string text = write("text.npy", "this is no array");
  expect_failure({"run", "copy", "--in", "A=" + path("missing.npy"), "--out", "B=" + old}, 3,
                 {"E0605", "missing.npy"});
  expect_failure({"run", "copy", "--in", "A=" + text, "--out", "B=" + old}, 2,
                 {"E0604", "text.npy"});
  {
    const ScopedEnv cc("CC", "/no/such/compiler");
    expect_failure({"run", "copy", "--shape", "8x24", "--out", "B=" + old}, 3, {"E0801"});
  }
  EXPECT_EQ(os::read_file(old), "old");
  expect_failure(
      {"run", "copy", "--shape", "8x8", "--out", "A=" + old, "--out", "B=" + path("no/such/b.npy")},
      3, {"E0605", "no/such/b.npy"});
  EXPECT_EQ(os::read_file(old), "old");
  expect_failure({"run", "copy", "--shape", "8x8", "--out", "B=" + path(".")}, 3, {"E0605"});
}

TEST_F(Cli, TargetsThatDoNotFitAreStatus2) {
  expect_failure({"run", "copy", "--target", "gpu"}, 2, {"E0601", "\"gpu\""});
  expect_failure({"emulate", "copy", "--target", "cpu"}, 2, {"E0602", "emulator -arch=..."});
  const ScopedEnv target("TILECOPY_TARGET", "tpu");
  expect_failure({"explain", "copy"}, 2, {"E0601", "tpu"});
}

TEST_F(Cli, AFullDiskIsToldOf) {
  const std::string line = std::string(TILECOPY_COMMAND) + " ir copy >/dev/full";
  const auto result = os::run_process({"sh", "-c", line}, {.merge_streams = false});
  EXPECT_EQ(result.ending(), "exit status 3");
  expect_contains(result.errors, {"error: "});
}

}  // namespace
}  // namespace tilecopy::cli_test
