// The rules of operands: what an operand covers, and when two operands fit together.
#pragma once

#include "ir/facts.h"
#include "ir/node.h"
#include "tilecopy/language.h"

namespace tilecopy::language {

/// The region an operand covers. A bare element has extents of 1 until it borrows others.
struct ResolvedOperand {
  ir::Region region;
  bool bare_element = false;
};

/// Raises E0102..E0104, E0410, E0411, E0420.
ResolvedOperand resolve_operand(const Operand& operand, const ir::Facts& facts, Location where);

/// Lets a bare element borrow the other side's extents, then checks that the two sides agree.
/// Raises E0101, E0105, E0106.
void match_extents(ResolvedOperand& src, ResolvedOperand& dst, const ir::Facts& facts,
                   Location where);

/// Checks one index of an element: an integer, widened to int64. Raises E0420, E0113 for a range.
Expr element_index(const Index& index, Location where);

/// True when the two regions provably share no element.
bool provably_disjoint(const ir::Region& a, const ir::Region& b, const ir::Facts& facts);

/// Extents that are not the constant 1, in order.
std::vector<Expr> non_unit(const std::vector<Expr>& extents);

/// "(64, n)" for messages.
std::string shape_text(const std::vector<Expr>& extents);

}  // namespace tilecopy::language
