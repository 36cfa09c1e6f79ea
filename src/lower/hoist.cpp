#include "lower/hoist.h"

#include "base/diagnostic.h"
#include "ir/make.h"
#include "ir/walk.h"

namespace tilecopy::lower {
namespace {

bool reads_buffer(const Expr& e) {
  bool reads = false;
  ir::for_each_expr(e, [&](const Expr& part) { reads |= ir::as<ir::Load>(part) != nullptr; });
  return reads;
}

class Hoister {
 public:
  explicit Hoister(const AccessLowering& access) : access_(access) {}

  void name(Expr& e) {
    if (!e.defined() || !reads_buffer(e)) return;
    // The two sides of a copy share an extent: they must share its name as well.
    for (const auto& [known, var] : named_) {
      if (ir::equal(known, e)) {
        e = var;
        return;
      }
    }
    Var var("value", e.dtype());
    prologue.push_back(ir::make_let(var, access_.expr(e)));
    named_.emplace_back(e, var);
    e = var;
  }

  void name(ir::Region& region) {
    for (Expr& e : region.origin) name(e);
    for (Expr& e : region.extent) name(e);
  }

  std::vector<ir::Stmt> prologue;

 private:
  const AccessLowering& access_;
  std::vector<std::pair<Expr, Var>> named_;
};

}  // namespace

HoistedOp hoist_loads(const ir::Stmt& s, const AccessLowering& access) {
  Hoister hoister(access);
  std::shared_ptr<const ir::TileOp> op;
  if (const auto* copy = ir::as<ir::Copy>(s)) {
    auto result = std::make_shared<ir::Copy>(*copy);
    hoister.name(result->src);
    hoister.name(result->dst);
    op = result;
  } else if (const auto* transpose = ir::as<ir::Transpose>(s)) {
    auto result = std::make_shared<ir::Transpose>(*transpose);
    hoister.name(result->src);
    hoister.name(result->dst);
    op = result;
  } else if (const auto* fill = ir::as<ir::Fill>(s)) {
    auto result = std::make_shared<ir::Fill>(*fill);
    hoister.name(result->dst);
    hoister.name(result->value);
    op = result;
  } else if (const auto* im2col = ir::as<ir::Im2col>(s)) {
    auto result = std::make_shared<ir::Im2col>(*im2col);
    hoister.name(result->col);
    hoister.name(result->nhw_step);
    hoister.name(result->c_step);
    op = result;
  } else {
    raise_internal("hoist_loads of a statement that is no tile operation", s->where);
  }
  return {std::move(op), std::move(hoister.prologue)};
}

}  // namespace tilecopy::lower
