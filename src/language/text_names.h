// What the names in kernel text stand for, scope by scope.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tilecopy/expr.h"

namespace tilecopy::language {

using Named = std::variant<Buffer, Var>;

class TextNames {
 public:
  void open_scope() { scopes_.emplace_back(); }
  void close_scope() { scopes_.pop_back(); }

  /// Hides outer meanings of the name until the innermost scope closes.
  void declare(std::string_view name, Named meaning);
  /// The innermost meaning; null when there is none.
  const Named* find(std::string_view name) const;
  /// Whether the innermost scope declares the name.
  bool is_declared_here(std::string_view name) const;

  /// Raises E0502 with the nearest of the visible names and `others` as the advice.
  [[noreturn]] void raise_unknown(std::string_view name, Location where,
                                  const std::vector<std::string_view>& others = {}) const;

 private:
  std::vector<std::map<std::string, Named, std::less<>>> scopes_{1};
};

}  // namespace tilecopy::language
