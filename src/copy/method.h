// What a way to carry out a tile operation is made of: rules it must meet, a plan with its numbers,
// and the device code that executes the plan.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "copy/proof.h"
#include "copy/site.h"
#include "tilecopy/compile.h"

namespace tilecopy::planner {

/// Records the rules that a method asks about. The same object steers the choice and explains it.
class Rules {
 public:
  Rules(std::string_view method, const Site& site) : method_(method), proof_(site) {}

  /// Adds a rule and returns `ok`. The id is "method.name".
  bool require(std::string_view name, bool ok, std::string needed, std::string found,
               std::string advice = {});

  /// Proofs about what the rules ask; what they take for granted become guards of the plan.
  Proof& proof() { return proof_; }
  /// A sentence about a hint that this method honours less than asked.
  void missed(std::string remark) { missed_.push_back(std::move(remark)); }

  const std::vector<RuleReport>& reports() const { return reports_; }
  const std::vector<std::string>& missed_hints() const { return missed_; }
  /// The first rule that failed, or null.
  const RuleReport* failed() const;

 private:
  std::string_view method_;
  std::vector<RuleReport> reports_;
  std::vector<std::string> missed_;
  Proof proof_;
};

struct Method;

/// How one operation will be carried out. Each method derives its own, with the numbers that its
/// lowering needs; `parameters` are those for people.
struct Plan {
  virtual ~Plan() = default;

  const Method* method = nullptr;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<Guard> guards;
  // CUDA.
  std::vector<std::shared_ptr<ir::TensorMap>> tensor_maps;
  /// Bytes that an mbarrier of its own waits for; 0 for none.
  std::int64_t barrier_bytes = 0;
  Expr mbarrier;  ///< its place among Simt::mbarriers; select_copies gives it
};

struct Method {
  std::string_view name;
  /// The plan, or null when a rule failed.
  std::unique_ptr<Plan> (*plan)(const Site& site, Rules& rules);
  /// Executes the plan. Cannot fail or choose.
  ir::Stmt (*lower)(const Plan& plan, const Site& site);
};

/// A site with what was decided for it.
struct Decision {
  std::shared_ptr<const ir::TileOp> op;  ///< what the site points to
  std::vector<ir::Stmt> prologue;        ///< device-level Lets of values that the operation uses
  Site site;
  std::unique_ptr<Plan> plan;
  CopyPlan report;
};

/// The hint that a method answers.
PreferInstruction family(const Method& method);

/// The methods of each target, best first; each ends with one that takes everything.
std::vector<const Method*> methods_for(const Site& site);

/// Decides one operation.
Decision decide(Site site);

/// Raises E0603 unless the name is empty or that of a method.
void require_method(std::string_view name);

// The methods, each in the file of its name.
extern const Method host_stream;
extern const Method host_run;
extern const Method host_loop;
extern const Method host_im2col;
extern const Method simt;
extern const Method realigned;
extern const Method register_transpose;
extern const Method cp_async;
extern const Method bulk;
extern const Method tma;
extern const Method tma_im2col;
extern const Method im2col_gather;

/// The layout of col in shared memory into which tma_im2col can write its boxes; empty when the
/// TMA unit cannot carry out the operation, and when row-major does.
std::optional<TileLayout> tma_im2col_layout(const ir::Im2col& op);
extern const Method matrix;

}  // namespace tilecopy::planner
