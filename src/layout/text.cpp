// The text form of tuples, layouts, swizzles and fragments, and its parser.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/diagnostic.h"
#include "tilecopy/layout.h"

namespace tilecopy {
namespace {

constexpr std::string_view spaces = " \t\r\n";

// Reads words off the front of a text.
class Parser {
 public:
  Parser(std::string_view text, Location where) : rest_(text), where_(where) {}

  bool at(std::string_view word) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(spaces), rest_.size()));
    return rest_.starts_with(word);
  }

  bool accept(std::string_view word) {
    if (!at(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void expect(std::string_view word) {
    if (!accept(word)) fail(fmt::format("'{}'", word));
  }

  template <typename Int>
  Int integer() {
    at("");
    Int value = 0;
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc::result_out_of_range) fail("a smaller integer");
    if (error != std::errc()) fail("an integer");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  IntTuple tuple(int level = 0) {
    if (!accept("(")) return IntTuple(integer<std::int64_t>());
    if (level == IntTuple::max_depth) {
      fail(fmt::format("at most {} levels of nesting", IntTuple::max_depth));
    }
    std::vector<IntTuple> modes;
    if (accept(")")) return IntTuple(std::move(modes));
    do {
      modes.push_back(tuple(level + 1));
    } while (accept(","));
    expect(")");
    return IntTuple(std::move(modes));
  }

  Layout layout() {
    IntTuple shape = tuple();
    expect(":");
    return Layout(std::move(shape), tuple(), where_);
  }

  TileLayout tile_layout() {
    if (!accept("swizzle")) return TileLayout(layout(), std::nullopt, where_);
    expect("<");
    int bits = integer<int>();
    expect(",");
    int base = integer<int>();
    expect(",");
    int shift = integer<int>();
    expect(">");
    expect("o");
    return TileLayout(layout(), Swizzle(bits, base, shift, where_), where_);
  }

  Fragment fragment() {
    expect("fragment");
    expect("(");
    expect("shape");
    expect("=");
    std::vector<std::int64_t> shape = extents();
    expect(",");
    expect("thread");
    expect("=");
    Layout thread = layout();
    expect(",");
    expect("reg");
    expect("=");
    Layout reg = layout();
    expect(")");
    return Fragment(std::move(shape), std::move(thread), std::move(reg), where_);
  }

  void expect_end() {
    if (!at("") || !rest_.empty()) fail("the end of the text");
  }

 private:
  std::vector<std::int64_t> extents() {
    if (!at("(")) fail("a list of extents");
    std::vector<std::int64_t> out;
    for (const IntTuple& mode : tuple().modes()) {
      if (!mode.is_int()) fail("a list of integers as the shape");
      out.push_back(mode.value());
    }
    return out;
  }

  [[noreturn]] void fail(const std::string& needed) const {
    constexpr std::size_t shown = 24;
    std::string found = rest_.empty() ? "the end" : fmt::format("'{}'", rest_.substr(0, shown));
    raise(ErrorCode::E0426, where_, {.needed = needed, .found = found});
  }

  std::string_view rest_;
  Location where_;
};

}  // namespace

std::string to_string(const IntTuple& tuple) {
  if (tuple.is_int()) return fmt::format("{}", tuple.value());
  std::string text = "(";
  for (const IntTuple& mode : tuple.modes()) {
    if (text.size() > 1) text += ',';
    text += to_string(mode);
  }
  return text + ")";
}

std::string to_string(const Layout& layout) {
  return to_string(layout.shape()) + ":" + to_string(layout.stride());
}

std::string to_string(const Swizzle& swizzle) {
  return fmt::format("swizzle<{},{},{}>", swizzle.bits(), swizzle.base(), swizzle.shift());
}

std::string to_string(const TileLayout& layout) {
  if (!layout.swizzle()) return to_string(layout.layout());
  return to_string(*layout.swizzle()) + " o " + to_string(layout.layout());
}

std::string to_string(const Fragment& fragment) {
  return fmt::format("fragment(shape={}, thread={}, reg={})", to_string(IntTuple(fragment.shape())),
                     to_string(fragment.thread()), to_string(fragment.reg()));
}

IntTuple parse_int_tuple(std::string_view text, Location where) {
  Parser parser(text, where);
  IntTuple tuple = parser.tuple();
  parser.expect_end();
  return tuple;
}

Layout parse_layout(std::string_view text, Location where) {
  Parser parser(text, where);
  Layout layout = parser.layout();
  parser.expect_end();
  return layout;
}

TileLayout parse_tile_layout(std::string_view text, Location where) {
  Parser parser(text, where);
  TileLayout layout = parser.tile_layout();
  parser.expect_end();
  return layout;
}

Fragment parse_fragment(std::string_view text, Location where) {
  Parser parser(text, where);
  Fragment fragment = parser.fragment();
  parser.expect_end();
  return fragment;
}

}  // namespace tilecopy
