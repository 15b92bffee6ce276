#include "agent/incidents/incident_names.h"

#include <algorithm>

namespace tranche::agent {
namespace {

using incidents::Holder;

incidents::PodName name_of(const holdings::Holding& holding) {
  return {
      .ns = holding.ns, .pod = holding.pod, .uid = holding.pod_uid, .container = holding.container};
}

// Several tranches of a container are one tenant; a part that containers share is the first one's.
const holdings::Holding* holding_of(const std::string& tenant, const holdings::Holdings& held) {
  const holdings::Holding* found = nullptr;
  for (const auto& one : held) {
    if (one.tenant != tenant || one.pod.empty()) continue;
    if (found == nullptr || found->pod_uid.empty()) found = &one;
  }
  return found;
}

}  // namespace

void name_holders(incidents::Incident& incident, const holdings::Holdings& held) {
  for (Holder& holder : incident.holders) {
    if (holder.tenant.empty() || !holder.pod.uid.empty()) continue;
    const auto* holding = holding_of(holder.tenant, held);
    if (holding != nullptr) holder.pod = name_of(*holding);
  }
}

void add_holders(incidents::Incident& incident, const holdings::Holdings& held,
                 const std::set<std::string>& devices) {
  for (const auto& one : held) {
    if (one.pod.empty() || (!devices.contains(one.device) && !devices.contains(one.gpu))) continue;
    const auto name = name_of(one);
    const bool is_known = std::ranges::any_of(incident.holders, [&](const Holder& holder) {
      return (!one.tenant.empty() && holder.tenant == one.tenant) || holder.pod == name;
    });
    if (is_known) continue;
    incident.holders.push_back({.tenant = one.tenant,
                                .resource = one.resource.value,
                                .pod = name,
                                .limit_bytes = {},
                                .held_bytes = {},
                                .growth = {},
                                .seconds = {}});
  }
  put_in_order(incident);
}

bool is_named(const incidents::Incident& incident) {
  const auto has_uid = [](const Holder& holder) { return !holder.pod.uid.empty(); };
  if (incident.tenant.empty()) return std::ranges::all_of(incident.holders, has_uid);
  const Holder* const victim = incident.victim();
  return victim != nullptr && has_uid(*victim);
}

}  // namespace tranche::agent
