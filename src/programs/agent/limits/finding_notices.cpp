#include "agent/limits/finding_notices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/printable.h"
#include "cluster/formats/reasons.h"
#include "host/process.h"

namespace tranche::agent {
namespace {

using limit::Finding;
using Kind = Finding::Kind;

// Processes of one container on one device with the same kind of finding.
struct Group {
  const Finding* first = nullptr;  // the earliest finding
  std::set<std::string> instances;
  const cluster::Pod* pod = nullptr;  // null: not known
  std::string container;              // "": unknown
  bool evict = false;
};

const cluster::Pod* pod_of(const std::vector<cluster::Pod>& pods, const std::string& uid) {
  const auto found = std::ranges::find(pods, uid, cluster::uid_on_node);
  return found == pods.end() ? nullptr : &*found;
}

bool says_evict(const EvictPolicy& policy, const limit::ArbiterStatus& status,
                const Finding& finding) {
  if (finding.kind == Kind::kNoGrant) return policy.devices.contains(finding.device);
  // Other kinds are no reason to evict: that process is registered and charged.
  if (finding.kind != Kind::kUnregistered) return false;
  const auto tenant = std::ranges::find(status.tenants, finding.tenant, &limit::TenantStatus::id);
  return tenant != status.tenants.end() && policy.resources.contains(tenant->resource);
}

// What an Event counts: processes, or changes of a limit.
std::string instance_of(const Finding& finding) {
  if (finding.pid != 0) return fmt::format("{} {}", finding.pid, finding.start_time);
  return fmt::format("{}", finding.since.time_since_epoch().count());
}

std::map<std::string, Group> groups_of(const limit::ArbiterStatus& status,
                                       const std::vector<cluster::Pod>& pods,
                                       const EvictPolicy& policy) {
  std::map<std::string, Group> groups;
  for (const auto& finding : status.findings) {
    const auto process = host::pod_process(finding.cgroup);
    const auto* pod = process ? pod_of(pods, process->pod_uid) : nullptr;
    // The Pod has ended and its finding will go soon. Without permission to read Pods, only the
    // node's Events are left.
    if (process && pod == nullptr && !pods.empty()) continue;
    std::string container;
    if (pod != nullptr) {
      const auto name = pod->container_ids.find(process->container);
      if (name != pod->container_ids.end()) container = name->second;
    }
    // Grouped by the container's name, so the count goes on after a restart.
    auto& group =
        groups[fmt::format("{} {} {} {}", to_string(finding.kind),
                           pod != nullptr ? pod->uid : finding.cgroup, container, finding.device)];
    if (group.first == nullptr || finding.since < group.first->since) group.first = &finding;
    group.instances.insert(instance_of(finding));
    group.pod = pod;
    group.container = container;
    group.evict |= pod != nullptr && says_evict(policy, status, finding);
  }
  return groups;
}

holdings::Holding ungranted_of(const Group& group) {
  holdings::Holding used{.device = group.first->device,
                         .wire = holdings::Wire::kNone,
                         .container = group.container,
                         .use = holdings::Use::kShared,
                         .state = holdings::State::kInUse};
  if (group.pod != nullptr) {
    used.ns = group.pod->ns;
    used.pod = group.pod->name;
    used.pod_uid = group.pod->uid;
  } else if (const auto process = host::pod_process(group.first->cgroup)) {
    used.pod_uid = process->pod_uid;
  }
  return used;
}

struct Wording {
  const char* reason;  // of the Event
  const char* text;    // follows subject_of() in the note
};

Wording wording_of(Kind kind) {
  switch (kind) {
    case Kind::kUnregistered:
      return {cluster::reason::kUnregisteredProcess,
              " and has not registered with the limiter: its memory counts in full for the "
              "container, its GPU time is charged and not held back. It is statically linked or "
              "built for musl, or its image hides /etc/ld.so.preload: use a program linked "
              "dynamically with glibc, or a MIG resource"};
    case Kind::kUnderReported:
      return {cluster::reason::kUnderReportedUse,
              " more than it tells the limiter, by the driver's account: its container is charged "
              "the rest. It writes in the limiter's memory, stops its thread, or launches by ways "
              "that the limiter does not see: look at what runs there"};
    case Kind::kForgedCharge:
      return {cluster::reason::kForgedMemoryCharge,
              " and wrote a number of bytes into the limiter's memory that nobody can hold: its "
              "memory counts for its container by the driver's account, and that container gets no "
              "more while the number stands. Look at what runs there"};
    case Kind::kForeignUsageFile:
      return {cluster::reason::kForeignUsageFile,
              " handed the arbiter a file that is not the one in which its container's processes "
              "count: they are counted anew. No honest program does that: look at what runs there"};
    case Kind::kImagePreload:
      return {
          cluster::reason::kImagePreloadCovered,
          " is not preloaded: the image has an /etc/ld.so.preload of its own that names it, and "
          "the limiter's covers that file. Name it in LD_PRELOAD in the container's env instead"};
    case Kind::kKernelLimitChanged:
      return {cluster::reason::kKernelLimitChanged,
              " was changed by somebody else and is set again. Look who sets limits on this node: "
              "nvidia-smi memory-limits, the control group's dmem.max, a driver that was reloaded"};
    case Kind::kNoGrant:
      break;
  }
  return {cluster::reason::kDeviceNotGranted,
          ", which its Pod was not granted: no limit holds it. Ask for the resource in "
          "resources.limits, and remove what brings in GPUs otherwise (NVIDIA_VISIBLE_DEVICES, "
          "privileged, mounts of /dev)"};
}

std::string subject_of(const Finding& finding) {
  constexpr std::size_t kMostPreload = 200;
  switch (finding.kind) {
    case Kind::kImagePreload:
      return printable(finding.preload, kMostPreload);
    case Kind::kForeignUsageFile:
      return fmt::format("process {} (pid {})", printable(finding.name), finding.pid);
    case Kind::kKernelLimitChanged:
      return fmt::format("the kernel's limit of its memory of {}", finding.device);
    default:
      return fmt::format("process {} (pid {}) uses {}", printable(finding.name), finding.pid,
                         finding.device);
  }
}

std::string note_of(const Group& group) {
  const auto& finding = *group.first;
  return fmt::format(
      "{}{}{}{}", group.container.empty() ? "" : fmt::format("container {}: ", group.container),
      subject_of(finding), wording_of(finding.kind).text,
      group.evict ? ". The Pod is to be evicted (tranche.limits.unregistered: evict)" : "");
}

cluster::StandingEvent standing_event(const Group& group, cluster::ObjectReference regarding,
                                      std::string note) {
  return {.event = {.regarding = std::move(regarding),
                    .warning = true,
                    .reason = wording_of(group.first->kind).reason,
                    .action = "Limit",
                    .note = std::move(note),
                    .reporter = {},
                    .instance = {},
                    .time = group.first->since},
          .instances = group.instances};
}

}  // namespace

EvictPolicy evict_policy(const offer::Offer& offer) {
  EvictPolicy policy;
  for (const auto& resource : offer.resources) {
    if (!resource.limits || resource.limits->rules.unregistered != config::Unregistered::kEvict) {
      continue;
    }
    policy.resources.insert(resource.name.value);
    for (const auto& device : resource.devices) policy.devices.insert(device.uuid);
  }
  return policy;
}

FindingNotices describe_findings(const limit::ArbiterStatus& status,
                                 const std::vector<cluster::Pod>& pods, const EvictPolicy& policy,
                                 const std::string& node) {
  FindingNotices notices;
  for (const auto& [key, group] : groups_of(status, pods, policy)) {
    if (group.first->kind == Kind::kNoGrant) notices.ungranted.push_back(ungranted_of(group));
    const auto note = note_of(group);
    const auto* pod = group.pod;
    const auto where = pod != nullptr
                           ? fmt::format("Pod {}/{}", pod->ns, pod->name)
                           : fmt::format("control group {}", printable(group.first->cgroup));
    // As in kubelet's own Events, the uid is the node's name.
    notices.standing.emplace(
        "node " + key,
        standing_event(group, {.api_version = "v1", .kind = "Node", .name = node, .uid = node},
                       fmt::format("{}: {}", where, note)));
    if (pod == nullptr) continue;
    notices.standing.emplace(
        "pod " + key,
        standing_event(
            group,
            {.api_version = "v1", .kind = "Pod", .ns = pod->ns, .name = pod->name, .uid = pod->uid},
            note));
    const bool known = std::ranges::find(notices.evictions, pod->uid,
                                         &cluster::EvictionRequest::uid) != notices.evictions.end();
    if (!group.evict || known) continue;
    notices.evictions.push_back({.ns = pod->ns,
                                 .name = pod->name,
                                 .uid = pod->uid,
                                 .container = group.container,
                                 .device = group.first->device,
                                 .reason = group.first->kind == Kind::kNoGrant
                                               ? cluster::EvictionRequest::Reason::kNoGrant
                                               : cluster::EvictionRequest::Reason::kUnregistered});
  }
  return notices;
}

}  // namespace tranche::agent
