#include "agent/mig/mig_holders.h"

#include <algorithm>
#include <utility>

#include "agent/hardware/leaving.h"
#include "holdings/users.h"
#include "offer/offer.h"

namespace tranche::agent {
namespace {

// Without a name until kubelet has named the Pod.
cluster::ObjectKey pod_of(const holdings::Holding& holding) {
  return holding.pod.empty() ? cluster::ObjectKey{} : cluster::ObjectKey{holding.ns, holding.pod};
}

// The GPU's instances whose devices are in `held`.
std::vector<mig::Instance> held_of(const gpu::Gpu& gpu, const gpu::MigState& state,
                                   const std::set<std::string>& held) {
  std::vector<mig::Instance> found;
  for (const auto& device : gpu.mig_instances) {
    if (!held.contains(device.uuid.value)) continue;
    const auto instance =
        std::ranges::find(state.instances, device.gpu_instance_id, &gpu::GpuInstance::id);
    if (instance != state.instances.end()) found.push_back(mig::instance_of(*instance));
  }
  return found;
}

}  // namespace

std::optional<std::vector<cluster::ObjectKey>> MigHolders::of(const std::set<std::string>& devices,
                                                              std::chrono::milliseconds age) {
  const auto answer = ports_.answers.get(age);
  if (!answer || !(*answer)->remembered) return std::nullopt;
  // The book also has grants whose Pods kubelet has not named yet.
  const auto changes = ports_.book.apply(**answer);
  if (changes.came || changes.changed) ports_.look_again();
  std::set<cluster::ObjectKey> pods;
  const auto granted = ports_.book.granted();
  for (const auto& holding : *granted) {
    if (devices.contains(holding.device)) pods.insert(pod_of(holding));
  }
  // Kubelet's checkpoint may be older than its answer; kubelet writes it when it receives a list.
  if (changes.unclear && !pods.empty()) ports_.renew_checkpoint();
  const auto claims = ports_.book.claims_of(devices);
  if (!claims) return std::nullopt;
  for (const auto& claim : *claims) {
    for (auto& pod : ports_.users_of_claim(claim)) pods.insert(std::move(pod));
  }
  return std::vector(pods.begin(), pods.end());
}

std::map<cluster::ObjectKey, std::string> MigHolders::why(const MigStanding& leaving,
                                                          const gpu::Machine& machine) const {
  std::map<cluster::ObjectKey, std::string> why;
  if (leaving.neighbours.empty()) return why;
  const auto changing = leaving_devices({.changing = leaving.changing}, machine);
  const auto known = ports_.pods ? ports_.pods() : std::nullopt;
  const auto pods = known.value_or(std::vector<cluster::Pod>());
  std::set<cluster::ObjectKey> hold_what_changes;
  for (const auto& holding : holdings::with_users(ports_.book.all(), pods)) {
    if (holding.pod.empty()) continue;
    if (changing.contains(holding.device)) hold_what_changes.insert(pod_of(holding));
    const auto reason = leaving.neighbours.find(holding.device);
    if (reason != leaving.neighbours.end()) why.try_emplace(pod_of(holding), reason->second);
  }
  for (const auto& pod : hold_what_changes) why.erase(pod);
  return why;
}

HeldInstances MigHolders::instances(const MigStates& states, const gpu::Machine& machine) {
  HeldInstances instances;
  if (!ports_.book.ask(ports_.answers, kAge)) return instances;
  std::set<std::string> held;
  const auto all = ports_.book.all();
  for (const auto& holding : all) held.insert(holding.device);
  for (const auto& [uuid, state] : states) {
    const auto* gpu = gpu::find_gpu(machine, uuid);
    if (gpu == nullptr) continue;
    if (auto found = held_of(*gpu, state, held); !found.empty()) instances[uuid] = std::move(found);
  }
  return instances;
}

bool MigHolders::are_withheld(const std::set<std::string>& devices) const {
  const auto given = ports_.kubelet.allocatable();
  // A kubelet too old to answer has the list that it received last.
  if (!given) return given.error().code == Code::kFailedPrecondition;
  return std::ranges::none_of(*given, [&](const auto& entry) {
    return std::ranges::any_of(entry.second, [&](const std::string& id) {
      return devices.contains(std::string(offer::device_uuid_of(id)));
    });
  });
}

}  // namespace tranche::agent
