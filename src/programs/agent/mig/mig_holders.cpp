// Who holds what leaves service, as kubelet tells it, and whether it still gives any of it out.

#include <algorithm>
#include <set>

#include "agent/mig/mig_manager.h"
#include "holdings/users.h"

namespace tranche::agent {
namespace {

// Nameless while kubelet has not named the Pod.
cluster::ObjectKey holder_of(const holdings::Holding& holding) {
  return holding.pod.empty() ? cluster::ObjectKey{} : cluster::ObjectKey{holding.ns, holding.pod};
}

}  // namespace

// The controller is told of those whose Pod is known.
void MigManager::name_pods(const std::optional<std::vector<cluster::ObjectKey>>& holders) {
  pods_.clear();
  for (const auto& pod : holders.value_or(std::vector<cluster::ObjectKey>())) {
    if (!pod.name.empty()) pods_.push_back(pod);
  }
  say_why();
}

// Of Pods that hold nothing that changes. The book has heard who the holders are.
void MigManager::say_why() {
  why_.clear();
  const auto view = this->view();
  if (leaving_.beside.empty() || pods_.empty() || view == nullptr) return;
  const auto changing = leaving_devices({.changing = leaving_.changing}, *view->state.machine);
  const auto known = ports_.pods ? ports_.pods() : std::nullopt;
  const auto pods = known.value_or(std::vector<cluster::Pod>());
  std::set<cluster::ObjectKey> leaving;
  for (const auto& holding : holdings::with_users(ports_.book.all(), pods)) {
    if (holding.pod.empty()) continue;
    if (changing.contains(holding.device)) leaving.insert(holder_of(holding));
    const auto why = leaving_.beside.find(holding.device);
    if (why != leaving_.beside.end()) why_.try_emplace(holder_of(holding), why->second);
  }
  for (const auto& pod : leaving) why_.erase(pod);
}

HeldInstances MigManager::held_instances(const MigStates& states,
                                         const gpu::Machine& machine) const {
  HeldInstances held;
  if (!ports_.book.ask(ports_.holders, kHoldersAge)) return held;
  std::set<std::string> devices;
  for (const auto& holding : ports_.book.all()) devices.insert(holding.device);
  for (const auto& [uuid, state] : states) {
    const auto* gpu = gpu::find_gpu(machine, uuid);
    if (gpu == nullptr) continue;
    const auto layout = mig::layout_of(state);
    for (const auto& device : gpu->mig_instances) {
      if (!devices.contains(device.uuid.value)) continue;
      const auto found =
          std::ranges::find(state.instances, device.gpu_instance_id, &gpu::GpuInstance::id);
      if (found == state.instances.end()) continue;
      held[uuid].push_back(
          layout.instances[static_cast<std::size_t>(found - state.instances.begin())]);
    }
  }
  return held;
}

std::optional<std::vector<cluster::ObjectKey>> MigManager::holders_of(
    const std::set<std::string>& devices, std::chrono::milliseconds age) {
  const auto answer = ports_.holders.get(age);
  if (!answer || !(*answer)->remembered) return std::nullopt;
  // Also a grant that is too young for kubelet to have named its Pod.
  const auto heard = ports_.book.hear(**answer);
  if (heard.came || heard.changed) ports_.look_again();
  std::set<cluster::ObjectKey> pods;
  const auto granted = ports_.book.granted();
  for (const auto& holding : *granted) {
    if (devices.contains(holding.device)) pods.insert(holder_of(holding));
  }
  // Kubelet's checkpoint may be older than what it tells. It writes it anew when a list is sent.
  if (heard.unclear && !pods.empty()) ports_.renew_checkpoint();
  const auto claims = ports_.book.claims_of(devices);
  if (!claims) return std::nullopt;
  for (const auto& claim : *claims) {
    for (auto& pod : ports_.users_of_claim(claim)) pods.insert(std::move(pod));
  }
  return std::vector(pods.begin(), pods.end());
}

bool MigManager::let_go(const std::set<std::string>& devices) const {
  const auto given = ports_.kubelet.allocatable();
  // A kubelet that is too old to tell has the list that was sent to it last.
  if (!given) return given.error().code == Code::kFailedPrecondition;
  return std::ranges::none_of(*given, [&](const auto& entry) {
    return std::ranges::any_of(entry.second, [&](const std::string& id) {
      return devices.contains(std::string(offer::device_uuid_of(id)));
    });
  });
}

}  // namespace tranche::agent
