// Where C++ meets the language and the machine: large unsigned numbers, names that C owns, handles,
// and launches after fork().
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>

#include "tilecopy/tilecopy.h"

namespace tc = tilecopy;

namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

TEST(Boundary, LargeUnsignedNumbersKeepTheirValue) {
  tc::Function f = tc::function("f", [] {
    auto a = tc::tensor("A", {1}, tc::float64);
    auto b = tc::tensor("B", {1}, tc::uint64);
    tc::kernel({1});
    a(0) = largest;
    b(0) = largest;
  });
  tc::Tensor a({1}, tc::float64), b({1}, tc::uint64);
  tc::compile(f, "cpu")(a, b);
  EXPECT_EQ(a.at<double>(0), 18446744073709551616.0);
  EXPECT_EQ(b.at<std::uint64_t>(0), largest);
  EXPECT_THROW(tc::Var("x", tc::int64) < largest, tc::UserError);
}

TEST(Boundary, ScalarsThatDoNotFitAreRefused) {
  auto launch = [](tc::DType dtype, auto value) {
    tc::CompiledKernel kernel = tc::compile(tc::function("f",
                                                         [&] {
                                                           auto b = tc::tensor("B", {1}, dtype);
                                                           auto s = tc::scalar("s", dtype);
                                                           tc::kernel({1});
                                                           b(0) = s;
                                                         }),
                                            "cpu");
    tc::Tensor b({1}, dtype);
    kernel(b, value);
  };
  EXPECT_THROW(launch(tc::int32, largest), tc::UserError);
  EXPECT_THROW(launch(tc::int64, std::uint64_t{1} << 63), tc::UserError);
  EXPECT_THROW(launch(tc::uint64, -1), tc::UserError);
  EXPECT_THROW(launch(tc::uint8, 256), tc::UserError);
  EXPECT_THROW(launch(tc::float32, 1e50), tc::UserError);
  EXPECT_THROW(launch(tc::int32, 0.5), tc::UserError);
  EXPECT_NO_THROW(launch(tc::uint64, largest));
  EXPECT_NO_THROW(launch(tc::float32, std::numeric_limits<double>::infinity()));
  EXPECT_NO_THROW(launch(tc::float32, 0.1));
  EXPECT_NO_THROW(launch(tc::int8, -128));
}

TEST(Boundary, NamesThatCOwnAreLegal) {
  const char* const names[] = {"NAN",      "INFINITY",     "NULL",    "INT64_MAX", "HUGE_VAL",
                               "sqrtf",    "TC_THREAD",    "tc_copy", "_Bool",     "__restrict",
                               "int64_t",  "__func__",     "int",     "tensors",   "main",
                               "omp_lock", "tc_index_min", "linux",   "unix",      "user_NAN"};
  std::vector<tc::Function> functions;
  for (const char* name : names) {
    functions.push_back(tc::function("f", [&] {
      tc::Var n = tc::symbol(name);
      auto a = tc::tensor("a", {n}, tc::float32);
      auto b = tc::tensor("b", {n}, tc::float32);
      auto [bx] = tc::kernel({n});
      b(bx) = tc::sqrt(a(bx));
    }));
    functions.push_back(tc::function("g", [&] {
      auto a = tc::tensor(name, {4}, tc::float32);
      auto b = tc::tensor("b", {4}, tc::float32);
      auto [bx] = tc::kernel({4});
      b(bx) = tc::sqrt(a(bx));
    }));
  }
  for (const tc::CompiledKernel& kernel : tc::compile(functions, "cpu")) {
    tc::Tensor a({4}, tc::float32), b({4}, tc::float32);
    a.at<float>(3) = 9;
    kernel(a, b);
    EXPECT_EQ(b.at<float>(3), 3);
  }
}

TEST(Boundary, FileNamesStayInsideComments) {
  tc::Function f = tc::parse(
      "function f(A: float32[4]) {\n  kernel (bx: 4) threads 1 {\n    A[bx] = 1.0\n  }\n}\n",
      "a\n#error injected\\");
  EXPECT_NO_THROW(tc::compile(f, "cpu"));
}

TEST(Boundary, HandlesBelongToTheirFunction) {
  tc::CopyHandle mine;
  auto write = [&](tc::CopyHandle& handle) {
    return tc::function("f", [&] {
      auto a = tc::tensor("A", {4}, tc::float32);
      auto b = tc::tensor("B", {4}, tc::float32);
      tc::kernel({1});
      handle = tc::copy(a, b);
    });
  };
  tc::CopyHandle other;
  tc::CompiledKernel kernel = tc::compile(write(mine), "cpu");
  write(other);
  EXPECT_EQ(kernel.plan(mine).operation, "copy A -> B");
  EXPECT_THROW(kernel.plan(other), tc::UserError);
}

TEST(Boundary, AForkedChildCanLaunch) {
  tc::CompiledKernel kernel = tc::compile(tc::function("f",
                                                       [] {
                                                         auto a = tc::tensor("A", {64}, tc::int32);
                                                         auto [bx] = tc::kernel({64});
                                                         a(bx) = tc::cast(bx, tc::int32);
                                                       }),
                                          "cpu");
  tc::Tensor a({64}, tc::int32);
  kernel.run({a}, {.threads = 4});
  pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that hangs dies of this
    tc::Tensor b({64}, tc::int32);
    kernel.run({b}, {.threads = 4});
    _exit(b.at<std::int32_t>(63) == 63 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Boundary, AFunctionNeedsABody) {
  EXPECT_THROW(tc::function("f", std::function<void()>{}), tc::UserError);
}

}  // namespace
