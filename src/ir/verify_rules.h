// The table of rules behind ir/verify.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "ir/node.h"

namespace tilecopy::ir {

/// What surrounds a node that is checked.
struct Site {
  const Kernel& kernel;
  const std::unordered_set<const void*>& visible;  ///< variables and buffers in scope
  bool in_parallel = false;
};

/// What breaks the rule, or empty.
using Found = std::optional<std::string>;

/// A rule of one level, or of both. Later rules of a table may rely on earlier ones.
template <typename Node>
struct VerifyRule {
  std::string_view id;
  std::optional<Level> level;
  Found (*check)(const Node&, const Site&);
};

std::span<const VerifyRule<Kernel>> kernel_rules();
std::span<const VerifyRule<StmtNode>> stmt_rules();
std::span<const VerifyRule<ExprNode>> expr_rules();

}  // namespace tilecopy::ir
