// Every row of errors.def: raised by a program, of the right class, with the user's line.
#include <gtest/gtest.h>

#include <set>

#include "base/diagnostic.h"
#include "errors/error_case.h"
#include "run/nvrtc.h"

namespace tilecopy::test {
namespace {

const std::vector<ErrorCase>& all_cases() {
  static const std::vector<ErrorCase> cases = [] {
    std::vector<ErrorCase> all;
    for (auto make :
         {operand_cases, hint_cases, im2col_cases, program_cases, expression_cases, layout_cases,
          text_cases, launch_cases, view_cases, machine_cases, cuda_cases}) {
      for (ErrorCase& one : make()) all.push_back(std::move(one));
    }
    return all;
  }();
  return cases;
}

const ErrorRow* row_of(const std::string& code) {
  for (const ErrorRow& row : error_table()) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

ErrorClass class_of(const Error& error) {
  if (dynamic_cast<const UserError*>(&error)) return ErrorClass::user;
  if (dynamic_cast<const ToolError*>(&error)) return ErrorClass::tool;
  EXPECT_TRUE(dynamic_cast<const InternalError*>(&error));
  return ErrorClass::internal;
}

// The code that the case raises, or nothing.
std::string raised_code(const ErrorCase& one) {
  Location at;
  try {
    one.provoke(at);
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

class Errors : public testing::TestWithParam<ErrorCase> {};

void check(const Error& error, const ErrorCase& one, Location at) {
  SCOPED_TRACE(error.what());
  const ErrorReport& report = error.report();
  ASSERT_EQ(report.code, one.code);
  const ErrorRow& row = *row_of(one.code);
  EXPECT_EQ(class_of(error), row.class_);
  EXPECT_EQ(report.name, row.name);
  EXPECT_EQ(report.headline, row.headline);
  EXPECT_TRUE(matches(one.needed, report.needed)) << "needed: " << report.needed;
  EXPECT_TRUE(matches(one.found, report.found)) << "found: " << report.found;
  EXPECT_FALSE(report.found.empty());
  EXPECT_FALSE(report.help.empty());
  if (!at.known()) return;
  ASSERT_TRUE(report.where.known());
  EXPECT_STREQ(report.where.file, at.file);
  EXPECT_EQ(report.where.line, at.line);
}

TEST_P(Errors, Raised) {
  Location at;
  try {
    GetParam().provoke(at);
  } catch (const Error& error) {
    check(error, GetParam(), at);
    return;
  }
  FAIL() << "nothing was raised";
}

INSTANTIATE_TEST_SUITE_P(All, Errors, testing::ValuesIn(all_cases()),
                         [](const auto& one) { return one.param.code + "_" + one.param.name; });

TEST(ErrorTable, EveryRowIsRaised) {
  std::set<std::string> raised;
  for (const ErrorCase& one : all_cases()) raised.insert(raised_code(one));
  // Only NVRTC can reject a source.
  if (!run::nvrtc_available()) raised.insert("E0805");
  for (const ErrorRow& row : error_table()) {
    EXPECT_TRUE(raised.contains(std::string(row.code))) << row.code << " " << row.name;
  }
}

TEST(ErrorTable, CodesAscendAndNamesDiffer) {
  std::set<std::string_view> names;
  std::string_view last;
  for (const ErrorRow& row : error_table()) {
    EXPECT_LT(last, row.code);
    last = row.code;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(error_row(row.id).code, row.code);
  }
}

TEST(ErrorTable, HeadlinesAreSentencesWithoutAPoint) {
  for (const ErrorRow& row : error_table()) {
    for (std::string_view text : {row.headline, row.advice}) {
      EXPECT_FALSE(text.empty()) << row.code;
      EXPECT_NE(text.back(), '.') << row.code;
    }
  }
}

}  // namespace

void PrintTo(const ErrorCase& one, std::ostream* out) { *out << one.code << " " << one.name; }

}  // namespace tilecopy::test
