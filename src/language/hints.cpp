#include "language/hints.h"

#include <fmt/format.h>

#include <array>
#include <type_traits>

#include "base/diagnostic.h"
#include "language/regions.h"

namespace tilecopy::language {
namespace {

std::string_view type_name(const AnnotationValue& value) {
  constexpr std::array<std::string_view, 4> names = {"a bool", "an int", "a string", "a fragment"};
  return names[value.index()];
}

template <typename T>
const T& typed(const std::string& key, const Annotation& annotation, Location where) {
  if (const T* value = std::get_if<T>(&annotation.value)) return *value;
  raise(ErrorCode::E0203, where,
        {.needed = fmt::format("{} for {}", type_name(AnnotationValue(T{})), key),
         .found = std::string(type_name(annotation.value))});
}

[[noreturn]] void raise_unknown_value(std::string_view key, const std::string& found,
                                      std::string_view known, Location where) {
  raise(ErrorCode::E0201, where,
        {.needed = fmt::format("{} for {}", known, key), .found = fmt::format("\"{}\"", found)});
}

EvictionPolicy eviction_policy(const std::string& text, Location where) {
  if (auto policy = parse_eviction_policy(text)) return *policy;
  raise_unknown_value("eviction_policy", text, "evict_normal, evict_first or evict_last", where);
}

PreferInstruction prefer_instruction(const std::string& text, Location where) {
  if (auto instruction = parse_prefer_instruction(text)) return *instruction;
  raise_unknown_value("prefer_instruction", text, "tma, cp_async or sync", where);
}

std::int64_t coalesced_width(std::int64_t width, Location where) {
  if (width >= 1 && width <= 32 && (width & (width - 1)) == 0) return width;
  raise(ErrorCode::E0205, where,
        {.needed = "1, 2, 4, 8, 16 or 32 elements", .found = fmt::format("{}", width)});
}

// One known key of annotations, and how its value reaches the hints.
struct Key {
  std::string_view name;
  void (*apply)(const std::string& key, const Annotation& value, ir::Hints& hints, Location where);
};

constexpr std::array<Key, 5> keys = {{
    {"coalesced_width",
     [](const std::string& key, const Annotation& value, ir::Hints& hints, Location where) {
       hints.coalesced_width = coalesced_width(typed<std::int64_t>(key, value, where), where);
     }},
    {"disable_tma", [](const std::string& key, const Annotation& value, ir::Hints& hints,
                       Location where) { hints.disable_tma = typed<bool>(key, value, where); }},
    {"eviction_policy",
     [](const std::string& key, const Annotation& value, ir::Hints& hints, Location where) {
       hints.eviction_policy = eviction_policy(typed<std::string>(key, value, where), where);
     }},
    {"prefer_instruction",
     [](const std::string& key, const Annotation& value, ir::Hints& hints, Location where) {
       hints.prefer_instruction = prefer_instruction(typed<std::string>(key, value, where), where);
     }},
    {"loop_layout", [](const std::string& key, const Annotation& value, ir::Hints& hints,
                       Location where) { hints.loop_layout = typed<Fragment>(key, value, where); }},
}};

void apply_annotation(const std::string& name, const Annotation& value, ir::Hints& hints,
                      Location where) {
  std::string known;
  for (const Key& key : keys) {
    if (key.name == name) return key.apply(name, value, hints, where);
    if (!known.empty()) known += ", ";
    known += key.name;
  }
  raise(ErrorCode::E0202, where, {.needed = known, .found = fmt::format("\"{}\"", name)});
}

}  // namespace

ir::Hints resolve_hints(const HintValues& values, Location where) {
  ir::Hints hints;
  if (values.coalesced_width) {
    hints.coalesced_width = coalesced_width(*values.coalesced_width, where);
  }
  if (values.disable_tma) hints.disable_tma = true;
  if (values.eviction_policy) {
    hints.eviction_policy = eviction_policy(*values.eviction_policy, where);
  }
  if (values.prefer_instruction) {
    hints.prefer_instruction = prefer_instruction(*values.prefer_instruction, where);
  }
  hints.loop_layout = values.loop_layout;
  for (const auto& [name, value] : values.annotations) apply_annotation(name, value, hints, where);

  if (hints.prefer_instruction == PreferInstruction::tma && hints.disable_tma == true) {
    raise(ErrorCode::E0204, where,
          {.needed = "at most one of the two",
           .found = "prefer_instruction=tma together with disable_tma=true"});
  }
  return hints;
}

void check_loop_layout(const Fragment& layout, const std::vector<Expr>& extents, int threads,
                       Location where) {
  std::vector<Expr> loops = non_unit(extents);
  const std::vector<std::int64_t> shape = layout.shape();
  bool fits = loops.size() == shape.size();
  for (std::size_t i = 0; fits && i < loops.size(); ++i) {
    fits = ir::is_const_int(loops[i], shape[i]);
  }
  auto fail = [&](std::string needed, std::string found) {
    raise(ErrorCode::E0206, where, {.needed = std::move(needed), .found = std::move(found)});
  };
  if (!fits) {
    fail(fmt::format("a fragment of shape {}", shape_text(loops)), to_string(layout));
  }
  if (layout.threads() > threads) {
    fail(fmt::format("at most {} threads", threads), fmt::format("{}", layout.threads()));
  }
  if (!layout.is_injective()) {
    fail("a place of its own for each element", to_string(layout) + ", where two share one");
  }
}

}  // namespace tilecopy::language

namespace tilecopy {
namespace {

constexpr std::array<std::string_view, 3> policies = {"evict_normal", "evict_first", "evict_last"};
constexpr std::array<std::string_view, 3> instructions = {"tma", "cp_async", "sync"};

template <typename Enum>
std::optional<Enum> find_name(const std::array<std::string_view, 3>& names, std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(EvictionPolicy policy) {
  return policies[static_cast<std::size_t>(policy)];
}
std::string_view to_string(PreferInstruction instruction) {
  return instructions[static_cast<std::size_t>(instruction)];
}
std::optional<EvictionPolicy> parse_eviction_policy(std::string_view text) {
  return find_name<EvictionPolicy>(policies, text);
}
std::optional<PreferInstruction> parse_prefer_instruction(std::string_view text) {
  return find_name<PreferInstruction>(instructions, text);
}

}  // namespace tilecopy
