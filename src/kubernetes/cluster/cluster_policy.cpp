#include "cluster/cluster_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cluster/fields.h"

namespace tranche::cluster {
namespace {

constexpr auto kObeyed = std::to_array<std::string_view>(
    {"devicePlugin.enabled", "devicePlugin.config.name", "devicePlugin.config.default",
     "devicePlugin.mps.root", "mig.strategy"});

// The component whose `enabled: false` turns nothing off here: it has this system serve.
constexpr std::string_view kServed = "devicePlugin";

// Whether a value wishes for something: not null, false, "" or a list of such values.
bool asks(json::View value) {
  switch (value.kind()) {
    case json::Kind::kNull:
      return false;
    case json::Kind::kBool:
      return value.as_bool().value_or(true);
    case json::Kind::kString:
      return value.as_string() != "";
    case json::Kind::kArray:
      return std::ranges::any_of(value.elements(), asks);
    default:
      return true;
  }
}

bool is_off(json::View component) {
  const auto enabled = component.find("enabled");
  return enabled && enabled->as_bool() == false;
}

// Leaves below `view` that request something, by dotted path. A disabled component requests
// nothing, whatever else it contains.
void collect(json::View view, const std::string& path, std::vector<std::string>& paths) {
  if (path != kServed && is_off(view)) return;
  for (const auto& [key, value, begin, end] : view.members()) {
    const auto below = path.empty() ? key : fmt::format("{}.{}", path, key);
    if (value.kind() == json::Kind::kObject) {
      collect(value, below, paths);
    } else if (asks(value) && std::ranges::find(kObeyed, below) == kObeyed.end()) {
      paths.push_back(below);
    }
  }
}

}  // namespace

Result<ClusterPolicy> parse_cluster_policy(std::string_view json) {
  return read_object<ClusterPolicy>(
      "ClusterPolicy", json, [](const Fields& top, ClusterPolicy& policy) {
        const auto metadata = top.object("metadata");
        policy.name = metadata.text("name");
        policy.uid = metadata.text("uid");
        policy.resource_version = metadata.text("resourceVersion");
        policy.generation = metadata.number("generation");
        const auto spec = top.object("spec");
        const auto plugin = spec.object("devicePlugin");
        policy.device_plugin_enabled = plugin.maybe_boolean("enabled");
        policy.config_name = plugin.object("config").maybe_text("name");
        policy.config_default = plugin.object("config").maybe_text("default");
        policy.mps_root = plugin.object("mps").maybe_text("root");
        policy.mig_strategy = spec.object("mig").maybe_text("strategy");
        collect(spec.view(), "", policy.other_fields);
        std::ranges::sort(policy.other_fields);
        const auto repeated = std::ranges::unique(policy.other_fields);
        policy.other_fields.erase(repeated.begin(), repeated.end());
      });
}

}  // namespace tranche::cluster
