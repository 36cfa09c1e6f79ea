#include "help.h"

#include <fmt/format.h>

#include "base/options.h"

namespace tilecopy::tool {
namespace {

constexpr const char* kernel_text =
    R"(KERNEL is one of
  copy       B = A, tile by tile; tensors A and B of rank 1 to 8
  transpose  B = A with its last two dimensions swapped
  im2col     col = the im2col matrix of img (N, H, W, C): a row for each output
             pixel (n, oh, ow), a column for each (kh, kw, c)
or a file in the kernel text form, which `tilecopy ir` prints and
docs/text-form.md describes. Each built-in moves its tiles from global to shared
memory and back; the hints go on both copies and never change a result.
)";

std::string environment_text() {
  std::string text = "Environment:\n";
  for (const OptionRow& row : option_table()) {
    text += fmt::format("  {:<20}{}", row.name, row.meaning);
    if (!row.default_.empty()) text += fmt::format("\n{:22}(default: {})", "", row.default_);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string status_text() {
  return R"(Exit status:
  0   good
  1   the result of a built-in kernel differs from the reference
  2   bad usage or input; one message on stderr says what is needed
  3   the machine lacks something, or a tool on it failed
  70  a fault of tilecopy itself
)";
}

std::string main_footer() {
  return std::string(kernel_text) + R"(
Examples:
  tilecopy run copy
  tilecopy run im2col --in img=photo.npy --kernel 3 --pad 1 --out col=col.npy
  tilecopy explain copy --shape 1000x1001 --tile 64x48 --prefer-instruction tma
  tilecopy ir copy --shape 1000x1000 > mine.tile
  tilecopy run mine.tile --in A=x.npy --out B=y.npy
  tilecopy explain E0101
`tilecopy COMMAND --help` lists the flags of a command.

)" + status_text() +
         "\n" + environment_text();
}

std::string kernel_footer(const std::string& examples) {
  return fmt::format("{}\nExamples:\n{}\n{}", kernel_text, examples, status_text());
}

}  // namespace tilecopy::tool
