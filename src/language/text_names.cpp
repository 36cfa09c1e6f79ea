#include "language/text_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/diagnostic.h"

namespace tilecopy::language {
namespace {

// Single-character insertions, deletions and replacements that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

}  // namespace

void TextNames::declare(std::string_view name, Named meaning) {
  scopes_.back().insert_or_assign(std::string(name), std::move(meaning));
}

const Named* TextNames::find(std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto at = scope->find(name); at != scope->end()) return &at->second;
  }
  return nullptr;
}

bool TextNames::is_declared_here(std::string_view name) const {
  return scopes_.back().contains(name);
}

void TextNames::raise_unknown(std::string_view name, Location where,
                              const std::vector<std::string_view>& others) const {
  constexpr std::size_t longest = 40;
  const std::string_view shown = name.substr(0, longest);
  // Further than a third of the name is another word.
  std::size_t best = shown.size() / 3 + 2;
  std::string_view nearest;
  auto consider = [&](std::string_view candidate) {
    if (candidate.size() > 2 * longest) return;
    const std::size_t distance = edit_distance(shown, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  };
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    for (const auto& [known, meaning] : *scope) consider(known);
  }
  for (std::string_view other : others) consider(other);
  raise(ErrorCode::E0502, where,
        {.needed = "a declared name",
         .found = fmt::format("'{}' in column {}", shown, where.column),
         .help = nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest)});
}

}  // namespace tilecopy::language
