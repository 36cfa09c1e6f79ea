// NumPy's .npy files: a magic number, a header in Python's syntax, and the elements.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "base/diagnostic.h"
#include "base/os.h"
#include "run/npy_header.h"
#include "tilecopy/tensor.h"

namespace tilecopy {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are stored as they lie");

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_header = std::size_t{1} << 20;

struct DescrRow {
  std::string_view descr;  // without the byte order
  DType dtype;
};

constexpr std::array<DescrRow, 12> descr_rows = {{{"b1", bool_},
                                                  {"i1", int8},
                                                  {"i2", int16},
                                                  {"i4", int32},
                                                  {"i8", int64},
                                                  {"u1", uint8},
                                                  {"u2", uint16},
                                                  {"u4", uint32},
                                                  {"u8", uint64},
                                                  {"f2", float16},
                                                  {"f4", float32},
                                                  {"f8", float64}}};

// What all errors of one file name.
struct Subject {
  const std::string& path;
  Location where;

  [[noreturn]] void fail(std::string needed, std::string found, std::string help = {}) const {
    raise(ErrorCode::E0604, where,
          {.needed = std::move(needed),
           .found = fmt::format("{} in {}", found, path),
           .help = std::move(help)});
  }
};

bool numpy_lacks(DType dtype) {
  return dtype == bfloat16 || dtype == float8_e4m3fn || dtype == float8_e5m2;
}

std::string descr_of(DType dtype) {
  if (numpy_lacks(dtype)) return dtype == bfloat16 ? "<V2" : "|V1";
  const auto row = std::find_if(descr_rows.begin(), descr_rows.end(),
                                [&](const DescrRow& r) { return r.dtype == dtype; });
  return fmt::format("{}{}", bytes(dtype) == 1 ? '|' : '<', row->descr);
}

// The dtype that a descr and the caller's wish agree on.
DType resolve_dtype(const std::string& descr, std::optional<DType> wanted, const Subject& subject) {
  const bool has_order = !descr.empty() && std::string_view("<>|=").find(descr[0]) != descr.npos;
  const std::string_view type = std::string_view(descr).substr(has_order ? 1 : 0);
  const auto row = std::find_if(descr_rows.begin(), descr_rows.end(),
                                [&](const DescrRow& r) { return r.descr == type; });
  // ml_dtypes calls float8_e5m2 f1, a name that NumPy does not read back.
  const bool bits_only = type == "V1" || type == "V2" || type == "f1";
  const std::string found = fmt::format("dtype '{}'", descr);
  if (row == descr_rows.end() && !bits_only) {
    subject.fail(
        "a dtype b1, i1 to i8, u1 to u8, f2 to f8, or V1 or V2 for 8-bit floats and bfloat16",
        found);
  }
  if (descr[0] == '>' && !type.ends_with('1')) {
    subject.fail("little-endian elements", found,
                 "convert it with a.astype(a.dtype.newbyteorder('<'))");
  }
  const int width = type[1] - '0';
  if (!wanted && bits_only) {
    subject.fail("a dtype that says what the bits mean", found,
                 "name the dtype: bfloat16 for V2, float8_e4m3fn or float8_e5m2 for V1 and f1");
  }
  if (!wanted) return row->dtype;
  const bool raw = numpy_lacks(*wanted) && (bits_only || is_unsigned_int(row->dtype));
  if (raw ? width != bytes(*wanted) : bits_only || row->dtype != *wanted) {
    subject.fail(fmt::format("dtype {}", to_string(*wanted)), found);
  }
  return *wanted;
}

NpyHeader read_header(os::InputFile& file, const Subject& subject) {
  std::array<unsigned char, 12> start{};
  if (file.read(start.data(), 8) != 8 || std::memcmp(start.data(), magic.data(), 6) != 0) {
    subject.fail("a .npy file, which starts with \\x93NUMPY", "another start");
  }
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0) {
    subject.fail("format version 1.0, 2.0 or 3.0",
                 fmt::format("version {}.{}", version, static_cast<int>(start[7])));
  }
  const std::size_t digits = version == 1 ? 2 : 4;
  std::size_t length = 0;
  if (file.read(start.data() + 8, digits) != digits)
    subject.fail("a header", "the end of the file");
  for (std::size_t i = digits; i-- > 0;) length = length << 8 | start[8 + i];
  if (length > max_header) {
    subject.fail(fmt::format("a header of at most {} bytes", max_header),
                 fmt::format("a header of {} bytes", length));
  }
  std::string text(length, '\0');
  if (const std::size_t got = file.read(text.data(), length); got != length) {
    subject.fail(fmt::format("a header of {} bytes", length), fmt::format("{} bytes", got));
  }
  NpyHeader header;
  if (const std::string fault = parse_npy_header(text, header); !fault.empty()) {
    subject.fail("a header {'descr': ..., 'fortran_order': ..., 'shape': (...)}", fault);
  }
  return header;
}

// Bytes of all elements, or the largest number when they overflow: no file has that many.
std::uint64_t needed_bytes(const std::vector<std::int64_t>& shape, DType dtype) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  auto total = static_cast<std::uint64_t>(bytes(dtype));
  for (std::int64_t extent : shape) {
    if (__builtin_mul_overflow(total, static_cast<std::uint64_t>(extent), &total)) return ~0ULL;
  }
  return total;
}

Tensor read_tensor(os::InputFile& file, const NpyHeader& header, DType dtype,
                   const Subject& subject) {
  const std::uint64_t needed = needed_bytes(header.shape, dtype);
  const std::uint64_t there = file.remaining();
  const auto complain = [&](std::uint64_t found) {
    subject.fail(fmt::format("the elements of shape ({}) and dtype {}, which is {} bytes",
                             fmt::join(header.shape, ", "), to_string(dtype),
                             needed == ~0ULL ? std::string("over 2^64") : std::to_string(needed)),
                 fmt::format("{} bytes after the header", found));
  };
  if (there != needed) complain(there);
  Tensor tensor(header.shape, dtype, subject.where);
  // The file may have shrunk since its length was asked for.
  const std::size_t got = file.read(tensor.data(), static_cast<std::size_t>(needed));
  if (got != needed) complain(got);
  if (dtype == bool_) {
    // Any other byte than 0 and 1 has no meaning as a bool in C.
    for (std::uint8_t& byte : tensor.elements<std::uint8_t>()) byte = byte != 0;
  }
  if (!header.fortran_order || tensor.size() == 0) return tensor;
  std::vector<std::int64_t> strides(header.shape.size(), 1);
  for (std::size_t i = 1; i < strides.size(); ++i) {
    strides[i] = strides[i - 1] * header.shape[i - 1];
  }
  return Tensor(TensorView(tensor.data(), dtype, header.shape, strides), subject.where);
}

Tensor load(const std::string& path, std::optional<DType> wanted, Location where) {
  const Subject subject{path, where};
  try {
    os::InputFile file(path, where);
    const NpyHeader header = read_header(file, subject);
    return read_tensor(file, header, resolve_dtype(header.descr, wanted, subject), subject);
  } catch (const std::bad_alloc&) {
    raise(ErrorCode::E0712, where,
          {.needed = "memory for the content of " + path,
           .found = "that the system refused it",
           .help = "use a smaller file, or free memory"});
  }
}

// The bytes in front of the elements, which then start at a multiple of 64.
std::string header_bytes(const TensorView& view) {
  std::string shape;
  for (std::int64_t extent : view.shape) shape += fmt::format("{}, ", extent);
  // Python writes (3,) for one extent and (3, 4) for more.
  if (view.rank() > 0) shape.resize(shape.size() - (view.rank() == 1 ? 1 : 2));
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 descr_of(view.dtype), shape);
  constexpr std::size_t prefix = 10;
  text.resize((text.size() + 1 + prefix + 63) / 64 * 64 - prefix, ' ');
  text.back() = '\n';
  const auto low = static_cast<char>(text.size() & 0xff);
  const auto high = static_cast<char>(text.size() >> 8);
  return std::string(magic) + '\x01' + '\0' + low + high + text;
}

}  // namespace

Tensor load_npy(const std::string& path, Location where) { return load(path, std::nullopt, where); }

Tensor load_npy(const std::string& path, DType dtype, Location where) {
  return load(path, dtype, where);
}

void save_npy(const std::string& path, const TensorView& view, Location where) {
  if (view.shape.size() > npy_max_rank) {
    Subject{path, where}.fail(fmt::format("at most {} dimensions", npy_max_rank),
                              fmt::format("{} to be written", view.shape.size()));
  }
  const std::int64_t count = view.size(where);
  const bool dense = view.contiguous() && view.device.is_host() && view.data != nullptr;
  const Tensor gathered = dense ? Tensor() : Tensor(view, where);
  os::OutputFile file(path, where);
  file.write(header_bytes(view));
  file.write(dense ? view.data : gathered.data(),
             static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes(view.dtype)));
  file.commit();
}

}  // namespace tilecopy
