// Random index and element expressions over the variables in scope.
#pragma once

#include <utility>
#include <vector>

#include "property/description.h"
#include "property/random_source.h"

namespace tilecopy::property {

class ValueGenerator {
 public:
  ValueGenerator(RandomSource& random, Description& kernel) : random_(random), kernel_(kernel) {}

  DType dtype();
  /// Where a region starts in a dimension of extent `room`.
  Affine origin(const Extent& room, const Extent& extent);
  /// An index of an element that is read: anything, often in bounds.
  Affine index(const Extent& room);
  /// A scalar of the dtype; depth 0 is a leaf. `own` is the element that is stored to, the only one
  /// of its buffer that may be read.
  Node value(DType dtype, int depth, const Statement* own);
  /// A constant that the dtype holds.
  Node constant(DType dtype);
  Node condition();
  /// Loops of these extents, shared out over the threads of the block.
  FragmentData fragment(const std::vector<std::int64_t>& extents);

  std::vector<VarRef> vars;  ///< in scope: blocks, loops, and axes inside of an element loop

 private:
  Node leaf(DType dtype, const Statement* own);
  Node load(DType dtype, const Statement* own);
  Node branch_of(DType dtype, int depth, const Statement* own);
  Node real_value(DType dtype, int depth, const Statement* own);
  Node integer_value(DType dtype, int depth, const Statement* own);
  Node bool_value(int depth, const Statement* own);
  Node unary(Op op, DType dtype, Node a);
  Node binary(Op op, DType dtype, Node a, Node b);
  std::int64_t about(const Extent& room);

 protected:
  RandomSource& random_;
  Description& kernel_;
};

}  // namespace tilecopy::property
