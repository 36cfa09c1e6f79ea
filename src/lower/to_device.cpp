// Rewrites a tile-level kernel at device level. Input promise: verified, one decision per tile
// operation. Output promise: device-level statements only, every access in bounds or guarded. It
// stands after select_copies because it carries decisions out and takes none.
#include "ir/make.h"
#include "lower/access.h"
#include "lower/lower.h"

namespace tilecopy::lower {
namespace {

class DeviceLowering {
 public:
  DeviceLowering(const std::vector<planner::Decision>& decisions, const ir::Facts& facts,
                 const planner::Layouts& layouts)
      : decisions_(decisions), layouts_(layouts), access_(facts, layouts) {}

  ir::Stmt stmt(const ir::Stmt& s) const {
    switch (s->kind) {
      case ir::StmtKind::Block: return block(ir::get<ir::Block>(s));
      case ir::StmtKind::Alloc: return alloc(ir::get<ir::Alloc>(s));
      case ir::StmtKind::For: {
        const auto& loop = ir::get<ir::For>(s);
        return ir::make_for(loop.loop, loop.var, access_.expr(loop.begin), access_.expr(loop.end),
                            stmt(loop.body), loop.where);
      }
      case ir::StmtKind::If: {
        const auto& branch = ir::get<ir::If>(s);
        return ir::make_if(access_.expr(branch.condition), stmt(branch.then_body),
                           branch.else_body ? stmt(branch.else_body) : nullptr, branch.where);
      }
      case ir::StmtKind::Store: return access_.store(ir::get<ir::Store>(s));
      case ir::StmtKind::Parallel: return parallel(ir::get<ir::Parallel>(s));
      case ir::StmtKind::Copy:
      case ir::StmtKind::Im2col:
      case ir::StmtKind::Transpose:
      case ir::StmtKind::Fill: return tile_op(static_cast<const ir::TileOp&>(*s));
      case ir::StmtKind::Let:
      case ir::StmtKind::TensorMap:
      case ir::StmtKind::Instr: return s;
    }
    return s;
  }

 private:
  ir::Stmt block(const ir::Block& b) const {
    std::vector<ir::Stmt> body;
    for (const ir::Stmt& s : b.body) body.push_back(stmt(s));
    return ir::make_block(std::move(body), b.where);
  }

  ir::Stmt alloc(const ir::Alloc& a) const {
    auto result = std::make_shared<ir::Alloc>(a);
    auto layout = layouts_.find(a.buffer.node());
    if (layout != layouts_.end()) result->layout = layout->second;
    return result;
  }

  ir::Stmt parallel(const ir::Parallel& p) const {
    ir::Stmt body = stmt(p.body);
    for (std::size_t d = p.vars.size(); d-- > 0;) {
      body = ir::make_for(ir::LoopKind::serial, p.vars[d], ir::make_int(0),
                          access_.expr(p.extents[d]), body, p.where);
    }
    return body;
  }

  ir::Stmt tile_op(const ir::TileOp& op) const {
    const planner::Decision& decision = decisions_[static_cast<std::size_t>(op.id)];
    std::vector<ir::Stmt> body = decision.prologue;
    body.push_back(decision.plan->method->lower(*decision.plan, decision.site));
    return ir::make_block(std::move(body), op.where);
  }

  const std::vector<planner::Decision>& decisions_;
  const planner::Layouts& layouts_;
  AccessLowering access_;
};

}  // namespace

ir::Kernel to_device(const ir::Kernel& kernel, const std::vector<planner::Decision>& decisions,
                     const ir::Facts& facts, const planner::Layouts& layouts) {
  ir::Kernel result = kernel;
  result.level = ir::Level::device;
  result.body = DeviceLowering(decisions, facts, layouts).stmt(kernel.body);
  return result;
}

}  // namespace tilecopy::lower
