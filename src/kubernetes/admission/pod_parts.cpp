#include "admission/pod_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/json_fields.h"
#include "base/printable.h"

namespace tranche::admission {
namespace {

using json::Fields;

constexpr std::array<const char*, 2> kTemplate = {"spec", "template"};
constexpr std::array<const char*, 4> kJobTemplate = {"spec", "jobTemplate", "spec", "template"};

struct WorkloadKind {
  std::string_view group;  // of apiVersion; "" for v1
  std::string_view kind;
  std::span<const char* const> path;  // of the Pod template
};

constexpr std::array kWorkloadKinds = {
    WorkloadKind{"", "Pod", {}},
    WorkloadKind{"", "ReplicationController", kTemplate},
    WorkloadKind{"apps", "Deployment", kTemplate},
    WorkloadKind{"apps", "ReplicaSet", kTemplate},
    WorkloadKind{"apps", "StatefulSet", kTemplate},
    WorkloadKind{"apps", "DaemonSet", kTemplate},
    WorkloadKind{"batch", "Job", kTemplate},
    WorkloadKind{"batch", "CronJob", kJobTemplate},
};

const WorkloadKind* find_workload(const Fields& top) {
  const auto version = top.text("apiVersion");
  const auto kind = top.text("kind");
  const auto group = version.substr(0, std::min(version.find('/'), version.size()));
  const auto found = std::ranges::find_if(kWorkloadKinds, [&](const WorkloadKind& one) {
    return one.kind == kind && (one.group.empty() ? version == "v1" : one.group == group);
  });
  return found == kWorkloadKinds.end() ? nullptr : &*found;
}

json::View view_of_list(const Fields& fields, std::string_view key) {
  return fields.view().find(key).value_or(json::View());
}

void read_containers(const Fields& spec, const char* key, PodParts& parts) {
  std::size_t index = 0;
  for (const auto& item : spec.list(key)) {
    const auto resources = item.object("resources");
    // Reports a wrong type.
    (void)resources.object("limits");
    (void)resources.object("requests");
    Container container{.name = item.text("name"),
                        .pointer = fmt::format("{}/spec/{}/{}", parts.pointer, key, index++),
                        .resources = resources.view(),
                        .claims = {}};
    for (const auto& claim : resources.list("claims")) {
      container.claims.push_back(
          {.name = claim.text("name"), .request = claim.text("request"), .view = claim.view()});
    }
    parts.containers.push_back(std::move(container));
  }
}

PodParts read_parts(const Fields& pod, std::string pointer) {
  PodParts parts;
  parts.pointer = std::move(pointer);
  const auto metadata = pod.object("metadata");
  parts.metadata = metadata.view();
  parts.annotations = metadata.object("annotations").view();
  parts.annotation = metadata.map("annotations");
  const auto spec = pod.object("spec");
  parts.is_bound = !spec.text("nodeName").empty();
  for (const auto& claim : spec.list("resourceClaims")) {
    const bool is_made = claim.text("resourceClaimName").empty();
    parts.claims.push_back({.name = claim.text("name"),
                            .template_name = is_made ? claim.text("resourceClaimTemplateName") : "",
                            .view = claim.view()});
  }
  parts.resource_claims = view_of_list(spec, "resourceClaims");
  read_containers(spec, "initContainers", parts);
  read_containers(spec, "containers", parts);
  return parts;
}

}  // namespace

Result<PodParts> read_pod(json::View object) {
  const WorkloadKind* workload = nullptr;
  auto parts = json::read_fields(object, [&](Fields fields) {
    workload = find_workload(fields);
    if (workload == nullptr) return PodParts();
    std::string pointer;
    std::vector<Fields> way = {std::move(fields)};
    for (const auto* step : workload->path) {
      way.push_back(way.back().object(step));
      pointer.append("/").append(step);
    }
    auto pod = read_parts(way.back(), std::move(pointer));
    pod.is_fixed = workload->kind == "Pod" || workload->kind == "Job";
    return pod;
  });
  if (!parts) return std::unexpected(std::move(parts).error());
  if (workload != nullptr) return parts;
  const auto kind = object.find("kind");
  return fail(Code::kUnsupported,
              fmt::format("{} is no kind that holds Pods",
                          printable(kind ? kind->text() : "an object without a kind", 64)),
              "send Pods, ReplicationControllers, and workloads of apps and batch");
}

}  // namespace tranche::admission
