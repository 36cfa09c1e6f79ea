#include "ir/names.h"

namespace tilecopy::ir {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string identifier(std::string_view wanted) {
  std::string name;
  if (wanted.empty() || is_digit(wanted.front())) name += '_';
  for (char c : wanted) name += is_letter(c) || is_digit(c) ? c : '_';
  // All other words of the text form are told from names by what follows them.
  if (name == "true" || name == "false") name += '_';
  return name;
}

void Names::close_scope() {
  for (const void* object : scopes_.back()) {
    auto at = names_.find(object);
    taken_.erase(at->second);
    names_.erase(at);
  }
  scopes_.pop_back();
}

const std::string& Names::declare(const void* object, std::string_view wanted) {
  return add(scopes_.size() - 1, object, wanted);
}

const std::string& Names::of(const void* object, std::string_view wanted) {
  return add(0, object, wanted);
}

const std::string& Names::add(std::size_t scope, const void* object, std::string_view wanted) {
  auto [at, added] = names_.try_emplace(object);
  if (!added) return at->second;
  const std::string base = identifier(wanted);
  std::string name = base;
  for (int n = 1; taken_.contains(name); ++n) name = base + '_' + std::to_string(n);
  taken_.insert(name);
  scopes_[scope].push_back(object);
  return at->second = name;
}

}  // namespace tilecopy::ir
