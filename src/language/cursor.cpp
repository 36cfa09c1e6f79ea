#include "language/cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/diagnostic.h"

namespace tilecopy::language {

const Token& Cursor::peek(std::size_t ahead) const {
  return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
}

Token Cursor::take() {
  Token token = peek();
  if (token.kind != TokenKind::end) ++next_;
  return token;
}

bool Cursor::at(std::string_view symbol, std::size_t ahead) const {
  const Token& token = peek(ahead);
  return token.kind == TokenKind::symbol && token.text == symbol;
}

bool Cursor::accept(std::string_view symbol) {
  if (!at(symbol)) return false;
  take();
  return true;
}

Token Cursor::expect(std::string_view symbol) {
  if (!at(symbol)) fail(fmt::format("'{}'", symbol));
  return take();
}

bool Cursor::at_word(std::string_view word, std::size_t ahead) const {
  const Token& token = peek(ahead);
  return token.kind == TokenKind::name && token.text == word;
}

bool Cursor::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  take();
  return true;
}

Token Cursor::expect_word(std::string_view word) {
  if (!at_word(word)) fail(fmt::format("'{}'", word));
  return take();
}

bool Cursor::at_keyword(std::string_view word) const {
  return at_word(word) && !at("=", 1) && !at("[", 1);
}

bool Cursor::accept_keyword(std::string_view word) {
  if (!at_keyword(word)) return false;
  take();
  return true;
}

Token Cursor::name(std::string_view what) {
  if (peek().kind != TokenKind::name || at_word("true") || at_word("false")) fail(what);
  return take();
}

std::int64_t Cursor::integer(std::string_view what) {
  const bool negative = accept("-");
  if (peek().kind != TokenKind::integer) fail(what);
  return integer_value(*this, take(), negative);
}

std::string Cursor::dotted_name(std::string_view what) {
  const Token first = name(what);
  constexpr std::string_view word =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  const std::size_t end = std::min(text_.find_first_not_of(word, first.offset), text_.size());
  std::string text(text_.substr(first.offset, end - first.offset));
  if (text.back() == '.' || text.find("..") != std::string::npos) fail(what, first);
  while (peek().kind != TokenKind::end && peek().offset < end) take();
  return text;
}

std::string Cursor::tuple_text() {
  std::string text;
  int open = 0;
  do {
    const Token token = take();
    if (token.kind == TokenKind::end) fail("a tuple of integers", token);
    text += token.text;
    // A sign belongs to its number; other tokens must not run together.
    if (token.text == "-") continue;
    text += ' ';
    open += token.text == "(" ? 1 : token.text == ")" ? -1 : 0;
  } while (open > 0 || text.back() == '-');
  return text;
}

void Cursor::fail(std::string_view needed, const Token& found) const {
  raise(ErrorCode::E0501, found.where,
        {.needed = std::string(needed),
         .found = fmt::format("{} in column {}", describe(found), found.where.column)});
}

std::int64_t integer_value(const Cursor& cursor, const Token& token, bool negative) {
  std::uint64_t value = 0;
  const char* end = token.text.data() + token.text.size();
  const bool fits = std::from_chars(token.text.data(), end, value).ec == std::errc();
  const std::uint64_t most =
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1 : 0);
  if (!fits || value > most) cursor.fail("an integer of 64 bits", token);
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

Nesting::Nesting(int& depth, int limit, const Cursor& cursor) : depth_(depth) {
  if (depth_ >= limit) cursor.fail(fmt::format("at most {} levels of nesting", limit));
  ++depth_;
}

}  // namespace tilecopy::language
