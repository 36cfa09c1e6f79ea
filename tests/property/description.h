// A random kernel as plain data: what both the tilecopy program and the reference are made from,
// and what shrinking takes apart.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "property/scalar.h"
#include "tilecopy/language.h"

namespace tilecopy::property {

/// A variable of the kernel. Loops and the axes of parallel loops are numbered over the kernel.
struct VarRef {
  enum Kind : std::uint8_t { symbol, block, loop, axis } kind = symbol;
  int number = 0;
};

/// (constant + sum of terms) / divisor % modulus + offset + lookup[...], rounded down.
struct Affine {
  struct Term {
    std::int64_t factor = 1;
    VarRef var;
  };
  std::int64_t constant = 0;
  std::vector<Term> terms = {};
  std::int64_t divisor = 1;
  std::int64_t modulus = 0;  ///< 0 for none
  std::int64_t offset = 0;
  int lookup = -1;  ///< a tensor of rank 1, read at `lookup_at`
  std::int64_t lookup_at = 0;
};

/// A constant, or a symbol.
struct Extent {
  std::int64_t constant = 1;
  int symbol = -1;

  bool is_unit() const { return symbol < 0 && constant == 1; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// A scalar expression as a tree.
struct Node {
  enum Kind : std::uint8_t { constant, literal, index, load, unary, binary, select, cast };
  Kind kind = constant;
  DType dtype = float32;
  double number = 0;   ///< of a constant or of a literal, which has no dtype in the program
  Affine affine = {};  ///< of an index
  int buffer = -1;     ///< of a load
  std::vector<Affine> at = {};
  Op op = Op::add;
  std::vector<Node> operands = {};
};

struct Tensor {
  enum Strides : std::uint8_t { row_major, constant, symbolic, inner_one };
  DType dtype = float32;
  std::vector<Extent> shape;
  Strides strides = row_major;
  std::vector<std::int64_t> constant_strides = {};
  bool written = false;
  bool index_table = false;  ///< holds small numbers, for lookups
};

/// Each dimension split into digits, fastest first, each with a stride.
struct Digit {
  std::int64_t extent, stride;
};
struct TileLayoutData {
  std::vector<std::vector<Digit>> digits;
  std::optional<std::array<int, 3>> swizzle;  ///< bits, base, shift
  int tma_span = 0;                           ///< swizzled_row_major of so many bytes instead
};

/// As TileLayoutData, of the threads and of the registers: a digit has a stride in one of them.
struct FragmentData {
  std::vector<std::vector<Digit>> thread, reg;
};

struct Tile {
  Scope scope = Scope::shared;
  DType dtype = float32;
  std::vector<std::int64_t> shape;
  std::optional<TileLayoutData> layout;
  std::optional<FragmentData> fragment;
};

/// An operand. Buffers are numbered, tensors first.
struct Side {
  enum Form : std::uint8_t { whole, element, region };
  struct Dim {
    Affine origin;
    Extent extent;       ///< of a region
    bool range = false;  ///< of a region: a range, else an index
  };
  int buffer = 0;
  Form form = whole;
  std::vector<Dim> dims;
};

struct Hint {
  enum Route : std::uint8_t { option, annotation, both };  ///< both: the annotation is right
  std::optional<int> coalesced_width = {};
  bool disable_tma = false;
  std::optional<std::string> eviction_policy = {};
  std::optional<std::string> prefer_instruction = {};
  std::optional<FragmentData> loop_layout = {};
  bool cuda = false;
  Route route = option;
};

struct Statement {
  enum Kind : std::uint8_t { copy, transpose, fill, element, safe_value, loop, branch };
  Kind kind = copy;
  Side src, dst;
  Hint hint = {};
  Node value = {};  ///< filled or stored; a branch's condition; a constant safe value
  std::vector<Extent> extents = {};  ///< of an element loop
  int first_axis = 0;                ///< its first axis variable
  std::vector<Affine> at = {};       ///< the element that it stores to in dst.buffer
  bool through_local = false;        ///< by way of a local buffer of the iteration
  int loop_number = 0;
  bool unrolled = false;
  std::int64_t begin = 0;
  Extent trips = {};
  std::vector<Statement> body = {}, else_body = {};
};

/// What one launch binds: symbols, the strides of tensors that do not state them, and contents.
struct Launch {
  std::vector<std::int64_t> symbols;
  std::vector<std::vector<std::int64_t>> strides;
  std::vector<std::int64_t> shifts;
  std::uint64_t contents = 0;
  int threads = 1;
};

struct Description {
  std::uint64_t seed = 0;
  int symbols = 0;
  std::vector<Tensor> tensors;
  std::vector<Tile> tiles;
  std::vector<Affine> grid;  ///< made of symbols
  int threads = 128;
  std::vector<Statement> body;
  std::vector<Launch> launches;
  int opt_level = 1;

  bool is_tensor(int buffer) const { return buffer < static_cast<int>(tensors.size()); }
  const Tensor& tensor(int buffer) const { return tensors[static_cast<std::size_t>(buffer)]; }
  const Tile& tile(int buffer) const {
    return tiles[static_cast<std::size_t>(buffer) - tensors.size()];
  }
  DType dtype(int buffer) const {
    return is_tensor(buffer) ? tensor(buffer).dtype : tile(buffer).dtype;
  }
  std::vector<Extent> shape(int buffer) const {
    if (is_tensor(buffer)) return tensor(buffer).shape;
    std::vector<Extent> result;
    for (std::int64_t extent : tile(buffer).shape) result.push_back({extent, -1});
    return result;
  }
};

/// The description of a seed, always the same.
Description generate(std::uint64_t seed);
/// One that moves aligned tiles through shared memory and fragments.
Description generate_tiles(std::uint64_t seed);
/// The tilecopy program. Raises what the library raises.
Function build(const Description& kernel);

}  // namespace tilecopy::property
