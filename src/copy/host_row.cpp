#include "copy/host_row.h"

#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;

Expr clamp(const Expr& e, const Expr& low, const Expr& high) {
  return make_binary(BinaryOp::min, make_binary(BinaryOp::max, e, low), high);
}

}  // namespace

Expr NamedBlock::name(const char* wanted, const Expr& value) {
  Expr simple = facts_.simplify(value);
  if (ir::const_int(simple) || ir::as<ir::VarNode>(simple)) return simple;
  Var var(wanted, simple.dtype());
  facts_.bind(var, facts_.bounds(simple));
  add(ir::make_let(var, simple, where_));
  return var;
}

ir::Stmt NamedBlock::take() { return ir::make_block(std::move(body_), where_); }

ir::Stmt make_row(const Row& row, ir::Facts& facts, Location where) {
  if (!row.inside_begin.defined() && !row.inside.defined()) {
    // A row that is clipped away may end before it begins, and a run has no negative length.
    const bool ordered = facts.proves(make_binary(BinaryOp::le, row.begin, row.end));
    return row.move(row.begin, ordered ? row.end : make_binary(BinaryOp::max, row.begin, row.end));
  }

  NamedBlock block(facts, where);
  Expr lo = row.begin;
  Expr hi = row.end;
  if (row.inside_begin.defined()) {
    lo = clamp(row.inside_begin, row.begin, row.end);
    hi = clamp(row.inside_end, row.begin, row.end);
  }
  if (row.inside.defined()) {
    lo = ir::make_select(row.inside, lo, row.end);
    hi = ir::make_select(row.inside, hi, row.end);
  }
  lo = block.name("lo", lo);
  // An empty source range may begin past its end.
  hi = block.name("hi", facts.proves(make_binary(BinaryOp::le, lo, hi))
                            ? hi
                            : make_binary(BinaryOp::max, lo, hi));

  auto add = [&](const auto& part, const Expr& from, const Expr& to) {
    if (!facts.proves(make_binary(BinaryOp::ge, from, to))) block.add(part(from, to));
  };
  add(row.fill, row.begin, lo);
  if (!facts.proves(make_binary(BinaryOp::ge, lo, hi))) {
    ir::Stmt move = row.move(lo, hi);
    // The address of nothing may lie outside of the array.
    Expr some = make_binary(BinaryOp::lt, lo, hi);
    bool guard = move->kind == ir::StmtKind::Instr && !facts.proves(some);
    block.add(guard ? ir::make_if(some, move, nullptr, where) : move);
  }
  add(row.fill, hi, row.end);
  return block.take();
}

ir::Stmt make_store_loop(const Buffer& buffer, const Expr& from, const Expr& to,
                         const std::function<Expr(const Expr&)>& offset,
                         const std::function<Expr(const Expr&)>& value, Location where) {
  Var var("j", int64);
  return ir::make_for(ir::LoopKind::serial, var, from, to,
                      ir::make_store(buffer, {offset(var)}, value(var), where), where);
}

Expr all_of(const std::vector<Expr>& conditions) {
  Expr result;
  for (const Expr& condition : conditions) {
    result = result.defined() ? make_binary(BinaryOp::logical_and, result, condition) : condition;
  }
  return result;
}

}  // namespace tilecopy::planner
