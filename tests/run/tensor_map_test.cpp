// Encoding tensor maps: the arguments that the driver gets, and the rule that a refusal names.
#include "run/tensor_map.h"

#include "base/diagnostic.h"
#include "run/fake_driver.h"
#include "run/testing.h"

namespace tilecopy::run {
namespace {

using testing_tools::ScopedEnv;

struct Case {
  std::string name;
  std::string needed;
  std::function<void(BoundMap&, TensorMapRecipe&)> break_it;
};

TensorMapRecipe tiled_recipe() {
  TensorMapRecipe recipe;
  recipe.name = "A_map";
  recipe.box = {64, 8};
  recipe.element_strides = {1, 1};
  recipe.swizzle_bytes = 128;
  recipe.l2_promotion_bytes = 256;
  return recipe;
}

BoundMap tiled_map(const TensorMapRecipe& recipe) {
  return {&recipe, float16, 0x10000, {64, 100}, {128}};
}

TensorMapRecipe im2col_recipe() {
  TensorMapRecipe recipe;
  recipe.name = "img_map";
  recipe.im2col = true;
  recipe.box = {64, 128};
  recipe.element_strides = {1, 2, 2, 1};
  recipe.lower = {-1, -2};
  recipe.upper = {-3, -4};
  recipe.swizzle_bytes = 64;
  return recipe;
}

BoundMap im2col_map(const TensorMapRecipe& recipe) {
  return {&recipe, int8, 0x10000, {64, 14, 15, 2}, {64, 896, 13440}};
}

TEST(TensorMap, TiledArguments) {
  FakeDriver fake;
  TensorMapRecipe recipe = tiled_recipe();
  encode(tiled_map(recipe), fake.driver());
  const fake_cuda::Encoding& e = FakeDriver::record().encodings.at(0);
  EXPECT_FALSE(e.im2col);
  EXPECT_EQ(e.dtype, 1);  // 16 bits without a sign
  EXPECT_EQ(e.address, reinterpret_cast<void*>(0x10000));
  EXPECT_EQ(e.dims, (std::vector<std::uint64_t>{64, 100}));
  EXPECT_EQ(e.strides, (std::vector<std::uint64_t>{128}));
  EXPECT_EQ(e.box, (std::vector<std::uint32_t>{64, 8}));
  EXPECT_EQ(e.element_strides, (std::vector<std::uint32_t>{1, 1}));
  EXPECT_EQ(e.swizzle, 3);
  EXPECT_EQ(e.l2_promotion, 3);
}

TEST(TensorMap, Im2colArguments) {
  FakeDriver fake;
  TensorMapRecipe recipe = im2col_recipe();
  encode(im2col_map(recipe), fake.driver());
  const fake_cuda::Encoding& e = FakeDriver::record().encodings.at(0);
  EXPECT_TRUE(e.im2col);
  EXPECT_EQ(e.dtype, 0);
  EXPECT_EQ(e.box, (std::vector<std::uint32_t>{64, 128}));
  EXPECT_EQ(e.element_strides, (std::vector<std::uint32_t>{1, 2, 2, 1}));
  EXPECT_EQ(e.lower, (std::vector<int>{-1, -2}));
  EXPECT_EQ(e.upper, (std::vector<int>{-3, -4}));
  EXPECT_EQ(e.swizzle, 2);
}

// The driver's message, when it refuses a map that breaks one rule.
void expect_rule(const Case& broken, TensorMapRecipe recipe, BoundMap map) {
  SCOPED_TRACE(broken.name);
  map.recipe = &recipe;
  broken.break_it(map, recipe);
  FakeDriver fake;
  FakeDriver::record().results = {{"cuTensorMapEncodeTiled", 1}, {"cuTensorMapEncodeIm2col", 1}};
  try {
    encode(map, fake.driver());
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "E0807");
    EXPECT_EQ(error.report().needed, broken.needed);
    EXPECT_NE(error.report().found.find(recipe.name), std::string::npos) << error.report().found;
    EXPECT_NE(error.report().found.find("CUDA_ERROR_FAKE"), std::string::npos);
  }
}

TEST(TensorMap, NamesTheBrokenRule) {
  const std::string sixteen = "strides that are multiples of 16 bytes, below 2^40";
  const std::vector<Case> cases = {
      {"none", "arguments that this driver accepts", [](auto&, auto&) {}},
      {"address", "an address that is a multiple of 16", [](auto& m, auto&) { m.address += 8; }},
      {"rank", "1 to 5 dimensions",
       [](auto& m, auto& r) {
         m.dims.resize(6, 1);
         m.strides.resize(5, 128);
         r.box.resize(6, 1);
         r.element_strides.resize(6, 1);
       }},
      {"dims", "dimensions from 1 to 2^32", [](auto& m, auto&) { m.dims[1] = 5000000000; }},
      {"strides", sixteen, [](auto& m, auto&) { m.strides[0] = 136; }},
      {"large_strides", sixteen, [](auto& m, auto&) { m.strides[0] = std::uint64_t{1} << 40; }},
      {"steps", "element strides from 1 to 8", [](auto&, auto& r) { r.element_strides[1] = 9; }},
      {"row", "an inner box of a multiple of 16 bytes", [](auto&, auto& r) { r.box[0] = 4; }},
      {"span", "an inner box within the swizzle's span", [](auto&, auto& r) { r.box[0] = 72; }},
      {"box", "box extents from 1 to 256", [](auto&, auto& r) { r.box[1] = 257; }},
  };
  TensorMapRecipe recipe = tiled_recipe();
  for (const Case& broken : cases) expect_rule(broken, recipe, tiled_map(recipe));
}

TEST(TensorMap, NamesTheBrokenRuleOfIm2col) {
  const std::string box = "1 to 256 channels and 1 to 1024 pixels";
  const std::vector<Case> cases = {
      {"none", "arguments that this driver accepts", [](auto&, auto&) {}},
      {"rank", "3 to 5 dimensions",
       [](auto& m, auto&) {
         m.dims.resize(2);
         m.strides.resize(1);
       }},
      {"pixels", box, [](auto&, auto& r) { r.box[1] = 1025; }},
      {"channels", box,
       [](auto&, auto& r) {
         r.swizzle_bytes = 0;
         r.box[0] = 272;
       }},
      {"lower", "corners from -128 to 127", [](auto&, auto& r) { r.lower[1] = -129; }},
      {"upper", "corners from -128 to 127", [](auto&, auto& r) { r.upper[0] = 128; }},
  };
  TensorMapRecipe recipe = im2col_recipe();
  for (const Case& broken : cases) expect_rule(broken, recipe, im2col_map(recipe));
}

TEST(TensorMap, ClearsABitForSmallTensorsOfOldDrivers) {
  constexpr std::uint64_t bit = std::uint64_t{1} << 21;
  TensorMapRecipe recipe = tiled_recipe();
  for (const char* version : {"12040", "13010", "13020"}) {
    ScopedEnv driver_version("FAKE_CUDA_VERSION", version);
    FakeDriver fake;
    for (std::uint64_t rows : {1u, 1023u, 1024u, 5000u}) {
      BoundMap map = tiled_map(recipe);
      map.dims[1] = rows;  // of 128 bytes
      bool cleared = (encode(map, fake.driver()).words[1] & bit) == 0;
      EXPECT_EQ(cleared, rows < 1024 && fake.driver().version <= 13010) << version << " " << rows;
    }
  }
}

}  // namespace
}  // namespace tilecopy::run
