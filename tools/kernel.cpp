#include "kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/diagnostic.h"
#include "base/options.h"
#include "base/os.h"
#include "flags.h"
#include "words.h"

namespace tilecopy::tool {
namespace {

constexpr std::array<std::string_view, 3> built_in_names = {"copy", "transpose", "im2col"};

std::optional<BuiltInKind> built_in_kind(std::string_view name) {
  for (std::size_t i = 0; i < built_in_names.size(); ++i) {
    if (built_in_names[i] == name) return static_cast<BuiltInKind>(i);
  }
  return std::nullopt;
}

// ---- Flags that do not fit the kernel ----

void refuse_flags(FlagGroup group, const Request& request, const std::string& needed,
                  const std::string& help) {
  for (const FlagRow& row : flag_table()) {
    if (row.group != group || !(request.*row.member)) continue;
    refuse(needed, fmt::format("{} with {}", row.name, request.kernel), help);
  }
}

void check_file_flags(const Request& request) {
  const std::string needed = "a kernel file with only --set, --in, --out, compiling and data flags";
  const std::string help = "change the kernel file instead";
  refuse_flags(FlagGroup::built_in, request, needed, help);
  refuse_flags(FlagGroup::im2col, request, needed, help);
  if (request.disable_tma) {
    refuse(needed, fmt::format("--disable-tma with {}", request.kernel), help);
  }
}

void check_built_in_flags(BuiltInKind kind, const Request& request) {
  if (kind != BuiltInKind::im2col) {
    refuse_flags(FlagGroup::im2col, request, "--kernel, --stride, --dilation and --pad with im2col",
                 "leave the flag out, or run im2col");
  }
  if (!request.set.empty()) {
    refuse("--set with a kernel file", fmt::format("--set with {}", request.kernel),
           "the built-in kernels have no symbols; use --shape for their sizes");
  }
}

// ---- The choices of a built-in ----

std::vector<std::int64_t> default_shape(BuiltInKind kind) {
  if (kind == BuiltInKind::im2col) return {8, 56, 56, 64};
  return {4096, 4096};
}

// Whether the kernel runs on a GPU, or as it would there.
bool for_gpu(const Request& request) {
  const std::string target = request.target ? *request.target : default_target();
  return target.starts_with("cuda") || target.starts_with("emulator");
}

// What was fastest on an H200 (docs/performance-notes.md), and on two cores of a CPU.
std::vector<std::int64_t> default_tile(const BuiltIn& built_in, bool gpu) {
  const std::int64_t element = bytes(built_in.dtype);
  const bool vector = built_in.shape.size() == 1;
  switch (built_in.kind) {
    case BuiltInKind::copy: {
      if (!gpu)
        return vector ? std::vector<std::int64_t>{4096} : std::vector<std::int64_t>{64, 128};
      if (built_in.through == Through::shared) {
        const std::int64_t width = 512 / element;  // 4 KiB in all
        return vector ? std::vector<std::int64_t>{8 * width} : std::vector<std::int64_t>{8, width};
      }
      // 16 bytes for each of 128 threads; of them 16 for what lies before an odd row's first
      // multiple.
      const bool odd = !vector && built_in.shape.back() * element % 16 != 0;
      const std::int64_t width = (odd ? 2032 : 2048) / element;
      return vector ? std::vector<std::int64_t>{width} : std::vector<std::int64_t>{1, width};
    }
    case BuiltInKind::transpose:
      if (!gpu) return {64, 64};
      return element <= 2 ? std::vector<std::int64_t>{128, 128}
                          : std::vector<std::int64_t>{256 / element, 256 / element};
    case BuiltInKind::im2col: break;
  }
  // Whole rows of 256 bytes and more, where no tap is cut.
  return gpu && built_in.shape.back() % 128 == 0 ? std::vector<std::int64_t>{64, 128}
                                                 : std::vector<std::int64_t>{64, 64};
}

// Takes shape and dtype from the file of --in, or from flags and defaults.
void choose_input(const Request& request, BuiltIn& built_in, Kernel& kernel) {
  const std::string input = built_in.kind == BuiltInKind::im2col ? "img" : "A";
  const auto files = file_bindings("--in", request.in);
  if (request.dtype) built_in.dtype = parse_dtype_word("--dtype", *request.dtype);
  if (files.empty()) {
    built_in.shape =
        request.shape ? parse_extents("--shape", *request.shape, 0) : default_shape(built_in.kind);
    return;
  }
  for (const auto& [name, path] : files) {
    if (name == input) continue;
    refuse(fmt::format("--in {}=FILE, the input of {}", input, request.kernel),
           fmt::format("--in {}={}", name, path),
           fmt::format("{} has one input, {}", request.kernel, input));
  }
  if (request.shape) {
    refuse("--in or --shape", "both", "leave --shape out: the file of --in has the shape");
  }
  const std::string& path = files.at(input);
  Tensor tensor = request.dtype ? load_npy(path, built_in.dtype, {}) : load_npy(path, Location{});
  built_in.shape = tensor.shape();
  built_in.dtype = tensor.dtype();
  kernel.loaded.emplace(input, std::move(tensor));
}

std::string input_text(const Request& request, const BuiltIn& built_in) {
  if (!request.in.empty()) {
    return fmt::format("{} of shape {}", file_bindings("--in", request.in).begin()->second,
                       shape_text(built_in.shape));
  }
  return fmt::format("--shape {}", extents_text(built_in.shape));
}

void check_rank(const Request& request, const BuiltIn& built_in) {
  const std::size_t rank = built_in.shape.size();
  switch (built_in.kind) {
    case BuiltInKind::copy:
      if (rank > 0) return;
      raise(ErrorCode::E0603, {},
            {.needed = "a tensor of rank 1 or more to copy",
             .found = input_text(request, built_in),
             .help = "reshape it in NumPy first, as in numpy.save(\"x.npy\", x.reshape(1))"});
    case BuiltInKind::transpose:
      if (rank >= 2) return;
      raise(ErrorCode::E0108, {},
            {.needed = "a tensor of rank 2 or more, whose last two dimensions are swapped",
             .found = input_text(request, built_in)});
    case BuiltInKind::im2col:
      if (rank == 4) return;
      raise(ErrorCode::E0301, {},
            {.needed = "an image of rank 4, (N, H, W, C)",
             .found = input_text(request, built_in),
             .help = "use extents of 1 for the dimensions that you do not have; in NumPy, "
                     "numpy.save(\"img.npy\", x[None, :, :, None]) adds N and C to (H, W)"});
  }
}

void choose_through(const Request& request, BuiltIn& built_in, bool gpu) {
  if (!request.through) {
    const std::string preferred = request.prefer_instruction.value_or("");
    const bool tile = !gpu || preferred == "tma" || preferred == "cp_async";
    built_in.through = tile ? Through::shared : Through::nothing;
    return;
  }
  constexpr std::array<std::string_view, 3> names = {"shared", "fragment", "nothing"};
  const auto found = std::find(names.begin(), names.end(), *request.through);
  if (built_in.kind != BuiltInKind::copy) {
    refuse("--through with copy", fmt::format("--through with {}", request.kernel));
  }
  if (found == names.end()) {
    refuse("--through shared, fragment or nothing", fmt::format("\"{}\"", *request.through));
  }
  built_in.through = static_cast<Through>(found - names.begin());
}

void choose_tile(const Request& request, BuiltIn& built_in, bool gpu) {
  const std::size_t rank = built_in.shape.size();
  const std::size_t tile_rank = rank == 1 ? 1 : 2;
  built_in.tile =
      request.tile ? parse_extents("--tile", *request.tile, 1) : default_tile(built_in, gpu);
  if (built_in.tile.size() == tile_rank) return;
  const std::string needed = built_in.kind == BuiltInKind::im2col
                                 ? "--tile with two extents, block_m x block_k"
                                 : fmt::format("--tile with {} for a tensor of rank {}",
                                               rank == 1 ? "one extent" : "two extents", rank);
  refuse(needed, fmt::format("\"{}\"", *request.tile),
         "a tile covers the last two dimensions; those before them are walked one by one");
}

void choose_hints(const Request& request, BuiltIn& built_in) {
  if (request.threads) {
    built_in.threads = static_cast<int>(parse_integer("--threads", *request.threads, 1, 1024));
  }
  if (request.coalesced_width) {
    built_in.hints.coalesced_width =
        parse_integer("--coalesced-width", *request.coalesced_width, 1);
  }
  built_in.hints.disable_tma = request.disable_tma;
  built_in.hints.eviction_policy.name = request.eviction_policy;
  built_in.hints.prefer_instruction.name = request.prefer_instruction;
}

void choose_window(const Request& request, Window& window) {
  if (request.window) window.kernel = parse_pair("--kernel", *request.window, 1);
  if (request.stride) window.stride = parse_pair("--stride", *request.stride, 1);
  if (request.dilation) window.dilation = parse_pair("--dilation", *request.dilation, 1);
  if (request.pad) window.pad = parse_pair("--pad", *request.pad, 0);
}

Kernel built_in_kernel(BuiltInKind kind, const Request& request) {
  check_built_in_flags(kind, request);
  Kernel kernel{Function(nullptr), BuiltIn{.kind = kind}};
  BuiltIn& built_in = *kernel.built_in;
  choose_hints(request, built_in);
  choose_window(request, built_in.window);
  choose_input(request, built_in, kernel);
  check_rank(request, built_in);
  const bool gpu = for_gpu(request);
  built_in.direct = gpu;
  if (gpu && kind == BuiltInKind::transpose && !request.threads) built_in.threads = 256;
  choose_through(request, built_in, gpu);
  choose_tile(request, built_in, gpu);
  // Sizes that overflow are told before the compiler meets them in address arithmetic.
  (void)TensorView(nullptr, built_in.dtype, built_in.shape).size();
  kernel.function = without_location(true, [&] { return make_built_in(built_in); });
  return kernel;
}

}  // namespace

Kernel make_kernel(const Request& request) {
  if (const auto kind = built_in_kind(request.kernel)) return built_in_kernel(*kind, request);
  std::error_code error;
  if (!std::filesystem::exists(request.kernel, error)) {
    refuse("copy, transpose, im2col, or the path of a kernel file",
           fmt::format("\"{}\", which is no file", request.kernel),
           "`tilecopy ir copy` prints a kernel file to start from");
  }
  check_file_flags(request);
  const std::string text = os::read_file(request.kernel);
  if (text.find('\0') != text.npos) {
    raise(ErrorCode::E0501, {},
          {.needed = "a kernel in the text form",
           .found = fmt::format("binary data in {}", request.kernel)});
  }
  return {parse(text, request.kernel), std::nullopt};
}

CompiledKernel compile_kernel(const Kernel& kernel, const Request& request) {
  CompileOptions options{.use_cache = !request.no_cache, .method = request.method.value_or("")};
  if (request.opt_level) {
    options.opt_level = static_cast<int>(parse_integer("--opt-level", *request.opt_level, 0, 3));
  }
  return without_location(kernel.built_in.has_value(), [&] {
    return compile(kernel.function, request.target.value_or(""), options, Location{});
  });
}

std::map<std::string, std::string> file_bindings(std::string_view flag,
                                                 const std::vector<std::string>& words) {
  std::map<std::string, std::string> files;
  for (const std::string& word : words) {
    auto [name, path] = parse_binding(flag, word);
    if (!files.emplace(name, path).second) {
      refuse(fmt::format("{} once for each tensor", flag), fmt::format("{} twice", name));
    }
  }
  return files;
}

}  // namespace tilecopy::tool
