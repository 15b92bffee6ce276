#include "controller/pod_eviction.h"

#include <fmt/format.h>

#include <utility>

namespace tranche::controller {

std::string objection_to_eviction(const cluster::Pod& pod, const std::string& own_namespace) {
  if (cluster::is_mirror(pod)) {
    return fmt::format("it is a static Pod; change its file on {}", pod.node);
  }
  if (pod.ns == "kube-system" || pod.ns == own_namespace) {
    return fmt::format("Pods of namespace {} are never evicted by Tranche", pod.ns);
  }
  if (pod.priority_class.starts_with("system-")) {
    return fmt::format("Pods of priority class {} are never evicted by Tranche",
                       pod.priority_class);
  }
  return {};
}

Result<Eviction> evict_once(cluster::Objects& objects, const cluster::Pod& pod,
                            const cluster::Call& call) {
  const auto done = objects.evict({.ns = pod.ns, .name = pod.name}, pod.uid, call);
  if (done) return Eviction::kAsked;
  if (done.error().code == Code::kNotFound || done.error().code == Code::kFailedPrecondition) {
    return Eviction::kGone;
  }
  return std::unexpected(done.error());
}

void tell_of_eviction(cluster::EventRecorder& events, const cluster::Pod& pod, std::string reason,
                      std::string note, const cluster::Call& call) {
  events.record(
      {.regarding =
           {.api_version = "v1", .kind = "Pod", .ns = pod.ns, .name = pod.name, .uid = pod.uid},
       .warning = true,
       .reason = std::move(reason),
       .action = "Evict",
       .note = std::move(note)},
      call);
}

}  // namespace tranche::controller
