// How the elements of a loop nest are dealt out to the threads of a block.
#pragma once

#include <vector>

#include "ir/facts.h"
#include "ir/node.h"

namespace tilecopy::planner {

/// The elements that one thread takes in one round: `vector` neighbours along one axis.
struct Group {
  std::vector<Expr> loops;  ///< loop indices of the first, one for each axis
  Expr exists;              ///< false past the last group; undefined when there is always one
  Expr reg;                 ///< of a fragment: the register of the first
};

class Partition {
 public:
  /// Nothing to share out.
  Partition() = default;
  /// In the order of `order` (axes, outermost first), `vector` neighbours along the last of them at
  /// a time, to thread after thread, round after round. The extent of that axis is a multiple of
  /// `vector`. With `threads` 1, each thread takes all elements.
  static Partition linear(std::vector<Expr> extents, std::vector<std::size_t> order, int threads,
                          int vector);
  /// As a fragment holds its elements: `axes[d]` is the axis of dimension d, whose loop index is
  /// the coordinate less `origin[d]`; a dimension without axis (-1) has its coordinate at origin.
  /// The fragment is bijective. `exists` tells whether the group is in the loop nest.
  static Partition of_fragment(const Fragment& fragment, std::vector<int> axes,
                               std::vector<Expr> origin, std::vector<Expr> extents, int vector,
                               int threads);

  int vector() const { return vector_; }
  /// The axis along which groups run; -1 when there are no axes.
  int axis() const { return axis_; }
  /// The number of rounds of each thread.
  Expr rounds() const;
  Group group(const Expr& thread, const Expr& round, const ir::Facts& facts) const;

 private:
  std::vector<Expr> extents_;
  std::vector<std::size_t> order_;
  int threads_ = 1;
  int vector_ = 1;
  int axis_ = -1;
  bool is_fragment_ = false;
  Fragment fragment_;
  std::vector<int> axes_;
  std::vector<Expr> origin_;
};

/// The most registers in a row, a power of two up to `most`, that hold neighbours along dimension
/// `*dim` of a bijective fragment, at multiples of as many coordinates. Sets `*dim`.
int fragment_vector(const Fragment& fragment, int most, int* dim);

}  // namespace tilecopy::planner
