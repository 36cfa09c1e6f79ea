// Turns tile-level reads into device-level ones: an offset through the layout, guarded where the
// element is not proved in bounds.
#pragma once

#include "copy/address.h"
#include "ir/facts.h"
#include "ir/node.h"

namespace tilecopy::lower {

/// The register that stands for a fragment's element in the iteration at hand.
using Registers = std::map<const ir::BufferNode*, ir::Address>;

class AccessLowering {
 public:
  AccessLowering(const ir::Facts& facts, const planner::Layouts& layouts)
      : facts_(facts), layouts_(layouts) {}
  AccessLowering(const ir::Facts& facts, const planner::Layouts& layouts, Registers registers)
      : facts_(facts), layouts_(layouts), registers_(std::move(registers)) {}

  Expr expr(const Expr& e) const;
  /// A Store, guarded where its element is not proved in bounds.
  ir::Stmt store(const ir::Store& s) const;
  std::vector<Expr> exprs(const std::vector<Expr>& list) const;
  /// The offset of an element whose indices are at device level.
  Expr offset(const Buffer& buffer, const std::vector<Expr>& indices) const;
  /// Whether the element is in bounds; undefined when that is proved.
  Expr bounds_condition(const Buffer& buffer, const std::vector<Expr>& indices) const;

 private:
  const ir::Facts& facts_;
  const planner::Layouts& layouts_;
  Registers registers_;
};

}  // namespace tilecopy::lower
