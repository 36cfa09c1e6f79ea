// The text form: fixed spellings, round trips, and text that is not a layout.
#include "layout/support.h"

namespace tilecopy {
namespace {

using test::error_code;
using test::pick;

TEST(LayoutText, Spelling) {
  EXPECT_EQ(to_string(IntTuple()), "()");
  EXPECT_EQ(to_string(IntTuple({4, {2, -8}, {1}})), "(4,(2,-8),(1))");
  EXPECT_EQ(to_string(Layout({4, {2, 8}}, {8, {1, 64}})), "(4,(2,8)):(8,(1,64))");
  EXPECT_EQ(to_string(Layout(4, 1)), "4:1");
  EXPECT_EQ(to_string(TileLayout(row_major({64, 64}), Swizzle{3, 4, 3})),
            "swizzle<3,4,3> o (64,64):(64,1)");
  EXPECT_EQ(to_string(TileLayout(row_major({64, 64}))), "(64,64):(64,1)");
  EXPECT_EQ(to_string(Fragment({8, 4}, row_major({8, 4}), Layout({8, 4}, {0, 0}))),
            "fragment(shape=(8,4), thread=(8,4):(4,1), reg=(8,4):(0,0))");
}

TEST(LayoutText, SpacesBetweenWords) {
  EXPECT_EQ(parse_layout(" ( 4 , (2,\t8) ) :\n(8,( 1,64)) "), Layout({4, {2, 8}}, {8, {1, 64}}));
  EXPECT_EQ(parse_tile_layout("swizzle < 3 , 4 , 3 > o 8:1"),
            TileLayout(Layout(8, 1), Swizzle{3, 4, 3}));
  EXPECT_EQ(parse_fragment("fragment ( shape = (8) , thread = (8):(1) , reg = 8:0 )"),
            Fragment({8}, Layout({8}, {1}), Layout(8, 0)));
}

TEST(LayoutText, RoundTripOfExtremes) {
  for (const IntTuple& tuple :
       {IntTuple(INT64_MIN), IntTuple(INT64_MAX), IntTuple(), IntTuple{IntTuple()}}) {
    EXPECT_EQ(parse_int_tuple(to_string(tuple)), tuple);
  }
  EXPECT_EQ(parse_layout(to_string(Layout())), Layout());
  EXPECT_EQ(parse_fragment(to_string(Fragment())), Fragment());
}

TEST(LayoutText, RoundTripOfRandomLayouts) {
  EXPECT_TRUE(rc::check([] {
    Layout layout = test::any_layout();
    RC_ASSERT(parse_layout(to_string(layout)) == layout);
    RC_ASSERT(parse_int_tuple(to_string(layout.shape())) == layout.shape());

    int bits = static_cast<int>(pick(0, 4));
    TileLayout tile(test::tidy_layout(true, true),
                    Swizzle(bits, static_cast<int>(pick(0, 9)), static_cast<int>(-pick(bits, 9))));
    RC_ASSERT(parse_tile_layout(to_string(tile)) == tile);
    TileLayout plain(tile.layout());
    RC_ASSERT(parse_tile_layout(to_string(plain)) == plain);

    Layout thread = test::tidy_layout(true, true);
    Fragment fragment(TileLayout(thread).shape(), thread, coalesce_modes(thread));
    RC_ASSERT(parse_fragment(to_string(fragment)) == fragment);
  }));
}

TEST(LayoutText, OtherTextIsAnError) {
  for (const char* text :
       {"", "4", "4:", ":4", "(4:1", "4:1)", "(4,):(1,)", "(,4):(1,1)", "4:1 x", "4;1", "a:b",
        "99999999999999999999:1", "(4,2):(1,2", "4:1:1", "+4:1", "- 4:1", "4.0:1"}) {
    EXPECT_EQ(error_code([&] { parse_layout(text); }), "E0426") << text;
  }
  for (const char* text : {"swizzle<3,4> o 8:1", "swizzle<3,4,3> 8:1", "swizzle<3,4,3 o 8:1",
                           "swizzle<3,4,99999999999> o 8:1", "swizzle", "swizzle<3,4,3> o"}) {
    EXPECT_EQ(error_code([&] { parse_tile_layout(text); }), "E0426") << text;
  }
  for (const char* text :
       {"fragment", "fragment()", "fragment(shape=8, thread=8:1, reg=8:0)",
        "fragment(shape=((8)), thread=8:1, reg=8:0)", "fragment(shape=(8), thread=8:1)",
        "fragment(shape=(8), thread=8:1, reg=8:0", "fragment(shape=(8), reg=8:0, thread=8:1)"}) {
    EXPECT_EQ(error_code([&] { parse_fragment(text); }), "E0426") << text;
  }
}

TEST(LayoutText, NumbersThatMakeNoLayoutRaiseItsErrors) {
  EXPECT_EQ(error_code([] { parse_layout("(4,2):(1,(2))"); }), "E0424");
  EXPECT_EQ(error_code([] { parse_layout("0:1"); }), "E0424");
  EXPECT_EQ(error_code([] { parse_layout("3:9223372036854775807"); }), "E0410");
  EXPECT_EQ(error_code([] { parse_tile_layout("swizzle<3,4,2> o 8:1"); }), "E0425");
  EXPECT_EQ(error_code([] { parse_fragment("fragment(shape=(8), thread=4:1, reg=8:0)"); }),
            "E0424");
}

TEST(LayoutText, DeepNestingIsAnErrorNotACrash) {
  std::string deep(1000000, '(');
  EXPECT_EQ(error_code([&] { parse_layout(deep); }), "E0426");
  std::string limit(IntTuple::max_depth, '(');
  limit += "4" + std::string(IntTuple::max_depth, ')');
  EXPECT_EQ(depth(parse_int_tuple(limit)), IntTuple::max_depth);
  EXPECT_EQ(error_code([&] { parse_int_tuple("(" + limit + ")"); }), "E0426");
}

TEST(LayoutText, ErrorsNameTheTextAndTheGivenPlace) {
  try {
    parse_layout("(4,x):(1,2)", Location("kernel.tc", 7, 3));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.report().needed, "an integer");
    EXPECT_EQ(error.report().found, "'x):(1,2)'");
    EXPECT_STREQ(error.where().file, "kernel.tc");
    EXPECT_EQ(error.where().line, 7);
  }
}

TEST(LayoutText, RandomBytesNeverCrash) {
  EXPECT_TRUE(rc::check([] {
    std::string text = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("(),:0123456789- swizzle<>ofragment(shape=")));
    std::string code = error_code([&] { parse_tile_layout(text); });
    RC_ASSERT(code == "none" || code.substr(0, 3) == "E04");
  }));
}

}  // namespace
}  // namespace tilecopy
