// Correct lowered kernels of every way to copy are clean, and damage to them is found: by a
// verdict, or because the result is another one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "emulator/kernel.h"
#include "emulator/mutate.h"
#include "pipe.h"
#include "tilecopy/error.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy::emulator {
namespace {

using test::Mutant;

struct Subject {
  std::string name;
  Function function;
  std::vector<std::pair<std::vector<std::int64_t>, DType>> inputs;
  std::pair<std::vector<std::int64_t>, DType> output;
  std::string target = "emulator -arch=sm_90a";
  std::string method = {};
};

cuda::CopyOptions by(const char* instruction) { return {.prefer_instruction = instruction}; }

// A through a shared tile to B, mirrored between them if asked for.
Subject through(std::string name, std::vector<std::int64_t> shape, std::vector<std::int64_t> tile,
                cuda::CopyOptions options, bool change = false, std::string method = {},
                DType dtype = float16, std::string target = "emulator -arch=sm_90a") {
  Function f = function("copy", [&] {
    Buffer a = tensor("A", {shape[0], shape[1]}, dtype);
    Buffer b = tensor("B", {shape[0], shape[1]}, dtype);
    auto [bx, by] =
        kernel({ceildiv(shape[1], tile[1]), ceildiv(shape[0], tile[0])}, {.threads = 64});
    Buffer t = alloc_shared({tile[0], tile[1]}, dtype);
    cuda::copy(a(by * tile[0], bx * tile[1]), t, options);
    if (!change) {
      cuda::copy(t, b(by * tile[0], bx * tile[1]), options);
      return;
    }
    // Every element, zeros from beyond the edge as well, is another thread's then.
    Buffer u = alloc_shared({tile[0], tile[1]}, dtype);
    parallel({tile[0], tile[1]},
             [&](Var i, Var j) { u(i, j) = t(tile[0] - 1 - i, tile[1] - 1 - j); });
    cuda::copy(u, b(by * tile[0], bx * tile[1]), options);
  });
  return {std::move(name),  f, {{shape, dtype}}, {shape, dtype}, std::move(target),
          std::move(method)};
}

Subject in_a_loop(std::string name, cuda::CopyOptions options) {
  Function f = function("loop", [&] {
    Buffer a = tensor("A", {128, 64}, float16);
    Buffer b = tensor("B", {128, 64}, float16);
    kernel({1}, {.threads = 64});
    Buffer t = alloc_shared({32, 64}, float16);
    serial(4, [&](Var k) {
      cuda::copy(a(k * 32, 0), t, options);
      parallel({32, 64}, [&](Var i, Var j) { t(i, j) = t(i, j) + t(i, j); });
      cuda::copy(t, b(k * 32, 0), options);
    });
  });
  return {std::move(name), f, {{{128, 64}, float16}}, {{128, 64}, float16}};
}

Subject two_loads() {
  Function f = function("two_loads", [&] {
    Buffer a = tensor("A", {64, 64}, float32), b = tensor("B", {64, 64}, float32);
    Buffer c = tensor("C", {64, 64}, float32);
    auto [bx] = kernel({2}, {.threads = 64});
    Buffer s = alloc_shared({32, 64}, float32), t = alloc_shared({32, 64}, float32);
    Buffer u = alloc_shared({32, 64}, float32);
    cuda::copy(a(bx * 32, 0), s, by("tma"));
    cuda::copy(b(bx * 32, 0), t, by("tma"));
    parallel({32, 64}, [&](Var i, Var j) { u(i, j) = s(i, j) + t(i, j); });
    cuda::copy(u, c(bx * 32, 0), by("tma"));
  });
  return {"two loads before one use",
          f,
          {{{64, 64}, float32}, {{64, 64}, float32}},
          {{64, 64}, float32}};
}

Subject matrices() {
  Fragment mma({32, 16},
               Layout(IntTuple{IntTuple{8, 2, 2}, IntTuple{2, 4, 2}},
                      IntTuple{IntTuple{4, 0, 32}, IntTuple{0, 1, 0}}),
               Layout(IntTuple{IntTuple{8, 2, 2}, IntTuple{2, 4, 2}},
                      IntTuple{IntTuple{0, 2, 0}, IntTuple{1, 0, 4}}));
  Function f = function("matrices", [&] {
    Buffer a = tensor("A", {64, 16}, float16), b = tensor("B", {64, 16}, float16);
    auto [bx] = kernel({2}, {.threads = 64});
    Buffer s = alloc_shared({32, 16}, float16), t = alloc_shared({32, 32}, float16);
    Buffer held = alloc_fragment({32, 16}, float16);
    annotate_layout(held, mma);
    cuda::copy(a(bx * 32, 0), s, by("sync"));
    copy(s, held);
    copy(held, t(range(0, 32), range(8, 24)));
    cuda::copy(t(range(0, 32), range(8, 24)), b(bx * 32, 0), by("sync"));
  });
  return {"ldmatrix and stmatrix", f, {{{64, 16}, float16}}, {{64, 16}, float16}};
}

Subject transposed() {
  Function f = function("transposed", [&] {
    Buffer a = tensor("A", {64, 64}, float16), b = tensor("B", {64, 64}, float16);
    auto [bx] = kernel({2}, {.threads = 64});
    Buffer s = alloc_shared({32, 64}, float16), t = alloc_shared({64, 32}, float16);
    cuda::copy(a(bx * 32, 0), s, by("tma"));
    transpose(s, t);
    cuda::copy(t, b(0, bx * 32), by("tma"));
  });
  return {"transpose", f, {{{64, 64}, float16}}, {{64, 64}, float16}};
}

Subject windows(std::string name, std::int64_t channels, std::string target) {
  Function f = function("im2col", [&] {
    Buffer img = tensor("img", {2, 6, 7, channels}, float16);
    Buffer out = tensor("col", {84, 9 * channels}, float16);
    auto [bx, by] = kernel({ceildiv(9 * channels, 64), ceildiv(84, 32)}, {.threads = 64});
    Buffer t = alloc_shared({32, 64}, float16), u = alloc_shared({32, 64}, float16);
    cuda::im2col(img, t, by, bx, 3, 1, 1, 1);
    parallel({32, 64}, [&](Var i, Var j) { u(i, j) = t(31 - i, 63 - j); });
    cuda::copy(u, out(by * 32, bx * 64), cuda::CopyOptions{.prefer_instruction = "sync"});
  });
  return {std::move(name),
          f,
          {{{2, 6, 7, channels}, float16}},
          {{84, 9 * channels}, float16},
          std::move(target)};
}

std::vector<Subject> subjects() {
  return {through("tma", {64, 128}, {32, 64}, by("tma"), false, "tma"),
          through("tma, mirrored", {64, 128}, {32, 64}, by("tma"), true, "tma"),
          through("bulk", {64, 128}, {32, 128}, by("tma"), true, "bulk"),
          through("bulk by rows", {16, 4096}, {8, 2048}, by("tma"), false, "bulk"),
          through("cp_async", {64, 128}, {32, 64}, by("cp_async"), true),
          through("cp_async on sm_80", {60, 120}, {32, 64}, by("cp_async"), true, {}, float16,
                  "emulator -arch=sm_80"),
          through("ragged cp_async", {60, 120}, {32, 64}, by("cp_async")),
          through("simt", {60, 100}, {32, 64}, by("sync"), true, {}, float32),
          in_a_loop("tma in a loop", by("tma")),
          in_a_loop("cp_async in a loop", by("cp_async")),
          two_loads(),
          matrices(),
          transposed(),
          windows("im2col by the TMA unit", 64, "emulator -arch=sm_90a"),
          windows("im2col by gathers", 8, "emulator -arch=sm_80")};
}

class Judge {
 public:
  explicit Judge(const Subject& subject) : subject_(subject) {
    passage_.tile = subject.function.shared();
    lower_through(passage_, target::parse_target(subject.target), {}, {.method = subject.method});
    std::uint64_t seed = 1;
    for (const auto& [shape, dtype] : subject.inputs) {
      inputs_.emplace_back(shape, dtype).fill_random(seed++);
    }
    wanted_ = Tensor(subject.output.first, subject.output.second);
    std::vector<Argument> arguments(inputs_.begin(), inputs_.end());
    arguments.emplace_back(wanted_);
    compile(subject.function, "cpu", {.opt_level = 0}).run(arguments);
  }

  const ir::Kernel& kernel() const { return passage_.lowered(); }

  struct Outcome {
    EmulatorReport report;
    bool right = false;
    std::string error;
    bool found() const { return !report.clean() || !right || !error.empty(); }
  };

  Outcome run(const ir::Kernel& kernel) const {
    Outcome outcome;
    try {
      lower::SimtKernel lowered = passage_.variants.front()->lowered;
      lowered.kernel = kernel;
      run::LaunchPlan plan = lower::plan_launch(*passage_.tile, {});
      lower::add_variant(plan, *passage_.tile, lowered, {});
      const EmulatedKernel emulated({assemble(lowered)}, plan);
      Tensor output(subject_.output.first, subject_.output.second);
      std::vector<Argument> arguments(inputs_.begin(), inputs_.end());
      arguments.emplace_back(output);
      outcome.report = emulated.run(arguments, {.schedules = 3});
      outcome.right =
          std::memcmp(output.data(), wanted_.data(), static_cast<std::size_t>(output.bytes())) == 0;
    } catch (const Error& error) {
      outcome.error = error.what();
    }
    return outcome;
  }

 private:
  const Subject& subject_;
  Passage passage_;
  std::vector<Tensor> inputs_;
  Tensor wanted_;
};

bool names(const EmulatorReport& report, Location where) {
  return std::any_of(report.verdicts.begin(), report.verdicts.end(), [&](const Verdict& verdict) {
    return verdict.where.line == where.line || verdict.other_where.line == where.line;
  });
}

TEST(Mutation, DamageIsFoundAndUndamagedKernelsAreClean) {
  int total = 0, by_verdict = 0, named = 0;
  std::map<std::string, int> survivors, elsewhere;
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    const Judge judge(subject);
    const Judge::Outcome whole = judge.run(judge.kernel());
    EXPECT_TRUE(whole.report.clean() && whole.right) << whole.report.text() << whole.error;
    for (const Mutant& mutant : test::mutants_of(judge.kernel())) {
      ++total;
      const Judge::Outcome outcome = judge.run(mutant.kernel);
      by_verdict += !outcome.report.clean() || !outcome.error.empty();
      const bool names_line = names(outcome.report, mutant.where);
      named += names_line;
      if (!outcome.report.clean() && !names_line) ++elsewhere[mutant.kind];
      if (!outcome.report.clean() && std::getenv("TILECOPY_TEST_VERBOSE")) {
        std::cout << subject.name << ": " << mutant.kind << ": " << mutant.statement << "\n"
                  << outcome.report.text();
      }
      if (!outcome.found()) {
        ++survivors[mutant.kind];
        std::cout << subject.name << ": " << mutant.kind << ": " << mutant.statement << std::endl;
      }
    }
  }
  std::cout << total << " mutants, " << by_verdict << " found by a verdict, " << named
            << " at the user's line" << std::endl;
  for (const auto& [kind, number] : elsewhere) {
    std::cout << "at another line: " << kind << ", " << number << std::endl;
  }
  EXPECT_TRUE(survivors.empty());
  // A verdict can only fall elsewhere when the damaged line is gone, or does less than it should.
  for (const auto& [kind, number] : elsewhere) {
    const bool missing = kind.starts_with("drop") || kind.starts_with("swap") ||
                         kind == "no thread" || kind == "keep one group more";
    EXPECT_TRUE(missing) << kind;
  }
}

}  // namespace
}  // namespace tilecopy::emulator
