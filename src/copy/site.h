// One tile operation as the planner sees it: loops over pairs of dimensions, with what is known of
// bounds and strides on each side.
#pragma once

#include <set>

#include "copy/address.h"
#include "ir/facts.h"
#include "ir/node.h"
#include "target/target.h"

namespace tilecopy::planner {

/// Loop indices [begin, end) at which one side is inside its region and buffer.
struct Span {
  Expr begin, end;
  bool whole = false;  ///< provably all of the loop
};

/// One side of an axis.
struct AxisSide {
  int dim = 0;  ///< of the buffer
  Span inside;
  std::optional<Expr> stride;  ///< elements per step; empty where it varies
};

/// A loop of the operation: a pair of dimensions whose extent is not 1.
struct Axis {
  Expr extent;
  AxisSide dst;
  std::optional<AxisSide> src;  ///< empty for a fill
};

/// The layout of each fragment tile.
using Fragments = std::map<const ir::BufferNode*, Fragment>;

/// What all operations of a SIMT kernel share.
struct Simt {
  Var thread;
  int threads = 1;
  Fragments fragments;
  std::map<const ir::BufferNode*, Buffer> registers;  ///< of each fragment, those of one thread
  Buffer mbarriers;                                   ///< uint64, in shared memory
  std::set<const ir::BufferNode*> written;            ///< the tensors that the kernel writes
};

/// What the variant of a kernel for the usual arguments may take for granted. Each fact that is
/// used becomes a guard of the variant.
struct Assumptions {
  ir::Facts facts;  ///< the kernel's, and that symbols are multiples
  std::vector<std::pair<Var, std::int64_t>> multiples;
};

struct Site {
  const ir::TileOp* op = nullptr;
  std::string operation;  ///< such as "copy A -> tile"
  const ir::Hints* hints = nullptr;
  const target::Target* target = nullptr;
  const ir::Facts* facts = nullptr;
  const Layouts* layouts = nullptr;
  const Simt* simt = nullptr;                ///< null on cpu
  const Assumptions* assumptions = nullptr;  ///< null for the variant that takes all arguments
  std::string_view method;                   ///< CompileOptions::method

  ir::Region dst;
  std::optional<ir::Region> src;  ///< empty for a fill and im2col
  std::vector<Axis> axes;         ///< outermost first, in the order of dst's dimensions
  /// Conditions under which the dimensions of extent 1 are in bounds, where that is not proved.
  std::vector<Expr> src_conditions;
  std::vector<Expr> dst_conditions;
  Expr safe;   ///< of the source's dtype
  Expr value;  ///< of a fill, of the destination's dtype

  const ir::Im2col* im2col() const {
    return op->kind == ir::StmtKind::Im2col ? static_cast<const ir::Im2col*>(op) : nullptr;
  }
  /// The index into `region` at loop indices `loops` (one per axis).
  std::vector<Expr> index(bool of_src, const std::vector<Expr>& loops) const;
  Expr offset(bool of_src, const std::vector<Expr>& loops) const;
};

/// `op` is a Copy, Transpose, Fill or Im2col; for im2col the axes are those of col.
Site make_site(const ir::TileOp& op, const target::Target& target, const ir::Facts& facts,
               const Layouts& layouts);

}  // namespace tilecopy::planner
