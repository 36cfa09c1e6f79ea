#include "run/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/diagnostic.h"
#include "base/numeric_value.h"
#include "run/overlap.h"
#include "run/strides.h"

namespace tilecopy::run {
namespace {

// Sizes up to here leave room for every product and sum of address arithmetic in int64; no address
// space is larger. ir::kernel_facts relies on it.
constexpr std::int64_t most_size = std::int64_t{1} << 47;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

const std::string& name_of(const LaunchPlan& plan, int order) {
  return order >= 0 ? plan.tensors[static_cast<std::size_t>(order)].name
                    : plan.scalars[static_cast<std::size_t>(~order)].name;
}

// The parameters, for messages.
std::string names_text(const LaunchPlan& plan) {
  std::vector<std::string> names;
  for (int order : plan.order) names.push_back(name_of(plan, order));
  return names.empty() ? "no parameters" : fmt::format("{}", fmt::join(names, ", "));
}

class Binder {
 public:
  Binder(const LaunchPlan& plan, const std::vector<Argument>& arguments) : plan_(plan) {
    if (arguments.size() != plan.order.size()) {
      raise(
          ErrorCode::E0701, {},
          {.needed = fmt::format("{} for {}: {}", plan.order.size(), plan.kernel, names_text(plan)),
           .found = fmt::format("{}", arguments.size())});
    }
    views_.reserve(plan.tensors.size());
    bound_.tensors.reserve(plan.tensors.size());
    bound_.scalars.reserve(plan.scalars.size());
    scalar_sizes_.reserve(plan.scalars.size());
    bound_.symbols.resize(plan.symbols.size());
    known_.resize(plan.symbols.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) take(plan.order[i], arguments[i]);
  }

  BoundArguments bind() {
    for (std::size_t t = 0; t < views_.size(); ++t) check_memory(t);
    for (std::size_t t = 0; t < views_.size(); ++t) bind_symbols(t);
    for (std::size_t t = 0; t < views_.size(); ++t) check_sizes(t);
    check_windows();
    ranges_.reserve(views_.size());
    for (const TensorView* view : views_) ranges_.push_back(byte_range(*view));
    for (std::size_t t = 0; t < views_.size(); ++t) check_sharing(t);
    for (const TensorView* view : views_) bound_.tensors.push_back(view->data);
    bound_.views = std::move(views_);
    bound_.scalar_sizes = std::move(scalar_sizes_);
    return std::move(bound_);
  }

 private:
  void take(int order, const Argument& argument) {
    const auto* view = std::get_if<TensorView>(&argument.value());
    bool tensor = order >= 0;
    if (tensor != (view != nullptr)) {
      raise(ErrorCode::E0710, {},
            {.needed =
                 fmt::format("a {} for {}", tensor ? "tensor" : "scalar", name_of(plan_, order)),
             .found = view ? "a tensor" : "a scalar"});
    }
    if (view) {
      views_.push_back(view);
    } else {
      take_scalar(plan_.scalars[static_cast<std::size_t>(~order)], argument);
    }
  }

  static std::string number_text(const Argument& argument) {
    return std::visit(
        [](const auto& number) -> std::string {
          if constexpr (std::is_arithmetic_v<std::decay_t<decltype(number)>>) {
            return fmt::format("{}", number);
          } else {
            return "a tensor";
          }
        },
        argument.value());
  }

  void take_scalar(const ScalarParam& param, const Argument& argument) {
    auto refuse = [&](std::string found) {
      raise(ErrorCode::E0702, {},
            {.needed =
                 fmt::format("a value that {} holds, for {}", to_string(param.dtype), param.name),
             .found = std::move(found),
             .help = "pass a number that the declared dtype can hold"});
    };
    numeric::Value given, value;
    if (const auto* number = std::get_if<std::int64_t>(&argument.value())) {
      given = numeric::from_int(*number, int64);
      value = numeric::cast(given, param.dtype);
      bool negative = *number < 0 && (is_unsigned_int(param.dtype) || param.dtype == bool_);
      if (negative) refuse(number_text(argument));
    } else if (const auto* natural = std::get_if<std::uint64_t>(&argument.value())) {
      given = {uint64, *natural};
      value = numeric::cast(given, param.dtype);
      bool large = *natural > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      if (large && is_signed_int(param.dtype)) refuse(number_text(argument));
    } else {
      given = numeric::from_double(std::get<double>(argument.value()), float64);
      value = numeric::cast(given, param.dtype);
    }
    // A float rounds to the dtype, but a finite number stays finite.
    bool fits = is_float(param.dtype) ? std::isfinite(numeric::to_double(value)) ||
                                            !std::isfinite(numeric::to_double(given))
                                      : numeric::cast(value, given.dtype) == given;
    if (!fits) refuse(number_text(argument));
    bound_.scalars.push_back(value.bits);
    scalar_sizes_.push_back(is_int(param.dtype) ? numeric::to_int(value) : 0);
  }

  // What can be told of one tensor alone.
  void check_memory(std::size_t t) {
    const TensorParam& param = plan_.tensors[t];
    const TensorView& view = *views_[t];
    auto refuse = [&](ErrorCode code, std::string needed, std::string found) {
      raise(code, {},
            {.needed = fmt::format("{} for {}", needed, param.name), .found = std::move(found)});
    };
    if (view.dtype != param.dtype) {
      refuse(ErrorCode::E0702, std::string(to_string(param.dtype)),
             std::string(to_string(view.dtype)));
    }
    if (view.shape.size() != param.shape.size()) {
      refuse(ErrorCode::E0703, fmt::format("rank {}", param.shape.size()),
             fmt::format("shape {}", shape_text(view.shape)));
    }
    bool cuda = !plan_.variants.empty();
    if (!view.device.is_host() && !(cuda && view.device.type == kDLCUDA)) {
      refuse(ErrorCode::E0709, cuda ? "CUDA or host memory" : "host memory",
             to_string(view.device));
    }
    if (param.written && !view.writable) {
      refuse(ErrorCode::E0713, "a writable array", "a read-only one");
    }
    if (!view.strides.empty() && view.strides.size() != view.shape.size()) view.full_strides();
    std::int64_t size = view.size();
    if (size == 0) return;
    if (!view.data) refuse(ErrorCode::E0706, fmt::format("{} elements", size), "a null pointer");
    auto address = reinterpret_cast<std::uintptr_t>(view.data);
    auto element = static_cast<std::uintptr_t>(bytes(view.dtype));
    if (address % element != 0) {
      refuse(ErrorCode::E0708, fmt::format("a multiple of {} bytes", element),
             fmt::format("address 0x{:x}", address));
    }
    std::int64_t span = bytes(view.dtype);
    for_each_stride(view, [&](std::size_t d, std::int64_t stride) {
      std::int64_t reach = 0;
      bool overflow = view.shape[d] > most_size || stride > most_size || stride < -most_size ||
                      __builtin_mul_overflow(view.shape[d] - 1, std::abs(stride), &reach) ||
                      __builtin_mul_overflow(reach, bytes(view.dtype), &reach) ||
                      __builtin_add_overflow(span, reach, &span) || span > most_size;
      if (view.shape[d] > 1 && overflow) {
        refuse(ErrorCode::E0711, "at most 2^47 bytes",
               fmt::format("shape {} with strides {}", shape_text(view.shape),
                           shape_text(view.full_strides())));
      }
    });
  }

  void bind_symbol(const SizeProgram& program, std::int64_t value) {
    auto symbol = program.lone_symbol();
    if (!symbol || known_[*symbol]) return;
    bound_.symbols[*symbol] = value;
    known_[*symbol] = true;
  }

  void bind_symbols(std::size_t t) {
    const TensorParam& param = plan_.tensors[t];
    const TensorView& view = *views_[t];
    for (std::size_t d = 0; d < param.shape.size(); ++d) {
      bind_symbol(param.shape[d], view.shape[d]);
    }
    if (param.strides.empty()) return;
    std::vector<std::int64_t> strides = view.full_strides();
    for (std::size_t d = 0; d < param.strides.size(); ++d)
      bind_symbol(param.strides[d], strides[d]);
  }

  std::int64_t evaluate(const SizeProgram& program, const TensorParam& param) const {
    std::optional<std::int64_t> value = program.evaluate(bound_.symbols, scalar_sizes_);
    if (value) return *value;
    raise(ErrorCode::E0711, {},
          {.needed = "sizes below 2^63", .found = fmt::format("{} of {}", param.text, param.name)});
  }

  // The symbols of a launch, for messages: " with n = 5".
  std::string symbols_text() const {
    std::string text;
    for (std::size_t i = 0; i < plan_.symbols.size(); ++i) {
      text += fmt::format("{}{} = {}", i ? ", " : " with ", plan_.symbols[i], bound_.symbols[i]);
    }
    return text;
  }

  void check_sizes(std::size_t t) const {
    const TensorParam& param = plan_.tensors[t];
    const TensorView& view = *views_[t];
    bool same = true;
    for (std::size_t d = 0; d < param.shape.size(); ++d) {
      same = evaluate(param.shape[d], param) == view.shape[d] && same;
    }
    if (!same) {
      std::vector<std::int64_t> needed;
      for (const SizeProgram& extent : param.shape) needed.push_back(evaluate(extent, param));
      raise(ErrorCode::E0704, {},
            {.needed = fmt::format("{} for {}, declared {}{}", shape_text(needed), param.name,
                                   param.text, symbols_text()),
             .found = shape_text(view.shape)});
    }
    check_strides(param, view);
  }

  void check_strides(const TensorParam& param, const TensorView& view) const {
    if (view.size() == 0) return;
    bool same = true;
    std::int64_t dense = 1;
    for_each_stride(view, [&](std::size_t d, std::int64_t stride) {
      const std::int64_t needed = param.strides.empty() ? dense : evaluate(param.strides[d], param);
      // The stride of a dimension of extent 1 moves nothing.
      same = same && (view.shape[d] == 1 || needed == stride);
      dense *= view.shape[d];
    });
    if (same) return;
    std::vector<std::int64_t> needed = TensorView(nullptr, view.dtype, view.shape).full_strides();
    for (std::size_t d = 0; d < param.strides.size(); ++d) {
      needed[d] = evaluate(param.strides[d], param);
    }
    raise(ErrorCode::E0705, {},
          {.needed = fmt::format("{} for {} of shape {}{}", shape_text(needed), param.name,
                                 shape_text(view.shape), symbols_text()),
           .found = shape_text(view.full_strides())});
  }

  void check_windows() const {
    for (const WindowCheck& check : plan_.windows) {
      std::int64_t extent = check.extent.evaluate(bound_.symbols, scalar_sizes_).value_or(0);
      if (extent == 0 || check.window <= extent + 2 * check.pad) continue;
      raise(ErrorCode::E0307, check.where,
            {.needed = fmt::format("a dilated kernel of at most {} along {}",
                                   extent + 2 * check.pad, check.axis),
             .found = fmt::format("{}", check.window)});
    }
  }

  void check_sharing(std::size_t t) const {
    if (!plan_.tensors[t].written) return;
    if (overlaps_itself(*views_[t])) {
      raise(ErrorCode::E0707, {},
            {.needed = fmt::format("elements of their own in {}", plan_.tensors[t].name),
             .found = fmt::format("shape {} with strides {}", shape_text(views_[t]->shape),
                                  shape_text(views_[t]->full_strides()))});
    }
    for (std::size_t other = 0; other < views_.size(); ++other) {
      // Nearly always apart: the search is for arrays that interleave.
      if (other == t || !ranges_[t].meets(ranges_[other])) continue;
      if (!may_share_memory(*views_[t], *views_[other])) continue;
      raise(ErrorCode::E0707, {},
            {.needed = fmt::format("memory of its own for {}", plan_.tensors[t].name),
             .found = fmt::format("memory shared with {}", plan_.tensors[other].name)});
    }
  }

  const LaunchPlan& plan_;
  BoundArguments bound_;
  std::vector<const TensorView*> views_;
  std::vector<ByteRange> ranges_;
  std::vector<std::int64_t> scalar_sizes_;
  std::vector<bool> known_;
};

}  // namespace

BoundArguments bind_arguments(const LaunchPlan& plan, const std::vector<Argument>& arguments) {
  return Binder(plan, arguments).bind();
}

}  // namespace tilecopy::run
