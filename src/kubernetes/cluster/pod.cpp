#include "cluster/pod.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity.h"
#include "cluster/fields.h"

namespace tranche::cluster {
namespace {

// A name with a domain, and not Kubernetes' own. Source: IsExtendedResourceName of
// k8s.io/kubernetes/pkg/apis/core/helper.
bool is_extended(std::string_view resource) {
  const auto slash = resource.find('/');
  if (slash == std::string_view::npos || resource.starts_with("requests.")) return false;
  return resource.substr(0, slash).find("kubernetes.io") == std::string_view::npos;
}

// Quantities may be numbers if the object did not come from the API server. Also accepts what does
// not fit into 63 bits ("100E", "1e30"), which must not hide a Pod.
std::optional<std::int64_t> amount(json::View value) {
  const auto text = value.as_string().value_or("");
  const bool is_number = !text.empty() && text[0] >= '0' && text[0] <= '9';
  auto count = value.as_int();
  if (const auto parsed = parse_quantity(text)) count = *parsed;
  if (!count && is_number) count = PodContainer::kMost;
  if (!count) return std::nullopt;
  return std::clamp(*count, std::int64_t{0}, PodContainer::kMost);
}

void read_amounts(const Fields& resources, std::string_view which, PodContainer& container) {
  const auto amounts = resources.object(which);
  for (const auto& [name, value, begin, end] : amounts.view().members()) {
    if (!is_extended(name) || container.requests.contains(name)) continue;
    if (const auto count = amount(value)) {
      container.requests.emplace(name, *count);
    } else {
      amounts.refuse(name, fmt::format("is {}, no quantity", value.text()));
    }
  }
}

constexpr std::string_view kInitContainers = "initContainers";

void read_containers(const Fields& spec, std::string_view key, Pod& pod) {
  const bool init = key == kInitContainers;
  for (const auto& item : spec.list(key)) {
    PodContainer container;
    container.name = item.text("name");
    container.init = init;
    container.sidecar = init && item.text("restartPolicy") == "Always";
    const auto resources = item.object("resources");
    read_amounts(resources, "requests", container);
    read_amounts(resources, "limits", container);
    for (const auto& claim : resources.list("claims")) {
      container.claims.push_back({claim.text("name"), claim.text("request")});
    }
    pod.containers.push_back(std::move(container));
  }
}

void read_claims(const Fields& spec, const Fields& status, Pod& pod) {
  StringMap made;  // from templates
  for (const auto& item : status.list("resourceClaimStatuses")) {
    made[item.text("name")] = item.text("resourceClaimName");
  }
  for (const auto& item : spec.list("resourceClaims")) {
    PodClaim claim{.name = item.text("name"),
                   .object = item.text("resourceClaimName"),
                   .claim_template = item.text("resourceClaimTemplateName")};
    if (claim.object.empty()) claim.object = value_of(made, claim.name);
    pod.claims.push_back(std::move(claim));
  }
}

void read_extended(const Fields& status, Pod& pod) {
  const auto claim = status.object("extendedResourceClaimStatus");
  pod.extended.object = claim.text("resourceClaimName");
  for (const auto& item : claim.list("requestMappings")) {
    pod.extended.uses.push_back(
        {item.text("containerName"), item.text("resourceName"), item.text("requestName")});
  }
}

void read_metadata(const Fields& metadata, Pod& pod) {
  pod.ns = metadata.text("namespace");
  pod.name = metadata.text("name");
  pod.uid = metadata.text("uid");
  pod.resource_version = metadata.text("resourceVersion");
  pod.labels = metadata.map("labels");
  pod.annotations = metadata.map("annotations");
  pod.owners = read_owners(metadata);
  pod.deleting = metadata.maybe_text("deletionTimestamp").has_value();
}

// Kubelet's marks on the copy of a static Pod. Source: pkg/kubelet/types/pod_update.go.
constexpr const char* kMirrorAnnotation = "kubernetes.io/config.mirror";
constexpr const char* kHashAnnotation = "kubernetes.io/config.hash";

// "containerd://3f2a..."; empty before it runs.
void read_ids(const Fields& status, std::string_view key, Pod& pod) {
  for (const auto& item : status.list(key)) {
    const auto id = item.text("containerID");
    const auto scheme = id.find("://");
    if (scheme == std::string::npos) continue;
    pod.container_ids[id.substr(scheme + 3)] = item.text("name");
  }
}

void read_status(const Fields& status, Pod& pod) {
  for (const auto* const key :
       {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"}) {
    read_ids(status, key, pod);
  }
  pod.phase = status.text("phase");
  pod.reason = status.text("reason");
  pod.message = status.text("message");
  for (const auto& condition : status.list("conditions")) {
    const auto type = condition.text("type");
    if (type == "PodScheduled" && condition.text("status") == "False") {
      pod.unschedulable = condition.text("message");
    }
    if (type == "Ready") pod.ready = condition.text("status") == "True";
  }
}

}  // namespace

Result<Pod> parse_pod(std::string_view json) {
  return read_object<Pod>("Pod", json, [](const Fields& top, Pod& pod) {
    read_metadata(top.object("metadata"), pod);
    const auto spec = top.object("spec");
    pod.node = spec.text("nodeName");
    pod.node_selector = spec.map("nodeSelector");
    pod.scheduler = spec.text("schedulerName");
    pod.priority_class = spec.text("priorityClassName");
    read_containers(spec, kInitContainers, pod);
    read_containers(spec, "containers", pod);
    read_claims(spec, top.object("status"), pod);
    read_extended(top.object("status"), pod);
    read_status(top.object("status"), pod);
  });
}

std::map<std::string, std::int64_t> requests_of(const Pod& pod) {
  std::map<std::string, std::int64_t> running;   // containers and sidecars
  std::map<std::string, std::int64_t> starting;  // the most that an init container takes
  for (const auto& container : pod.containers) {
    for (const auto& [resource, amount] : container.requests) {
      if (!container.init || container.sidecar) {
        running[resource] += amount;
      } else {
        auto& most = starting[resource];
        most = std::max(most, running[resource] + amount);
      }
    }
  }
  for (const auto& [resource, amount] : starting) {
    running[resource] = std::max(running[resource], amount);
  }
  return running;
}

bool has_ended(const Pod& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; }

bool is_mirror(const Pod& pod) { return pod.annotations.contains(kMirrorAnnotation); }

const std::string& uid_on_node(const Pod& pod) {
  const auto hash = pod.annotations.find(kHashAnnotation);
  return is_mirror(pod) && hash != pod.annotations.end() ? hash->second : pod.uid;
}

}  // namespace tranche::cluster
