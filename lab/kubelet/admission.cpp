#include "lab/kubelet/admission.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace tranche::lab {

namespace {

// The first wish for something that no plugin offers: kubelet's node check fails before devices are
// looked at.
std::optional<PodStatus> missing_resource(const Pod& pod, const DeviceTable& table) {
  for (const auto* list : {&pod.init_containers, &pod.containers})
    for (const Container& container : *list)
      for (const auto& [resource, count] : container.limits)
        if (count > 0 && !table.knows(resource))
          return PodStatus{
              .phase = "Failed",
              .reason = "OutOf" + resource,
              .message = fmt::format("Node didn't have enough resource: {}, requested: {}, used: "
                                     "0, capacity: 0",
                                     resource, count)};
  return std::nullopt;
}

}  // namespace

Admission::Admission(DeviceTable& table, Save save) : table_(table), save_(std::move(save)) {}

PodStatus Admission::admit(const Pod& pod) {
  const std::scoped_lock lock(one_at_a_time_);
  const std::string uid = uid_of(pod);
  if (table_.find_pod(uid)) return start(uid);
  if (auto rejected = missing_resource(pod, table_)) return *std::move(rejected);
  table_.add_pod(pod);
  if (const Result<void> allocated = allocate_pod(pod); !allocated) {
    table_.remove_pod(uid);
    static_cast<void>(save_());  // says so itself when it fails
    return {.phase = "Failed",
            .reason = "UnexpectedAdmissionError",
            .message = fmt::format("Allocate failed due to {}, which is unexpected",
                                   allocated.error().what)};
  }
  return start(uid);
}

Result<void> Admission::allocate_pod(const Pod& pod) {
  Reusable reusable;
  const auto held_by = [&](const Container& container) {
    return table_.find_pod(uid_of(pod))->containers[container.name];
  };
  for (const Container& container : pod.init_containers) {
    TRY(allocate_container(pod, container, reusable));
    for (const auto& [resource, holding] : held_by(container))
      reusable[resource].insert(holding.ids.begin(), holding.ids.end());
  }
  for (const Container& container : pod.containers) {
    TRY(allocate_container(pod, container, reusable));
    for (const auto& [resource, holding] : held_by(container))
      for (const std::string& id : holding.ids) reusable[resource].erase(id);
  }
  return {};
}

Result<void> Admission::allocate_container(const Pod& pod, const Container& container,
                                           const Reusable& reusable) {
  for (const auto& [resource, count] : container.limits) {
    if (count <= 0) continue;
    const auto left = reusable.find(resource);
    ASSIGN_OR_RETURN(
        Ids ids, choose_devices(resource, count, left == reusable.end() ? IdSet{} : left->second));
    const auto plugin = table_.plugin(resource);
    if (!plugin) return fail(Code::kUnavailable, "unknown Device Plugin " + resource);
    ASSIGN_OR_RETURN(Answer answer, plugin->endpoint->allocate(ids));
    table_.hold(uid_of(pod), container.name, resource,
                {.ids = std::move(ids), .answer = std::move(answer)});
  }
  return save_();
}

Result<Ids> Admission::choose_devices(const std::string& resource, int count,
                                      const IdSet& reusable) {
  ASSIGN_OR_RETURN(const Candidates candidates, table_.candidates(resource, count, reusable));
  const auto plugin = table_.plugin(resource);
  if (candidates.missing == 0 || !plugin || !plugin->options.preferred_allocation)
    return choose(candidates, {});
  IdSet available = candidates.available;
  available.insert(candidates.taken.begin(), candidates.taken.end());
  const Result<Ids> preferred =
      plugin->endpoint->preferred({available.begin(), available.end()},
                                  {candidates.taken.begin(), candidates.taken.end()}, count);
  if (!preferred)
    return fail(preferred.error().code,
                fmt::format("device plugin GetPreferredAllocation rpc failed with err: {}",
                            preferred.error().what));
  return choose(candidates, *preferred);
}

Result<void> Admission::before_start(const ContainerHoldings& holdings) {
  for (const auto& [resource, holding] : holdings) {
    const auto plugin = table_.plugin(resource);
    if (!plugin || !plugin->options.pre_start_required) continue;
    if (const Result<void> done = plugin->endpoint->pre_start(holding.ids); !done)
      return fail(done.error().code,
                  fmt::format("device plugin PreStartContainer rpc failed with err: {}",
                              done.error().what));
  }
  return {};
}

PodStatus Admission::start(const std::string& pod_uid) {
  PodStatus status{.phase = "Running", .containers = table_.find_pod(pod_uid)->containers};
  for (const auto& [name, holdings] : status.containers)
    if (const Result<void> ready = before_start(holdings); !ready) {
      status.phase = "Pending";
      status.reason = "CreateContainerConfigError";
      status.message = ready.error().what;
    }
  return status;
}

Result<ContainerHoldings> Admission::restart_container(const std::string& pod_uid,
                                                       const std::string& container) {
  const std::scoped_lock lock(one_at_a_time_);
  const auto pod = table_.find_pod(pod_uid);
  if (!pod) return fail(Code::kNotFound, fmt::format("pod {}: not on this node", pod_uid));
  const auto found = pod->containers.find(container);
  if (found == pod->containers.end())
    return fail(Code::kNotFound,
                fmt::format("pod {}: container {} holds nothing", pod_uid, container));
  TRY(before_start(found->second));
  return found->second;
}

Result<void> Admission::remove(const std::string& pod_uid) {
  const std::scoped_lock lock(one_at_a_time_);
  if (!table_.remove_pod(pod_uid))
    return fail(Code::kNotFound, fmt::format("pod {}: not on this node", pod_uid));
  return save_();
}

}  // namespace tranche::lab
