#include "controller/template_uses.h"

#include <algorithm>
#include <map>
#include <utility>

#include "admission/names.h"
#include "admission/pod_parts.h"
#include "admission/template_name.h"
#include "base/json.h"

namespace tranche::controller {
namespace {

bool has_pod_ended(json::View object) {
  const auto phase = object.at({"status", "phase"});
  const auto text = phase ? phase->as_string() : std::nullopt;
  return text == "Succeeded" || text == "Failed";
}

std::string text_at(json::View object, std::string_view key) {
  const auto found = object.at({"metadata", key});
  return found ? found->as_string().value_or("") : "";
}

// The claims that Kubernetes made for a Pod without a node, by their names in the Pod.
std::map<std::string, std::string> waiting_claims(json::View object) {
  std::map<std::string, std::string> claims;
  const auto node = object.at({"spec", "nodeName"});
  const bool has_node = node && !node->as_string().value_or("").empty();
  if (has_node || object.at({"metadata", "deletionTimestamp"})) return claims;
  const auto statuses = object.at({"status", "resourceClaimStatuses"});
  for (const auto& status : statuses.value_or(json::View()).elements()) {
    const auto name = status.find("name");
    const auto claim = status.find("resourceClaimName");
    if (!name || !claim) continue;
    claims[name->as_string().value_or("")] = claim->as_string().value_or("");
  }
  return claims;
}

}  // namespace

std::set<TemplateUse> used_templates(std::string_view object) {
  // Most of a cluster's objects have nothing of ours and need no parsing.
  if (object.find(admission::kOurPrefix) == std::string_view::npos) return {};
  const auto root = json::parse(object);
  if (!root || has_pod_ended(*root)) return {};
  const auto pod = admission::read_pod(*root);
  if (!pod) return {};
  const auto waiting = waiting_claims(*root);
  std::set<TemplateUse> used;
  for (const auto& claim : pod->claims) {
    if (!admission::parse_template_name(claim.template_name)) continue;
    TemplateUse use{.name = claim.template_name};
    if (const auto found = waiting.find(claim.name); found != waiting.end()) {
      use.claim = found->second;
      use.pod_claim = claim.name;
      use.pod = text_at(*root, "name");
      use.pod_uid = text_at(*root, "uid");
    }
    used.insert(std::move(use));
  }
  return used;
}

std::string used_templates_text(const std::string& object) {
  std::string text;
  for (const auto& use : used_templates(object)) {
    for (const auto* word : {&use.name, &use.claim, &use.pod_claim, &use.pod, &use.pod_uid}) {
      text += *word + ' ';
    }
    text.back() = '\n';
  }
  return text;
}

std::set<TemplateUse> uses_of(std::string_view text) {
  std::set<TemplateUse> uses;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    TemplateUse use;
    for (auto* word : {&use.name, &use.claim, &use.pod_claim, &use.pod, &use.pod_uid}) {
      const auto space = std::min(line.find(' '), line.size());
      *word = line.substr(0, space);
      line.remove_prefix(std::min(space + 1, line.size()));
    }
    uses.insert(std::move(use));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return uses;
}

}  // namespace tranche::controller
