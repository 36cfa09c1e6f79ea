#include "scalar_values.h"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "base/diagnostic.h"
#include "words.h"

namespace tilecopy::tool {
namespace {

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Argument> scalar_value(DType dtype, std::string_view text) {
  if (dtype == DType::bool_) {
    if (text == "true") return std::optional<Argument>(std::in_place, 1);
    if (text == "false") return std::optional<Argument>(std::in_place, 0);
  }
  if (is_float(dtype)) {
    const auto value = number<double>(text);
    return value ? std::optional<Argument>(std::in_place, *value) : std::nullopt;
  }
  const auto value = number<std::int64_t>(text);
  return value ? std::optional<Argument>(std::in_place, *value) : std::nullopt;
}

[[noreturn]] void refuse_set(std::string needed, std::string found, std::string help = {}) {
  raise(ErrorCode::E0503, {},
        {.needed = std::move(needed), .found = std::move(found), .help = std::move(help)});
}

std::string names_text(const run::LaunchPlan& plan) {
  std::string names;
  for (const std::string& symbol : plan.symbols) names += (names.empty() ? "" : ", ") + symbol;
  for (const run::ScalarParam& scalar : plan.scalars) {
    names += (names.empty() ? "" : ", ") + scalar.name;
  }
  return names.empty() ? "no --set: it has no symbols and scalars" : "one of " + names;
}

}  // namespace

ScalarValues::ScalarValues(const run::LaunchPlan& plan, const std::vector<std::string>& set)
    : plan_(plan),
      symbols_(plan.symbols.size()),
      set_(plan.symbols.size()),
      scalars_(plan.scalars.size()) {
  std::set<std::string> names;
  for (const std::string& word : set) {
    const auto [name, text] = parse_binding("--set", word);
    if (!names.insert(name).second) refuse_set("each name once", name + " twice");
    take(name, text);
  }
}

void ScalarValues::take(const std::string& name, const std::string& text) {
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    if (plan_.symbols[i] != name) continue;
    symbols_[i] = number<std::int64_t>(text);
    set_[i] = true;
    if (symbols_[i]) return;
    refuse_set(fmt::format("an integer for {}", name), fmt::format("\"{}\"", text));
  }
  for (std::size_t i = 0; i < scalars_.size(); ++i) {
    if (plan_.scalars[i].name != name) continue;
    scalars_[i] = scalar_value(plan_.scalars[i].dtype, text);
    if (scalars_[i]) return;
    refuse_set(fmt::format("a value of {} for {}", to_string(plan_.scalars[i].dtype), name),
               fmt::format("\"{}\"", text));
  }
  refuse_set(fmt::format("{}, for {}", names_text(plan_), plan_.kernel),
             fmt::format("{}={}", name, text));
}

void ScalarValues::bind_symbols(const run::TensorParam& param,
                                const std::vector<std::int64_t>& shape, const std::string& path) {
  for (std::size_t d = 0; d < param.shape.size(); ++d) {
    const auto symbol = param.shape[d].lone_symbol();
    if (!symbol) continue;
    std::optional<std::int64_t>& value = symbols_[*symbol];
    if (set_[*symbol] && *value != shape[d]) {
      refuse_set(fmt::format("{} = {} as in {}, {} of shape {}", plan_.symbols[*symbol], shape[d],
                             path, param.text, shape_text(shape)),
                 fmt::format("--set {}={}", plan_.symbols[*symbol], *value),
                 "leave --set out for symbols that an input determines");
    }
    // Inputs that disagree are the launch's to refuse.
    if (!value) value = shape[d];
  }
}

void ScalarValues::require_all() const {
  auto require = [&](bool known, const std::string& name, const char* example) {
    if (known) return;
    refuse_set(
        fmt::format("a value for {}", name), "none",
        fmt::format("add --set {}={}, or --in for a tensor that determines it", name, example));
  };
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    require(symbols_[i].has_value(), plan_.symbols[i], "4096");
  }
  for (std::size_t i = 0; i < scalars_.size(); ++i) {
    if (scalars_[i]) continue;
    const run::ScalarParam& scalar = plan_.scalars[i];
    refuse_set(fmt::format("a value for {}, a scalar of {}", scalar.name, to_string(scalar.dtype)),
               "none", fmt::format("add --set {}=1", scalar.name));
  }
}

std::int64_t ScalarValues::evaluate(const run::SizeProgram& size,
                                    const run::TensorParam& param) const {
  std::vector<std::int64_t> symbols, scalars;
  for (const auto& symbol : symbols_) symbols.push_back(symbol.value_or(0));
  for (const auto& scalar : scalars_) {
    const auto* integer = scalar ? std::get_if<std::int64_t>(&scalar->value()) : nullptr;
    scalars.push_back(integer ? *integer : 0);
  }
  if (const auto value = size.evaluate(symbols, scalars)) return *value;
  raise(ErrorCode::E0711, {},
        {.needed = "sizes below 2^63", .found = fmt::format("{} of {}", param.text, param.name)});
}

Argument ScalarValues::scalar(std::size_t index) const { return *scalars_[index]; }

}  // namespace tilecopy::tool
