// One row of a tile operation on the cpu target: destination elements of which a part comes from
// the source and the rest, where the source is out of bounds, from a constant.
#pragma once

#include <functional>

#include "ir/facts.h"
#include "ir/node.h"

namespace tilecopy::planner {

/// Statements of a block in which values get names. Values that are constants or variables already
/// stay as they are; what is known of the others goes into the facts.
class NamedBlock {
 public:
  NamedBlock(ir::Facts& facts, Location where) : facts_(facts), where_(where) {}

  Expr name(const char* wanted, const Expr& value);
  void add(ir::Stmt statement) { body_.push_back(std::move(statement)); }
  ir::Stmt take();

 private:
  ir::Facts& facts_;
  Location where_;
  std::vector<ir::Stmt> body_;
};

struct Row {
  Expr begin, end;  ///< loop indices whose destination is in bounds
  /// Loop indices whose source is in bounds, not yet clamped to [begin, end); undefined when all
  /// of the row is.
  Expr inside_begin, inside_end;
  /// Whether any source element of the row is in bounds; undefined when it is so.
  Expr inside;
  /// Statements for the loop indices [from, to). For `move`, from <= to.
  std::function<ir::Stmt(const Expr& from, const Expr& to)> move;
  std::function<ir::Stmt(const Expr& from, const Expr& to)> fill;
};

/// fill [begin, lo), move [lo, hi), fill [hi, end), with lo and hi named, and what is provably
/// empty left out.
ir::Stmt make_row(const Row& row, ir::Facts& facts, Location where);

/// for (var in [from, to)) buffer[offset(var)] = value(var)
ir::Stmt make_store_loop(const Buffer& buffer, const Expr& from, const Expr& to,
                         const std::function<Expr(const Expr&)>& offset,
                         const std::function<Expr(const Expr&)>& value, Location where);

/// a && b && ...; undefined without conditions.
Expr all_of(const std::vector<Expr>& conditions);

}  // namespace tilecopy::planner
