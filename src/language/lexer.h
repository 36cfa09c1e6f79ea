// Splits kernel text into tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilecopy/types.h"

namespace tilecopy::language {

enum class TokenKind : std::uint8_t { name, integer, floating, symbol, end };

struct Token {
  TokenKind kind;
  std::string_view text;  ///< part of the lexed text; empty at the end
  std::size_t offset;
  Location where;
};

/// The tokens of `text`, which must outlive them, and one of kind `end`. Raises E0501 for a
/// character that starts no token.
std::vector<Token> lex(std::string_view text, const char* file);

/// The token for messages: quoted, or "the end of the text".
std::string describe(const Token& token);

}  // namespace tilecopy::language
