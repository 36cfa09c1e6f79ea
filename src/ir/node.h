// The nodes of the IR: immutable, shared, tagged structs. Makers are in ir/make.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tilecopy/cuda.h"
#include "tilecopy/expr.h"
#include "tilecopy/layout.h"

namespace tilecopy::ir {

enum class ExprKind : std::uint8_t {
#define TILECOPY_EXPR(Struct) Struct,
#include "ir/nodes.def"
};

enum class StmtKind : std::uint8_t {
#define TILECOPY_STMT(Struct, level) Struct,
#include "ir/nodes.def"
};

enum class UnaryOp : std::uint8_t {
#define TILECOPY_UNARY(name, text, operands) name,
#include "ir/ops.def"
};

enum class BinaryOp : std::uint8_t {
#define TILECOPY_BINARY(name, text, precedence, operands, result) name,
#include "ir/ops.def"
};

std::string_view text(UnaryOp op);
std::string_view text(BinaryOp op);
/// 0 for functions such as min.
int precedence(BinaryOp op);

// ---- Expressions ----

struct ExprNode {
  ExprKind kind;
  DType dtype;
  int depth = 1;          ///< height of the tree; at most max_expr_depth, so recursion is safe
  std::int64_t size = 1;  ///< nodes of the tree, shared ones counted each time; saturates
};

inline constexpr int max_expr_depth = 1000;
/// A few shared nodes can stand for an endless tree, which nothing could print.
inline constexpr std::int64_t max_expr_size = 1 << 20;

struct IntConst : ExprNode {  // bool and all integers
  static constexpr ExprKind tag = ExprKind::IntConst;
  std::int64_t value;    ///< uint64 values are stored by their bits
  bool literal = false;  ///< written without a dtype: takes that of what it is combined with
};

struct FloatConst : ExprNode {
  static constexpr ExprKind tag = ExprKind::FloatConst;
  double value;  ///< exactly representable in the dtype
  bool literal = false;
};

struct VarNode : ExprNode {  // one object is one variable
  static constexpr ExprKind tag = ExprKind::VarNode;
  std::string name;
  bool symbol = false;  ///< a size or stride that the arguments of a launch determine
  std::uint64_t serial =
      0;  ///< in order of creation: tells variables of one name apart, always alike
};

struct Unary : ExprNode {
  static constexpr ExprKind tag = ExprKind::Unary;
  UnaryOp op;
  Expr a;
};

struct Binary : ExprNode {
  static constexpr ExprKind tag = ExprKind::Binary;
  BinaryOp op;
  Expr a, b;
};

struct Select : ExprNode {
  static constexpr ExprKind tag = ExprKind::Select;
  Expr condition, a, b;
};

struct Cast : ExprNode {
  static constexpr ExprKind tag = ExprKind::Cast;
  Expr a;
};

/// Tile level: one index per dimension, and out of bounds reads as `safe` (zero when undefined).
/// Device level: the single index is the element's offset, and it is in bounds.
struct Load : ExprNode {
  static constexpr ExprKind tag = ExprKind::Load;
  Buffer buffer;
  std::vector<Expr> indices;
  Expr safe;
};

// ---- Buffers and regions ----

struct BufferNode {
  std::string name;
  DType dtype;
  Scope scope;
  std::vector<Expr> shape;
  std::vector<Expr> strides;  ///< in elements, global only; empty for row-major
  Location where;
};

/// The elements origin + [0, extent) of a buffer, dimension by dimension.
struct Region {
  Buffer buffer;
  std::vector<Expr> origin;
  std::vector<Expr> extent;
};

/// The hints on a tile operation, after the values in annotations have beaten the options.
struct Hints {
  std::optional<std::int64_t> coalesced_width;
  std::optional<bool> disable_tma;
  std::optional<EvictionPolicy> eviction_policy;
  std::optional<PreferInstruction> prefer_instruction;
  std::optional<Fragment> loop_layout;

  bool empty() const {
    return !coalesced_width && !disable_tma && !eviction_policy && !prefer_instruction &&
           !loop_layout;
  }
};

// ---- Statements ----

struct StmtNode {
  StmtKind kind;
  Location where;
};
using Stmt = std::shared_ptr<const StmtNode>;

struct Block : StmtNode {
  static constexpr StmtKind tag = StmtKind::Block;
  std::vector<Stmt> body;
};

/// Brings a tile into scope until the end of the enclosing block.
struct Alloc : StmtNode {
  static constexpr StmtKind tag = StmtKind::Alloc;
  Buffer buffer;
  std::optional<TileLayout> layout;  ///< annotated or inferred; row-major without
  std::optional<Fragment> fragment;  ///< of a fragment tile: thread and register of each element
};

enum class LoopKind : std::uint8_t { serial, unrolled };

struct For : StmtNode {
  static constexpr StmtKind tag = StmtKind::For;
  LoopKind loop;
  Var var;
  Expr begin, end;
  Stmt body;
};

struct If : StmtNode {
  static constexpr StmtKind tag = StmtKind::If;
  Expr condition;
  Stmt then_body;
  Stmt else_body;  ///< may be null
};

/// The indices are as for Load; the value has the buffer's dtype.
struct Store : StmtNode {
  static constexpr StmtKind tag = StmtKind::Store;
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;
};

struct Parallel : StmtNode {
  static constexpr StmtKind tag = StmtKind::Parallel;
  std::vector<Var> vars;
  std::vector<Expr> extents;
  Hints hints;  ///< coalesced_width and loop_layout only
  Stmt body;
};

/// A statement that the planner carries out; `id` is its place among the tile operations.
struct TileOp : StmtNode {
  int id;
};

struct Copy : TileOp {
  static constexpr StmtKind tag = StmtKind::Copy;
  Region src, dst;
  Expr safe;  ///< of the source's dtype; undefined for zero
  Hints hints;
};

struct Im2colWindow {
  HeightWidth kernel, stride, dilation, pad;
};

struct Im2col : TileOp {
  static constexpr StmtKind tag = StmtKind::Im2col;
  Buffer img;
  Region col;
  Expr nhw_step, c_step;
  Im2colWindow window;
  Hints hints;
};

struct Transpose : TileOp {
  static constexpr StmtKind tag = StmtKind::Transpose;
  Region src, dst;
  Expr safe;
};

struct Fill : TileOp {
  static constexpr StmtKind tag = StmtKind::Fill;
  Region dst;
  Expr value;  ///< of the destination's dtype
};

/// Names a value until the end of the enclosing block.
struct Let : StmtNode {
  static constexpr StmtKind tag = StmtKind::Let;
  Var var;
  Expr value;
};

/// Describes a tensor to the TMA unit; the launcher encodes it. Stands at the top of the kernel's
/// body. Dimensions go from the innermost to the outermost.
struct TensorMap : StmtNode {
  static constexpr StmtKind tag = StmtKind::TensorMap;
  Var var;  ///< names it in instructions; of dtype uint64
  Buffer tensor;
  std::vector<Expr> dims;         ///< in elements
  std::vector<Expr> strides;      ///< in bytes, of all dimensions but the innermost
  std::vector<std::int64_t> box;  ///< in elements; for im2col channels and pixels
  std::vector<std::int64_t> element_strides;
  std::vector<std::int64_t> lower, upper;  ///< im2col only: corners, W then H
  int swizzle_bytes = 0;                   ///< 0, 32, 64 or 128
  int l2_promotion_bytes = 0;              ///< 0, 64, 128 or 256

  bool im2col() const { return !lower.empty(); }
};

/// The place of one element: what device instructions take as an address.
struct Address {
  Buffer buffer;
  Expr offset;  ///< in elements
};
using InstrOperand = std::variant<Address, Expr>;

/// A row of the instruction catalogue (isa/instructions.def) with its operands.
struct Instr : StmtNode {
  static constexpr StmtKind tag = StmtKind::Instr;
  std::string name;
  std::vector<InstrOperand> operands;
};

// ---- Kernels ----

enum class Level : std::uint8_t { tile, device };

using Param = std::variant<Buffer, Var>;

struct Kernel {
  std::string name;
  Location where;
  Level level = Level::tile;
  std::vector<Param> params;  ///< tensors and scalars, in the order of the arguments
  std::vector<Var> symbols;   ///< int64 values bound at launch by the tensors' shapes and strides
  std::vector<Var> block;     ///< block indices, fastest-varying first
  std::vector<Expr> grid;     ///< extents of the block indices
  int threads = 1;
  /// Device level of SIMT targets: the index of the thread that runs the body. Undefined on cpu,
  /// where one thread runs a block.
  Var thread;
  std::uint64_t serial = 0;  ///< tells functions apart; handles of tile operations hold it
  Stmt body;
};

template <typename T>
const T* as(const Expr& e) {
  return e.defined() && e.node()->kind == T::tag ? static_cast<const T*>(e.node()) : nullptr;
}
template <typename T>
const T* as(const Stmt& s) {
  return s && s->kind == T::tag ? static_cast<const T*>(s.get()) : nullptr;
}
template <typename T>
const T& get(const Expr& e) {
  return *static_cast<const T*>(e.node());
}
template <typename T>
const T& get(const Stmt& s) {
  return *static_cast<const T*>(s.get());
}

}  // namespace tilecopy::ir
