// A place in kernel text, and the small words that every rule of the grammar is made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "language/lexer.h"

namespace tilecopy::language {

class Cursor {
 public:
  /// `text` and `file` must outlive the cursor.
  Cursor(std::string_view text, const char* file) : text_(text), tokens_(lex(text, file)) {}

  const Token& peek(std::size_t ahead = 0) const;
  Token take();

  bool at(std::string_view symbol, std::size_t ahead = 0) const;
  bool accept(std::string_view symbol);
  Token expect(std::string_view symbol);

  bool at_word(std::string_view word, std::size_t ahead = 0) const;
  bool accept_word(std::string_view word);
  Token expect_word(std::string_view word);
  /// Whether a keyword stands here, and not a tile of that name: words are not reserved.
  bool at_keyword(std::string_view word) const;
  bool accept_keyword(std::string_view word);

  /// A name; `what` describes it in the error.
  Token name(std::string_view what);
  /// An integer with an optional minus sign.
  std::int64_t integer(std::string_view what);
  /// Names and numbers joined by dots, without blanks.
  std::string dotted_name(std::string_view what);
  /// The tokens of a tuple of integers, such as (4,(2,8)), as text.
  std::string tuple_text();

  /// Raises E0501: `needed` should stand where `found` does.
  [[noreturn]] void fail(std::string_view needed, const Token& found) const;
  [[noreturn]] void fail(std::string_view needed) const { fail(needed, peek()); }

 private:
  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
};

/// The value of an integer token with its sign; E0501 when it does not fit.
std::int64_t integer_value(const Cursor& cursor, const Token& token, bool negative);

/// Bounds the recursion of a parser while it lives: E0501 when `depth` passes `limit`.
class Nesting {
 public:
  Nesting(int& depth, int limit, const Cursor& cursor);
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

}  // namespace tilecopy::language
