#include "check.h"

#include <fmt/format.h>

#include <cstring>

#include "base/numeric_value.h"
#include "reference.h"
#include "words.h"

namespace tilecopy::tool {
namespace {

std::vector<std::int64_t> index_of(std::int64_t at, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = at % shape[d];
    at /= shape[d];
  }
  return index;
}

// The value of an element, and its bits: values of different bits may print alike.
std::string element_text(const Tensor& tensor, std::int64_t at) {
  const int width = bytes(tensor.dtype());
  numeric::Value value{tensor.dtype(), 0};
  std::memcpy(&value.bits, static_cast<const std::byte*>(tensor.data()) + at * width,
              static_cast<std::size_t>(width));
  const std::string bits = fmt::format("bits 0x{:0{}x}", value.bits, 2 * width);
  if (is_float(value.dtype)) return fmt::format("{} ({})", numeric::to_double(value), bits);
  if (value.dtype == DType::uint64) return fmt::format("{} ({})", value.bits, bits);
  return fmt::format("{} ({})", numeric::to_int(value), bits);
}

}  // namespace

std::optional<std::string> wrong_result_text(const Kernel& kernel, const Arguments& arguments) {
  const Array& input = arguments.arrays[0];
  const Array& output = arguments.arrays[1];
  const auto mismatch = compare(*kernel.built_in, input.storage, output.storage);
  if (!mismatch) return std::nullopt;
  std::string needed = "0, from outside of the image";
  if (mismatch->source) {
    needed = fmt::format("{}, as {}{}", element_text(input.storage, *mismatch->source), input.name,
                         shape_text(index_of(*mismatch->source, input.storage.shape())));
  }
  return fmt::format(
      "error: the result of {} is wrong\n"
      "   = rule check.reference: needed {}; found {} in {}{}, the first wrong element\n"
      "   = help: this is a bug in tilecopy or in the C compiler; try --opt-level 0, and please "
      "report it with the output of `tilecopy doctor`",
      kernel.function.name(), needed, element_text(output.storage, mismatch->at), output.name,
      shape_text(index_of(mismatch->at, output.storage.shape())));
}

}  // namespace tilecopy::tool
