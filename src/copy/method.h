// What a way to carry out a tile operation is made of: rules it must meet, a plan with its numbers,
// and the device code that executes the plan.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "copy/site.h"
#include "tilecopy/compile.h"

namespace tilecopy::planner {

/// Records the rules that a method asks about. The same object steers the choice and explains it.
class Rules {
 public:
  explicit Rules(std::string_view method) : method_(method) {}

  /// Adds a rule and returns `ok`. The id is "method.name".
  bool require(std::string_view name, bool ok, std::string needed, std::string found,
               std::string advice = {});

  const std::vector<RuleReport>& reports() const { return reports_; }
  /// The first rule that failed, or null.
  const RuleReport* failed() const;

 private:
  std::string_view method_;
  std::vector<RuleReport> reports_;
};

struct Method;

/// How one operation will be carried out. Each method derives its own, with the numbers that its
/// lowering needs; `parameters` are those for people.
struct Plan {
  virtual ~Plan() = default;

  const Method* method = nullptr;
  std::vector<std::pair<std::string, std::string>> parameters;
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

/// The methods of each target, best first; each ends with one that takes everything.
std::vector<const Method*> methods_for(const Site& site);

/// Decides one operation.
Decision decide(Site site);

// The methods, each in the file of its name.
extern const Method host_stream;
extern const Method host_run;
extern const Method host_loop;
extern const Method host_im2col;

}  // namespace tilecopy::planner
