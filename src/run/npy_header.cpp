#include "run/npy_header.h"

#include <fmt/format.h>

#include <array>

namespace tilecopy {
namespace {

// Reads the part of Python's syntax that headers use. The first fault stays, and nothing is read
// after it.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::string parse(NpyHeader& header) {
    expect('{');
    while (ok() && !take('}')) {
      pair(header);
      if (!take(',') && ok() && peek() != '}') fail("no , or }");
    }
    skip_blanks();
    if (ok() && at_ < text_.size()) fail("text after the dictionary");
    for (std::size_t i = 0; i < seen_.size() && ok(); ++i) {
      if (!seen_[i]) fail(fmt::format("no key '{}'", keys[i]));
    }
    return fault_;
  }

 private:
  static constexpr std::array<std::string_view, 3> keys = {"descr", "fortran_order", "shape"};

  bool ok() const { return fault_.empty(); }
  void fail(std::string_view what) {
    if (ok()) fault_ = fmt::format("{} at byte {} of the header", what, at_);
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  // The next character that is no blank; 0 at the end.
  char peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (!ok() || peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("no {}", c));
  }

  void pair(NpyHeader& header) {
    const std::string key = quoted();
    expect(':');
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!ok() || key != keys[i]) continue;
      if (seen_[i]) return fail(fmt::format("the key '{}' again", key));
      seen_[i] = true;
      if (i == 0) header.descr = descr();
      if (i == 1) header.fortran_order = truth();
      if (i == 2) header.shape = tuple();
      return;
    }
    fail("an unknown key");
  }

  std::string descr() {
    if (peek() == '[') {
      fail("a structured dtype");
      return {};
    }
    return quoted();
  }

  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') {
      fail("no string");
      return {};
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    const std::string_view inside =
        end == text_.npos ? std::string_view() : text_.substr(at_ + 1, end - at_ - 1);
    // Keys and dtypes are short words; the limit also keeps errors readable.
    for (char c : inside) {
      if (c < ' ' || c > '~' || c == '\\' || inside.size() > 32)
        return fail("a strange string"), "";
    }
    if (end == text_.npos) return fail("a string without end"), "";
    at_ = end + 1;
    return std::string(inside);
  }

  bool truth() {
    peek();
    for (std::string_view word : {std::string_view("True"), std::string_view("False")}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    fail("no True or False");
    return false;
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> extents;
    expect('(');
    bool comma = true;
    while (ok() && !take(')')) {
      if (!comma) fail("no , or )");
      if (extents.size() == npy_max_rank) fail(fmt::format("over {} dimensions", npy_max_rank));
      extents.push_back(integer());
      comma = take(',');
    }
    // (3) is a number in Python, (3,) a tuple.
    if (ok() && extents.size() == 1 && !comma) fail("a shape that is no tuple");
    return extents;
  }

  std::int64_t integer() {
    const char first = peek();
    if (first < '0' || first > '9') fail("no extent");
    std::int64_t value = 0;
    for (; ok() && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        fail("an extent of 2^63 or more");
      }
    }
    // Python 2 marked long integers.
    if (ok() && at_ < text_.size() && text_[at_] == 'L') ++at_;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::array<bool, keys.size()> seen_{};
  std::string fault_;
};

}  // namespace

std::string parse_npy_header(std::string_view text, NpyHeader& header) {
  return Parser(text).parse(header);
}

}  // namespace tilecopy
