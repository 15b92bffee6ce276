#include "controller/gpu_nodes.h"

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/json_value.h"
#include "cluster/formats/reasons.h"

namespace tranche::controller {
namespace {

bool is_about_gpus(std::string_view key) {
  return key.starts_with("nvidia.com/") || key.starts_with("tranche.dev/");
}

void keep_gpu_members(const json::View& node, std::initializer_list<std::string_view> path,
                      json::Value& place) {
  place = json::Value::object();
  const auto found = node.at(path);
  if (!found) return;
  for (const auto& member : found->members()) {
    if (is_about_gpus(member.key)) place[member.key] = json::Value::copy(member.value);
  }
}

std::string reduced_node(const std::string& text) {
  const auto node = json::parse(text);
  const auto name = node ? node->at({"metadata", "name"}) : std::nullopt;
  if (!name) return text;
  json::Value kept = json::Value::object();
  kept["metadata"]["name"] = json::Value::copy(*name);
  keep_gpu_members(*node, {"metadata", "labels"}, kept["metadata"]["labels"]);
  keep_gpu_members(*node, {"status", "allocatable"}, kept["status"]["allocatable"]);
  const auto conditions = node->at({"status", "conditions"});
  for (const auto& condition : conditions.value_or(json::View()).elements()) {
    const auto type = condition.find("type");
    if (!type || type->as_string() != cluster::condition::kTrancheServing) continue;
    kept["status"]["conditions"].push_back(json::Value::copy(condition));
  }
  return kept.text();
}

}  // namespace

Watched gpu_nodes() {
  return {.kind = cluster::kNode,
          .reduce = {.name = "gpus and serving", .make = reduced_node},
          .in_pages = true};
}

}  // namespace tranche::controller
