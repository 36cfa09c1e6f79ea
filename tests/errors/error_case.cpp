#include "errors/error_case.h"

namespace tilecopy::test {

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] != '*') {
    return !text.empty() && pattern[0] == text[0] && matches(pattern.substr(1), text.substr(1));
  }
  for (std::size_t skipped = 0; skipped <= text.size(); ++skipped) {
    if (matches(pattern.substr(1), text.substr(skipped))) return true;
  }
  return false;
}

Provocation in_kernel(std::function<void(Scene&)> body) {
  return [body = std::move(body)](Location& at) {
    function("scene", [&] {
      Scene scene{at, {}, {}, {}, {}, symbol("n")};
      scene.a = tensor("A", {64, 96}, float16);
      scene.b = tensor("B", {scene.n, 64}, float16);
      scene.bx = kernel({4})[0];
      scene.tile = alloc_shared({64, 96}, float16, "tile");
      body(scene);
    });
  };
}

Provocation in_text(std::string text, int line) {
  return [text = std::move(text), line](Location& at) {
    at = {"kernel.tc", line, 0};
    parse(text, "kernel.tc");
  };
}

}  // namespace tilecopy::test
