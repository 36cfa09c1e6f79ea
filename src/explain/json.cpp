#include <nlohmann/json.hpp>

#include "explain/explain.h"

namespace tilecopy::explain {

using Json = nlohmann::ordered_json;

namespace {

Json plan_json(const CopyPlan& plan) {
  Json item = {{"id", plan.id}, {"operation", plan.operation}};
  if (plan.where.known()) {
    item["file"] = plan.where.file;
    item["line"] = plan.where.line;
  }
  item["method"] = plan.method;
  item["parameters"] = Json::object();
  for (const auto& [name, value] : plan.parameters) item["parameters"][name] = value;
  item["rejected"] = Json::array();
  for (const RejectedMethod& rejected : plan.rejected) {
    const RuleReport& rule = rejected.rule;
    item["rejected"].push_back({{"method", rejected.method},
                                {"rule", rule.id},
                                {"needed", rule.needed},
                                {"found", rule.found},
                                {"advice", rule.advice}});
  }
  item["remarks"] = plan.remarks;
  item["missed"] = plan.missed;
  item["guards"] = plan.guards;
  if (plan.otherwise) item["otherwise"] = plan_json(*plan.otherwise);
  return item;
}

}  // namespace

std::string json(const Subject& subject) {
  Json root = {{"kernel", subject.kernel}, {"target", subject.target}};
  root["layouts"] = *subject.remarks;
  root["operations"] = Json::array();
  for (const CopyPlan& plan : *subject.plans) root["operations"].push_back(plan_json(plan));
  return root.dump(2);
}

}  // namespace tilecopy::explain
