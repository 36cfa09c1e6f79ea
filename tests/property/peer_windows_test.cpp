// Kinds of failure that other compilers were reported for: im2col, and what has to be an error or a
// reason. Runs on what TILECOPY_TEST_TARGET names.
#include <gtest/gtest.h>

#include "property/check.h"
#include "tilecopy/error.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy::peer_kinds {
namespace {

const cuda::CopyOptions tma = {.prefer_instruction = "tma"};

CompiledKernel built(const Function& f) {
  return property::compile_batch(std::span(&f, 1), 1).front();
}

struct Window {
  const char* name;
  std::int64_t n, h, w, c;
  HeightWidth kernel, stride = 1, dilation = 1, pad = 0;
};

void PrintTo(const Window& window, std::ostream* out) { *out << window.name; }

class Windows : public testing::TestWithParam<Window> {};

// Output width unlike the input's, strides and padding that differ by direction, 1x1 windows with a
// stride, even kernels, channels wider than a swizzle (BR-103 to BR-106, BR-110, BR-113, BR-114).
TEST_P(Windows, OfIm2col) {
  const Window& p = GetParam();
  auto outputs = [](std::int64_t size, int kernel, int stride, int dilation, int pad) {
    return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  };
  const std::int64_t oh = outputs(p.h, static_cast<int>(p.kernel.h), static_cast<int>(p.stride.h),
                                  static_cast<int>(p.dilation.h), static_cast<int>(p.pad.h));
  const std::int64_t ow = outputs(p.w, static_cast<int>(p.kernel.w), static_cast<int>(p.stride.w),
                                  static_cast<int>(p.dilation.w), static_cast<int>(p.pad.w));
  const std::int64_t rows = p.n * oh * ow, columns = p.kernel.h * p.kernel.w * p.c;
  const Function f = function("windows", [&] {
    Buffer img = tensor("img", {p.n, p.h, p.w, p.c}, float16);
    Buffer col = tensor("col", {rows, columns}, float16);
    auto [bx, by] = kernel({ceildiv(columns, 64), ceildiv(rows, 32)}, {.threads = 128});
    Buffer tile = alloc_shared({32, 64}, float16);
    cuda::im2col(img, tile, by, bx, p.kernel, p.stride, p.dilation, p.pad);
    cuda::copy(tile, col(by * 32, bx * 64));
  });
  Tensor img({p.n, p.h, p.w, p.c}, float16), col({rows, columns}, float16);
  img.fill_random(9);
  const CompiledKernel kernel = built(f);
  kernel(img, col);
  const auto from = img.elements<std::uint16_t>();
  const auto to = col.elements<std::uint16_t>();
  for (std::int64_t m = 0; m < rows; ++m) {
    const std::int64_t n = m / (oh * ow), y = m / ow % oh, x = m % ow;
    for (std::int64_t k = 0; k < columns; ++k) {
      const std::int64_t c = k % p.c, kw = k / p.c % p.kernel.w, kh = k / p.c / p.kernel.w;
      const std::int64_t ih = y * p.stride.h + kh * p.dilation.h - p.pad.h;
      const std::int64_t iw = x * p.stride.w + kw * p.dilation.w - p.pad.w;
      const bool inside = ih >= 0 && ih < p.h && iw >= 0 && iw < p.w;
      const std::uint16_t want =
          inside ? from[static_cast<std::size_t>(((n * p.h + ih) * p.w + iw) * p.c + c)]
                 : std::uint16_t{0};
      ASSERT_EQ(to[static_cast<std::size_t>(m * columns + k)], want) << m << ", " << k << "\n"
                                                                     << kernel.explain();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    PeerKinds, Windows,
    testing::Values(Window{"no padding, so another width", 2, 9, 11, 64, 3},
                    Window{"stride 2", 2, 9, 11, 64, 3, 2, 1, 1},
                    Window{"strides by direction", 1, 12, 10, 64, 3, {2, 1}, 1, 1},
                    Window{"padding by direction", 1, 8, 10, 64, {5, 1}, 1, 1, {2, 0}},
                    Window{"1x1 with a stride", 2, 8, 8, 64, 1, 2},
                    Window{"1x1 with padding", 1, 6, 7, 64, 1, 1, 1, 1},
                    Window{"an even kernel", 1, 8, 9, 64, 2, 1, 1, 1},
                    Window{"dilation", 1, 11, 12, 64, 3, 1, {2, 3}, 2},
                    Window{"128 channels", 1, 6, 6, 128, 3, 1, 1, 1},
                    Window{"320 channels", 1, 4, 5, 320, 3, 1, 1, 1},
                    Window{"3 channels", 1, 8, 9, 3, 3, 1, 1, 1},
                    Window{"5 channels, ragged", 3, 7, 5, 5, {2, 3}, 1, 1, {1, 0}}));

// ---- What has to be an error, or a reason ----

std::string code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

// BR-088, BR-090.
TEST(PeerReasons, RanksThatDoNotMatchAreNamed) {
  EXPECT_EQ(code_of([] {
              function("f", [] {
                Buffer a = tensor("A", {4, 32, 64}, float16);
                kernel({1});
                copy(a, alloc_shared({32, 64}, float16));
              });
            }),
            "E0101");
  const Function f = function("f", [] {
    Buffer a = tensor("A", {128}, float32), b = tensor("B", {128}, float32);
    kernel({1}, {.threads = 32});
    copy(a, b);
  });
  std::vector<float> a(128), b(128);
  EXPECT_EQ(code_of([&] { built(f)(TensorView(a, {1, 128}), TensorView(b, {128})); }), "E0703");
}

std::vector<CopyPlan> plans_of(const Function& f, const char* target) {
  return compile(f, target, {.use_cache = false}).plans();
}

// BR-008, BR-052, BR-053, BR-064, BR-067, BR-068: the way that was taken is said, with the reason.
TEST(PeerReasons, TheWayTakenIsSaid) {
  const Function f = function("f", [] {
    Buffer a = tensor("A", {64, 1001}, float16), b = tensor("B", {64, 1024}, float16);
    auto [bx] = kernel({16}, {.threads = 128});
    Buffer s = alloc_shared({64, 64}, float16), t = alloc_shared({64, 64}, float16);
    cuda::copy(a(0, bx * 64), s, tma);
    cuda::copy(b(0, bx * 64), t, {.disable_tma = true});
    cuda::copy(t, b(0, bx * 64), tma);
  });
  const std::vector<CopyPlan> plans = plans_of(f, "cuda -arch=sm_90a");
  EXPECT_NE(plans[0].method, "tma");
  ASSERT_EQ(plans[0].missed.size(), 1u);
  EXPECT_NE(plans[0].missed[0].find("tma.outer_stride"), std::string::npos) << plans[0].missed[0];
  EXPECT_EQ(plans[1].method, "cp_async");
  EXPECT_EQ(plans[2].method, "tma");
  const std::vector<CopyPlan> older = plans_of(f, "cuda -arch=sm_80");
  EXPECT_EQ(older[2].method, "simt");
  EXPECT_NE(older[2].missed.at(0).find("tma.arch"), std::string::npos);
}

// BR-071 to BR-075: priorities reach loads and stores of every way, on every architecture.
TEST(PeerReasons, EvictionPoliciesReachLoadsAndStores) {
  for (const char* arch : {"cuda -arch=sm_80", "cuda -arch=sm_90a", "cuda -arch=sm_100a"}) {
    for (const char* instruction : {"tma", "cp_async", "sync"}) {
      const Function f = function("f", [&] {
        Buffer a = tensor("A", {64, 64}, float16), b = tensor("B", {64, 64}, float16);
        kernel({1}, {.threads = 128});
        Buffer s = alloc_shared({64, 64}, float16);
        const cuda::CopyOptions options = {.eviction_policy = "evict_first",
                                           .prefer_instruction = instruction};
        cuda::copy(a, s, options);
        cuda::copy(s, b, options);
      });
      const CompiledKernel kernel = compile(f, arch, {.use_cache = false});
      const std::string& source = kernel.source();
      std::size_t policies = 0;
      for (std::size_t at = source.find("0x12f0000000000000"); at != source.npos;
           at = source.find("0x12f0000000000000", at + 1)) {
        ++policies;
      }
      EXPECT_GE(policies, 2u) << arch << " " << instruction << "\n" << kernel.explain();
    }
  }
}

}  // namespace
}  // namespace tilecopy::peer_kinds
