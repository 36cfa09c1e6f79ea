#include <algorithm>

#include "ir/make.h"
#include "ir/walk.h"
#include "lower/hoist.h"
#include "lower/lower.h"

namespace tilecopy::lower {

ir::Facts all_facts(const ir::Kernel& kernel) {
  ir::Facts facts = ir::kernel_facts(kernel);
  ir::for_each_stmt(kernel.body, [&](const ir::Stmt& statement) {
    if (const auto* loop = ir::as<ir::For>(statement)) {
      facts.bind_loop(loop->var, loop->begin, loop->end);
    } else if (const auto* parallel = ir::as<ir::Parallel>(statement)) {
      for (std::size_t d = 0; d < parallel->vars.size(); ++d) {
        facts.bind_loop(parallel->vars[d], ir::make_int(0), parallel->extents[d]);
      }
    }
  });
  return facts;
}

std::vector<planner::Decision> select_copies(const ir::Kernel& kernel, const target::Target& target,
                                             const ir::Facts& facts,
                                             const planner::Layouts& layouts,
                                             const Selection& selection) {
  AccessLowering access(facts, layouts);
  std::vector<planner::Decision> decisions;
  ir::for_each_stmt(kernel.body, [&](const ir::Stmt& statement) {
    switch (statement->kind) {
      case ir::StmtKind::Copy:
      case ir::StmtKind::Im2col:
      case ir::StmtKind::Transpose:
      case ir::StmtKind::Fill: break;
      case ir::StmtKind::Block:
      case ir::StmtKind::Alloc:
      case ir::StmtKind::For:
      case ir::StmtKind::If:
      case ir::StmtKind::Store:
      case ir::StmtKind::Parallel:
      case ir::StmtKind::Let:
      case ir::StmtKind::TensorMap:
      case ir::StmtKind::Instr: return;
    }
    HoistedOp hoisted = hoist_loads(statement, access);
    planner::Site site = planner::make_site(*hoisted.op, target, facts, layouts);
    site.simt = selection.simt;
    site.assumptions = selection.assumptions;
    site.method = selection.method;
    planner::Decision decision = planner::decide(std::move(site));
    decision.op = std::move(hoisted.op);
    decision.prologue = std::move(hoisted.prologue);
    decisions.push_back(std::move(decision));
  });
  std::sort(decisions.begin(), decisions.end(),
            [](const auto& a, const auto& b) { return a.report.id < b.report.id; });
  return decisions;
}

}  // namespace tilecopy::lower
