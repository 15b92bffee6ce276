// A Pod's claims: where they come from, and whether containers use only existing ones.

#include <fmt/format.h>

#include <algorithm>

#include "explain/lint/pod.h"

namespace tranche::lint {
namespace {

// resource.k8s.io/v1alpha2 had them below `source`.
void lift_source(const Place& claim) {
  const auto source = claim.map("source");
  if (!source) return;
  source->check_keys({"resourceClaimName", "resourceClaimTemplateName"});
  if (claim.has("resourceClaimName") || claim.has("resourceClaimTemplateName")) {
    source->error("the claim has a source both here and beside name", "remove source");
    return;
  }
  source->corrected("Pods have no source of claims since Kubernetes 1.31: it is dropped",
                    "write what it holds beside name");
  for (auto& entry : claim.take("source").entries) claim.put(entry.key, std::move(entry.value));
}

void check_source(const Place& claim) {
  const bool named = claim.child("resourceClaimName").has_value();
  const bool made = claim.child("resourceClaimTemplateName").has_value();
  if (named && made) {
    claim.error("resourceClaimName and resourceClaimTemplateName stand beside each other",
                "remove one of them");
  } else if (!named && !made) {
    claim.error("the claim names no ResourceClaim",
                "write resourceClaimName or resourceClaimTemplateName");
  }
}

}  // namespace

void check_pod_claims(const Place& spec) {
  std::vector<std::string> names;
  for (const auto& claim : spec.list_of_maps("resourceClaims")) {
    lift_source(claim);
    claim.check_keys({"name", "resourceClaimName", "resourceClaimTemplateName", "source"});
    check_source(claim);
    names.push_back(claim.text("name"));
    if (std::ranges::count(names, names.back()) > 1) {
      claim.error(fmt::format("two claims have the name {}", shown(names.back())), "rename one");
    }
  }
  auto unused = names;
  for (const auto* key : {"initContainers", "containers"}) {
    for (const auto& container : spec.list_of_maps(key)) {
      const auto resources = container.map("resources");
      if (!resources) continue;
      for (const auto& used : resources->list_of_maps("claims")) {
        const auto name = used.text("name");
        std::erase(unused, name);
        if (std::ranges::find(names, name) != names.end()) continue;
        used.error(fmt::format("spec.resourceClaims has no {}",
                               name.empty() ? "claim without a name" : shown(name)),
                   did_you_mean(name, names, "write it there, with the claim that it stands for"));
      }
    }
  }
  for (const auto& name : unused) {
    spec.doubt(fmt::format("no container uses the claim {}", shown(name)),
               fmt::format("write claims: [{{name: {}}}] into resources of one", shown(name)));
  }
}

}  // namespace tranche::lint
