#include "agent/mig/mig_neighbours.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "agent/mig/mig_wish.h"
#include "offer/make_offer.h"
#include "offer/mps.h"

namespace tranche::agent {
namespace {

using Gpus = std::set<std::string>;

// The GPUs of each MPS control daemon, by resource.
std::map<std::string, Gpus> daemons_of(const gpu::Machine& machine, const config::Config& config) {
  std::map<std::string, Gpus> daemons;
  for (const auto& resource : offer::make_offer(machine, config, {}).resources) {
    auto gpus = offer::mps_gpus(resource);
    if (!gpus.empty()) daemons[resource.name.value] = std::move(gpus);
  }
  return daemons;
}

std::string gpu_name(const std::string& uuid, const gpu::Machine& machine) {
  const auto* gpu = gpu::find_gpu(machine, {uuid});
  return gpu == nullptr ? uuid : fmt::format("GPU {}", gpu->index);
}

std::string gpu_names(const Gpus& uuids, const gpu::Machine& machine) {
  std::vector<std::string> names;
  for (const auto& gpu : machine.gpus) {
    if (uuids.contains(gpu.uuid.value)) names.push_back(gpu_name(gpu.uuid.value, machine));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Gpus gpus_in(const std::map<std::string, Gpus>& daemons, const std::string& resource) {
  const auto found = daemons.find(resource);
  return found == daemons.end() ? Gpus() : found->second;
}

}  // namespace

gpu::Machine with_layouts(gpu::Machine machine, const mig::Layout& layouts) {
  for (auto& gpu : machine.gpus) {
    const auto found = layouts.find(gpu.uuid);
    if (found != layouts.end()) gpu = with_layout(std::move(gpu), found->second);
  }
  return machine;
}

MigNeighbours neighbours(const mig::Journal& journal, const gpu::Machine& machine,
                         const config::Config& config) {
  const auto before = daemons_of(with_layouts(machine, journal.from), config);
  const auto after = daemons_of(with_layouts(machine, journal.to), config);
  auto all = before;
  for (const auto& [resource, gpus] : after) all[resource].insert(gpus.begin(), gpus.end());
  MigNeighbours found;
  for (const auto& [resource, gpus] : all) {
    Gpus change;
    Gpus stay;
    for (const auto& uuid : gpus) (journal.to.contains({uuid}) ? change : stay).insert(uuid);
    if (change.empty()) continue;
    found.resources.insert(resource);
    if (!gpus_in(after, resource).empty()) found.served_after.insert(resource);
    for (const auto& uuid : stay) {
      found.gpus[uuid] = fmt::format("shares the MPS control daemon of {} with {}", resource,
                                     gpu_names(change, machine));
    }
  }
  return found;
}

std::string describe(const MigNeighbours& neighbours) {
  if (neighbours.gpus.empty()) return {};
  return fmt::format("all of {} leaves service, for one MPS control daemon serves its GPUs",
                     fmt::join(neighbours.resources, ", "));
}

}  // namespace tranche::agent
