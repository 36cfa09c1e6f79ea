#include "language/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/diagnostic.h"

namespace tilecopy::language {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Longer symbols before their prefixes.
constexpr std::array<std::string_view, 31> symbols = {
    "->", "..", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "(", ")", "[", "]", "{", "}",
    ",",  ":",  "=",  "+",  "-",  "*",  "/",  "%",  "<",  ">",  "!", "&", "|", "^", "."};

class Lexer {
 public:
  Lexer(std::string_view text, const char* file) : text_(text), file_(file) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    do {
      skip_blanks();
      tokens.push_back(next());
    } while (tokens.back().kind != TokenKind::end);
    return tokens;
  }

 private:
  char at(std::size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }
  Location where() const {
    return {file_, line_,
            static_cast<int>(std::min<std::size_t>(offset_ - line_start_, 99999)) + 1};
  }

  void skip_blanks() {
    while (offset_ < text_.size()) {
      const char c = text_[offset_];
      if (c == '#' || (c == '/' && at(offset_ + 1) == '/')) {
        offset_ = std::min(text_.find('\n', offset_), text_.size());
      } else if (c == '\n') {
        ++line_;
        line_start_ = ++offset_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++offset_;
      } else {
        return;
      }
    }
  }

  Token take(TokenKind kind, std::size_t end) {
    Token token{kind, text_.substr(offset_, end - offset_), offset_, where()};
    offset_ = end;
    return token;
  }

  Token next() {
    if (offset_ == text_.size()) return take(TokenKind::end, offset_);
    const char c = text_[offset_];
    if (is_letter(c)) {
      std::size_t end = offset_;
      while (is_letter(at(end)) || is_digit(at(end))) ++end;
      return take(TokenKind::name, end);
    }
    if (is_digit(c)) return number();
    for (std::string_view symbol : symbols) {
      if (text_.substr(offset_).starts_with(symbol)) {
        return take(TokenKind::symbol, offset_ + symbol.size());
      }
    }
    const auto byte = static_cast<unsigned char>(c);
    raise(ErrorCode::E0501, where(),
          {.needed = "a name, a number or a symbol",
           .found = byte >= 0x20 && byte < 0x7f ? fmt::format("'{}'", c)
                                                : fmt::format("the byte 0x{:02x}", byte)});
  }

  // A point belongs to the number only before a digit, so that `0..4` is a range.
  Token number() {
    std::size_t end = offset_;
    auto digits = [&] {
      while (is_digit(at(end))) ++end;
    };
    digits();
    TokenKind kind = TokenKind::integer;
    if (at(end) == '.' && is_digit(at(end + 1))) {
      kind = TokenKind::floating;
      ++end;
      digits();
    }
    if (at(end) == 'e' || at(end) == 'E') {
      const std::size_t sign = at(end + 1) == '+' || at(end + 1) == '-' ? 1 : 0;
      if (is_digit(at(end + 1 + sign))) {
        kind = TokenKind::floating;
        end += 1 + sign;
        digits();
      }
    }
    return take(kind, end);
  }

  std::string_view text_;
  const char* file_;
  std::size_t offset_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> lex(std::string_view text, const char* file) { return Lexer(text, file).run(); }

std::string describe(const Token& token) {
  if (token.kind == TokenKind::end) return "the end of the text";
  constexpr std::size_t longest = 40;
  const bool cut = token.text.size() > longest;
  return fmt::format("'{}{}'", token.text.substr(0, longest), cut ? "..." : "");
}

}  // namespace tilecopy::language
