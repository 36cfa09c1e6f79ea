#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/os.h"
#include "run/npy_header.h"
#include "run/testing.h"
#include "tilecopy/tensor.h"

namespace tilecopy {
namespace {

namespace fs = std::filesystem;
using testing_tools::code_of;
using testing_tools::TestDirectory;
using Shape = std::vector<std::int64_t>;

// A file as NumPy writes it, with a header that need not be right.
std::string npy_file(const std::string& header, const std::string& elements, int version = 1) {
  std::string length;
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    length += static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + length + header + elements;
}

std::string dictionary(const std::string& descr, const std::string& shape,
                       const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 ||
          std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0);
}

bool numpy_lacks(DType dtype) {
  return dtype == bfloat16 || dtype == float8_e4m3fn || dtype == float8_e5m2;
}

class NpyTest : public testing::Test {
 protected:
  std::string path(const std::string& name = "a.npy") const {
    return (directory_.path() / name).string();
  }
  Tensor load(const std::string& content) const {
    os::write_file(path(), content);
    return load_npy(path());
  }
  std::string load_code(const std::string& content) const {
    return code_of([&] { load(content); });
  }

  TestDirectory directory_;
};

TEST_F(NpyTest, WritesWhatNumPyWrites) {
  Tensor tensor({2, 3}, float16);
  tensor.elements<std::uint16_t>()[1] = 0x3c00;
  save_npy(path(), tensor);
  const std::string header =
      "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }" + std::string(58, ' ') + "\n";
  ASSERT_EQ(header.size(), 118u);
  EXPECT_EQ(os::read_file(path()),
            npy_file(header, std::string("\0\0\x00\x3c\0\0\0\0\0\0\0\0", 12)));
}

TEST_F(NpyTest, HeaderTextFollowsPython) {
  const auto header_of = [&](Shape shape, DType dtype) {
    save_npy(path(), Tensor(std::move(shape), dtype));
    const std::string content = os::read_file(path());
    EXPECT_EQ((content.find('\n') + 1) % 64, 0u);
    return content.substr(10, content.find('}') - 9);
  };
  EXPECT_EQ(header_of({}, float64), "{'descr': '<f8', 'fortran_order': False, 'shape': (), }");
  EXPECT_EQ(header_of({3}, int8), "{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }");
  EXPECT_EQ(header_of({0, 3}, bool_),
            "{'descr': '|b1', 'fortran_order': False, 'shape': (0, 3), }");
  EXPECT_EQ(header_of({1}, bfloat16), "{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }");
  EXPECT_EQ(header_of({1}, float8_e5m2),
            "{'descr': '|V1', 'fortran_order': False, 'shape': (1,), }");
  header_of(Shape(64, 1), uint64);
}

TEST_F(NpyTest, ReadsAllVersionsAndSpellings) {
  const std::string four("\1\0\2\0\3\0\4\0", 8);
  for (int version : {1, 2, 3}) {
    const Tensor tensor = load(npy_file(dictionary("<u2", "(2, 2)"), four, version));
    EXPECT_EQ(tensor.shape(), (Shape{2, 2}));
    EXPECT_EQ(tensor.at<std::uint16_t>(1, 0), 3);
  }
  for (const char* header :
       {"{\"shape\":(2,2),\"descr\":\"=u2\",\"fortran_order\":False}",
        "{ 'fortran_order' : False , 'shape' : ( 2L , 2L , ) , 'descr' : 'u2' , } \n",
        "\t{'shape': (2, 2), 'fortran_order': False, 'descr': '|u2'}\n\n"}) {
    EXPECT_EQ(load(npy_file(header, four)).shape(), (Shape{2, 2})) << header;
  }
  EXPECT_EQ(load(npy_file(dictionary(">i1", "(8,)"), four)).dtype(), int8)
      << "one byte has no order";
}

TEST_F(NpyTest, ReadsFortranOrder) {
  const std::string six("\1\2\3\4\5\6", 6);
  const Tensor tensor = load(npy_file(dictionary("|u1", "(2, 3)", "True"), six));
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  const auto elements = tensor.elements<std::uint8_t>();
  EXPECT_EQ(std::vector<std::uint8_t>(elements.begin(), elements.end()),
            (std::vector<std::uint8_t>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(load(npy_file(dictionary("|u1", "(0, 3)", "True"), "")).size(), 0);
  EXPECT_EQ(load(npy_file(dictionary("|u1", "()", "True"), "\7")).at<std::uint8_t>(), 7);
}

TEST_F(NpyTest, BoolsBecomeZeroOrOne) {
  const Tensor tensor = load(npy_file(dictionary("|b1", "(3,)"), std::string("\0\1\xff", 3)));
  EXPECT_EQ(tensor.at<std::uint8_t>(1), 1);
  EXPECT_EQ(tensor.at<std::uint8_t>(2), 1);
}

TEST_F(NpyTest, BitsWithoutADtypeNeedOne) {
  Tensor tensor({5}, bfloat16);
  tensor.fill_random(1);
  save_npy(path(), tensor);
  EXPECT_EQ(code_of([&] { load_npy(path()); }), "E0604");
  EXPECT_TRUE(same_elements(load_npy(path(), bfloat16), tensor));
  for (DType wrong : {float16, float8_e5m2, uint16, float32}) {
    EXPECT_EQ(code_of([&] { load_npy(path(), wrong); }), "E0604") << to_string(wrong);
  }
  // ml_dtypes writes float8_e5m2 under this name.
  os::write_file(path(), npy_file(dictionary("<f1", "(2,)"), "ab"));
  EXPECT_EQ(load_npy(path(), float8_e5m2).size(), 2);
  os::write_file(path(), npy_file(dictionary("<u2", "(1,)"), "ab"));
  EXPECT_EQ(load_npy(path(), bfloat16).dtype(), bfloat16);
  EXPECT_EQ(code_of([&] { load_npy(path(), float16); }), "E0604");
  EXPECT_EQ(code_of([&] { load_npy(path(), float8_e4m3fn); }), "E0604");
  os::write_file(path(), npy_file(dictionary("<i2", "(1,)"), "ab"));
  EXPECT_EQ(code_of([&] { load_npy(path(), bfloat16); }), "E0604");
}

TEST_F(NpyTest, AWantedDtypeIsChecked) {
  save_npy(path(), Tensor({2}, float32));
  EXPECT_EQ(load_npy(path(), float32).dtype(), float32);
  EXPECT_EQ(code_of([&] { load_npy(path(), int32); }), "E0604");
}

TEST_F(NpyTest, RejectsOtherDtypes) {
  for (const char* descr : {"<c8", "<f3", "<f16", "<U5", "|O", "|S3", "<M8[ns]", "<V3", "|V16", "",
                            "<", "f", "b2", "<b4", "i16", "<i3", "<V", "<f4x", "x4"}) {
    EXPECT_EQ(load_code(npy_file(dictionary(descr, "(1,)"), "12345678")), "E0604") << descr;
  }
  EXPECT_EQ(load_code(npy_file(dictionary(">f4", "(1,)"), "1234")), "E0604");
}

TEST_F(NpyTest, RejectsMalformedFiles) {
  const std::string good = dictionary("<f4", "(1,)");
  EXPECT_EQ(load_code(npy_file(good, "1234")), "none");
  EXPECT_EQ(load_code(""), "E0604");
  EXPECT_EQ(load_code("PK\3\4 an .npz file"), "E0604");
  EXPECT_EQ(load_code(npy_file(good, "1234", 4)), "E0604");
  EXPECT_EQ(load_code(npy_file(good, "1234", 0)), "E0604");
  EXPECT_EQ(load_code(npy_file(good, "123")), "E0604") << "too short";
  EXPECT_EQ(load_code(npy_file(good, "")), "E0604") << "no elements";
  EXPECT_EQ(load_code(npy_file(good, "12345")), "E0604") << "trailing data";
  const std::string whole = npy_file(good, "1234");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(load_code(whole.substr(0, size)), "E0604") << size;
  }
  std::string long_header = npy_file(good, "1234", 2);
  long_header[11] = '\x7f';
  EXPECT_EQ(load_code(long_header), "E0604") << "a header of 2 GiB";
}

TEST_F(NpyTest, RejectsMalformedHeaders) {
  for (const char* header :
       {"",
        "{",
        "{}",
        "}",
        "[]",
        "{'descr'}",
        "{'descr': }",
        "{'descr': '<f4'",
        "{,}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': false, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4', 'fortran_order': False 'shape': (1,)}",
        "{'descr: 1}",
        "{'descr': '<f4\\x00', 'fortran_order': False, 'shape': (1,)}"}) {
    EXPECT_EQ(load_code(npy_file(header, "1234")), "E0604") << header;
  }
}

TEST_F(NpyTest, HugeShapesAskForNoMemory) {
  for (const char* shape :
       {"(9223372036854775807,)", "(4294967296, 4294967296)", "(1000000000000,)",
        "(9223372036854775807, 9223372036854775807, 9223372036854775807)"}) {
    EXPECT_EQ(load_code(npy_file(dictionary("<f4", shape), "1234")), "E0604") << shape;
  }
  EXPECT_EQ(load(npy_file(dictionary("<f4", "(9223372036854775807, 0)"), "")).size(), 0);
  std::string deep = "(";
  for (int i = 0; i < 65; ++i) deep += "1, ";
  EXPECT_EQ(load_code(npy_file(dictionary("<f4", deep + ")"), "1234")), "E0604");
}

TEST_F(NpyTest, ErrorsNameTheFileAndTheLine) {
  os::write_file(path(), npy_file(dictionary("<c8", "(1,)"), "12345678"));
  try {
    load_npy(path());
    FAIL();
  } catch (const UserError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("found dtype '<c8' in " + path()), std::string::npos) << text;
    EXPECT_STREQ(error.where().file, __FILE__);
    EXPECT_EQ(error.where().line, __LINE__ - 6);
  }
  EXPECT_EQ(code_of([&] { load_npy(path("absent")); }), "E0605");
  EXPECT_EQ(code_of([&] { load_npy(directory_.path().string()); }), "E0605");
}

TEST_F(NpyTest, ReadsPipes) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  Tensor tensor({50000}, float64);
  tensor.fill_random(4);
  const pid_t writer = fork();
  if (writer == 0) {
    save_npy(path("pipe"), tensor);
    _exit(0);
  }
  EXPECT_TRUE(same_elements(load_npy(path("pipe")), tensor));
  waitpid(writer, nullptr, 0);
}

TEST_F(NpyTest, AFailedSaveLeavesTheOldFile) {
  save_npy(path(), Tensor({2}, float32));
  const std::string old = os::read_file(path());
  EXPECT_EQ(code_of([&] { save_npy(path(), TensorView(nullptr, float32, {2})); }), "E0706");
  EXPECT_EQ(code_of([&] { save_npy(path(), TensorView(nullptr, float32, {-2})); }), "E0704");
  float value = 0;
  EXPECT_EQ(code_of([&] {
              save_npy(path(), TensorView(&value, float32, {1}, {}, true, {2, 0}));
            }),
            "E0709");
  EXPECT_EQ(code_of([&] { save_npy(path(), TensorView(&value, float32, {1}, {1, 1})); }), "E0705");
  EXPECT_EQ(code_of([&] { save_npy(path(), Tensor(Shape(65, 1), float32)); }), "E0604");
  EXPECT_EQ(code_of([&] { save_npy("/dev/full", Tensor({2}, float32)); }), "E0605");
  EXPECT_EQ(code_of([&] { save_npy(path("absent/a.npy"), Tensor({2}, float32)); }), "E0605");
  EXPECT_EQ(os::read_file(path()), old);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 1);
}

TEST_F(NpyTest, SavesStridedViewsInOrder) {
  std::vector<std::int32_t> values = {0, 1, 2, 3, 4, 5};
  save_npy(path(), TensorView(values.data(), int32, {3, 2}, {1, 3}));
  const Tensor tensor = load_npy(path());
  EXPECT_EQ(tensor.at<std::int32_t>(0, 1), 3);
  EXPECT_EQ(tensor.at<std::int32_t>(2, 0), 2);
}

RC_GTEST_FIXTURE_PROP(NpyTest, RoundTrip, ()) {
  const auto dtype = static_cast<DType>(*rc::gen::inRange(0, dtype_count));
  const auto rank = *rc::gen::inRange<std::size_t>(0, 5);
  const auto shape = *rc::gen::container<Shape>(rank, rc::gen::inRange<std::int64_t>(0, 6));
  Tensor tensor(shape, dtype);
  tensor.fill_random(*rc::gen::arbitrary<std::uint64_t>());
  save_npy(path(), tensor);
  RC_ASSERT(same_elements(load_npy(path(), dtype), tensor));
  if (!numpy_lacks(dtype)) RC_ASSERT(same_elements(load_npy(path()), tensor));
}

// Header pieces in any order reach deep into the parser; plain random bytes seldom do.
rc::Gen<std::string> header_soup() {
  const auto piece = rc::gen::weightedOneOf<std::string>(
      {{20, rc::gen::element<std::string>("{", "}", "(", ")", ",", ":", " ", "\n", "'descr'",
                                          "'shape'", "'fortran_order'", "'<f4'", "'|b1'", "'<V2'",
                                          "True", "False", "0", "1", "2", "9223372036854775807",
                                          "L", "[", "'", "\"", "\\", "\0")},
       {1, rc::gen::arbitrary<std::string>()}});
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                      [](const std::vector<std::string>& pieces) {
                        std::string text;
                        for (const std::string& one : pieces) text += one;
                        return text;
                      });
}

RC_GTEST_PROP(NpyHeader, AnyTextIsParsedOrRefused, ()) {
  const std::string text = *header_soup();
  tilecopy::NpyHeader header;
  const std::string fault = parse_npy_header(text, header);
  RC_ASSERT(header.shape.size() <= npy_max_rank + 1);
  if (!fault.empty()) return;
  for (std::int64_t extent : header.shape) RC_ASSERT(extent >= 0);
}

RC_GTEST_FIXTURE_PROP(NpyTest, MutatedFilesNeverCrash, ()) {
  const auto version = *rc::gen::inRange(1, 4);
  std::string content = npy_file(dictionary("<f4", "(2, 3)"), std::string(24, 'e'), version);
  const auto mutations = *rc::gen::inRange(1, 6);
  for (int i = 0; i < mutations; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, content.size());
    switch (*rc::gen::inRange(0, 4)) {
      case 0: content[at] = *rc::gen::arbitrary<char>(); break;
      case 1: content.resize(at + 1); break;
      case 2: content.insert(at, *header_soup()); break;
      case 3:
        content.erase(at, 1);
        content += 'x';
        break;
    }
  }
  const std::string code = load_code(content);
  RC_ASSERT(code == "none" || code == "E0604");
}

}  // namespace
}  // namespace tilecopy
