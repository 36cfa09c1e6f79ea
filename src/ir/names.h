// The names that variables and buffers have in the text form: legal there, and each unlike every
// other that is visible at the same place.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilecopy::ir {

class Names {
 public:
  Names() : scopes_(1) {}

  void open_scope() { scopes_.emplace_back(); }
  void close_scope();

  /// Names an object until the innermost scope closes: as wanted, or with a number after it.
  const std::string& declare(const void* object, std::string_view wanted);
  /// The name of an object. One without gets one for good: buffers, whose names are unique in a
  /// function, and what nothing declared (in a part of a kernel, or in a broken one).
  const std::string& of(const void* object, std::string_view wanted);

 private:
  const std::string& add(std::size_t scope, const void* object, std::string_view wanted);

  std::map<const void*, std::string> names_;
  std::set<std::string, std::less<>> taken_;
  std::vector<std::vector<const void*>> scopes_;
};

/// The nearest text to `wanted` that is an identifier of the text form.
std::string identifier(std::string_view wanted);

}  // namespace tilecopy::ir
