#include "lab/kubelet/ledger.h"

#include <utility>

namespace tranche::lab {

std::string uid_of(const Pod& pod) {
  return pod.uid.empty() ? pod.pod_namespace + "/" + pod.name : pod.uid;
}

void Ledger::add_pod(const Pod& pod) { pods_.try_emplace(uid_of(pod), Entry{.pod = pod}); }

void Ledger::insert(const std::string& pod_uid, const std::string& container,
                    const std::string& resource, Holding holding) {
  pods_.at(pod_uid).containers[container][resource] = std::move(holding);
}

bool Ledger::remove(const std::string& pod_uid) { return pods_.erase(pod_uid) == 1; }

std::optional<Ledger::Entry> Ledger::find(const std::string& pod_uid) const {
  const auto found = pods_.find(pod_uid);
  if (found == pods_.end()) return std::nullopt;
  return found->second;
}

IdSet Ledger::held(const std::string& resource) const {
  IdSet ids;
  for (const auto& [uid, entry] : pods_)
    for (const auto& [container, holdings] : entry.containers)
      if (const auto found = holdings.find(resource); found != holdings.end())
        ids.insert(found->second.ids.begin(), found->second.ids.end());
  return ids;
}

}  // namespace tranche::lab
