#include "agent/mig/mig_service.h"

#include <algorithm>
#include <utility>

namespace tranche::agent {
namespace {

bool has(const mig::GpuLayout& layout, const mig::Instance& instance) {
  return layout.enabled && std::ranges::find(layout.instances, instance) != layout.instances.end();
}

// A mode that no longer waits changes nothing now.
bool stays_in_service(const mig::GpuLayout& from, const mig::GpuLayout& to) {
  return from.enabled == to.enabled && from.instances == to.instances;
}

std::set<int> staying(const mig::GpuLayout& from, const mig::GpuLayout& to,
                      const gpu::MigState& state) {
  std::set<int> ids;
  for (const auto& instance : state.instances) {
    const auto one = mig::instance_of(instance);
    if (has(from, one) && has(to, one)) ids.insert(instance.id);
  }
  return ids;
}

}  // namespace

mig::Layout layouts_of(const MigStates& states) {
  mig::Layout layouts;
  for (const auto& [uuid, state] : states) layouts.emplace(uuid, mig::layout_of(state));
  return layouts;
}

MigStates read_states(gpu::MigControl& control, const mig::Layout& of) {
  MigStates states;
  for (const auto& [uuid, ignored] : of) {
    if (auto state = control.read(uuid)) states.emplace(uuid, *std::move(state));
  }
  return states;
}

MigStanding changing(const mig::Journal& journal, const MigStates& states) {
  MigStanding standing;
  for (const auto& [uuid, to] : journal.to) {
    const auto from = journal.from.find(uuid);
    const bool known = from != journal.from.end();
    if (known && stays_in_service(from->second, to)) continue;
    auto& ids = standing.changing[uuid.value];
    const auto state = states.find(uuid);
    if (!known || state == states.end()) continue;
    ids = staying(from->second, to, state->second);
  }
  return standing;
}

offer::Offer withhold_what_changes(const State& state, offer::Offer offer) {
  const auto& mig = state.get<MigStanding>();
  if ((mig.changing.empty() && mig.neighbours.empty()) || !state.machine) return offer;
  const auto devices = leaving_devices(mig, *state.machine);
  for (auto& resource : offer.resources) {
    for (auto& tranche : resource.tranches) {
      if (devices.contains(resource.devices[tranche.device].uuid)) tranche.withheld = true;
    }
  }
  return offer;
}

}  // namespace tranche::agent
