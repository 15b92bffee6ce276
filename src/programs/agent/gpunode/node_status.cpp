#include "agent/gpunode/node_status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "agent/config/mode_standing.h"
#include "agent/gpunode/status_words.h"
#include "base/printable.h"

namespace tranche::agent {
namespace {

constexpr std::size_t kLongestModel = 24;  // a column of kubectl's

std::string reason_of(const gpu::HealthReport& health, const std::string& uuid) {
  const auto found = health.find(uuid);
  return found == health.end() ? std::string() : clean(found->second, kLongestMessage);
}

std::optional<Bytes> known(Bytes memory) {
  return memory.value == 0 ? std::nullopt : std::optional(memory);
}

std::vector<cluster::GpuNodeInstance> instances_of(const gpu::Gpu& gpu,
                                                   const gpu::HealthReport& health) {
  std::vector<cluster::GpuNodeInstance> instances;
  for (const auto& instance : gpu.mig_instances) {
    instances.push_back({.uuid = clean(instance.uuid.value),
                         .profile = clean(instance.profile.name),
                         .slot = instance.slot,
                         .memory = known(instance.attributes.memory),
                         .unhealthy = reason_of(health, instance.uuid.value)});
  }
  return instances;
}

cluster::GpuNodeGpu gpu_of(const gpu::Gpu& gpu, const gpu::HealthReport& health) {
  cluster::GpuNodeGpu made{.index = gpu.index,
                           .uuid = clean(gpu.uuid.value),
                           .model = clean(gpu.name),
                           .pci = gpu::sysfs_name(gpu.pci),
                           .memory = known(gpu.memory),
                           .mig = word_of(gpu.mig_mode),
                           .unhealthy = reason_of(health, gpu.uuid.value)};
  if (gpu.mig_refused.empty() && gpu.mig_unread.empty()) made.instances = instances_of(gpu, health);
  return made;
}

// The links are read after the GPUs, on another thread: omits those of GPUs that are gone.
void add_links(const State& state, cluster::GpuNodeStatus& status) {
  if (state.links == nullptr) return;
  const auto& [uuids, topology] = *state.links;
  std::vector<cluster::GpuNodeGpu*> gpus;
  for (const auto& uuid : uuids) {
    const auto found = std::ranges::find(status.gpus, uuid, &cluster::GpuNodeGpu::uuid);
    gpus.push_back(found == status.gpus.end() ? nullptr : &*found);
  }
  const auto size = std::min(gpus.size(), topology.size());
  for (std::size_t a = 0; a < size; ++a) {
    if (gpus[a] == nullptr) continue;
    gpus[a]->nvswitch_links = topology.switch_links(a);
    for (std::size_t b = a + 1; b < size; ++b) {
      if (gpus[b] == nullptr) continue;
      const auto& link = topology.at(a, b);
      const auto [first, second] = std::minmax(gpus[a]->index, gpus[b]->index);
      status.links.push_back(
          {.a = first, .b = second, .level = word_of(link.level), .nvlinks = link.nvlinks});
    }
  }
}

cluster::GpuNodeResource resource_of(const offer::ResourceOffer& offer) {
  cluster::GpuNodeResource made{.name = clean(offer.name.value), .sharing = word_of(offer.sharing)};
  for (const auto& device : offer.devices) made.devices.push_back({.uuid = clean(device.uuid)});
  for (const auto& tranche : offer.tranches) {
    auto& device = made.devices.at(tranche.device);
    ++made.tranches;
    ++device.tranches;
    if (!offer.devices[tranche.device].healthy()) {
      ++made.unhealthy;
    } else if (tranche.withheld) {
      ++made.withheld;
      ++device.withheld;
    } else {
      ++made.healthy;
    }
  }
  return made;
}

// In mode `dra` a GPU, or each of its instances, is a device that claims take, whole or in shares.
cluster::GpuNodeResource claimed_devices(const std::vector<cluster::GpuNodeGpu>& gpus,
                                         const std::string& driver) {
  cluster::GpuNodeResource made{.name = clean(driver), .sharing = "claims"};
  const auto add = [&](const std::string& uuid, bool healthy) {
    made.devices.push_back({.uuid = uuid, .tranches = 1});
    ++made.tranches;
    ++(healthy ? made.healthy : made.unhealthy);
  };
  for (const auto& gpu : gpus) {
    const bool cut = gpu.mig == "enabled" && gpu.instances && !gpu.instances->empty();
    if (!cut) {
      add(gpu.uuid, gpu.unhealthy.empty());
      continue;
    }
    for (const auto& instance : *gpu.instances) {
      add(instance.uuid, gpu.unhealthy.empty() && instance.unhealthy.empty());
    }
  }
  return made;
}

void add_resources(const KnownNode& facts, cluster::GpuNodeStatus& status) {
  const bool dra = facts.state.get<NodeModeStanding>().mode == cluster::NodeMode::kDra;
  if (dra) status.resources.push_back(claimed_devices(status.gpus, facts.driver_name));
  for (const auto& resource : facts.offer.resources) {
    // In mode `dra` a resource still has what earlier containers hold.
    if (!dra || !resource.tranches.empty()) status.resources.push_back(resource_of(resource));
  }
  std::ranges::sort(status.resources, {}, &cluster::GpuNodeResource::name);
}

void add_withheld(const offer::Offer& offer, cluster::GpuNodeStatus& status) {
  for (const auto& withheld : offer.withheld) {
    auto& made = status.withheld.emplace_back();
    made.resource = clean(withheld.name.value);
    made.reason = clean(withheld.reason, kLongestMessage);
    for (const auto& device : withheld.devices) made.devices.push_back(clean(device));
  }
  for (const auto& held : offer.held) {
    const auto device = offer::name_of(
        {.uuid = held.uuid, .index = held.index, .mig = held.index.find(':') != std::string::npos});
    const auto reason = fmt::format(
        "{} of {} tranches are withheld until those end that hold it as it was offered "
        "before: {}",
        held.withheld, held.tranches, holdings::describe_holders(held.by));
    status.withheld.push_back({.resource = clean(held.resource.value),
                               .devices = {clean(device)},
                               .reason = clean(reason, kLongestMessage)});
  }
}

cluster::GpuNodePart part_of(const DeviceLimits& limits) {
  cluster::GpuNodePart part{.memory = limits.memory,
                            .weight = limits.weight,
                            .enforcer = std::string(to_string(limits.enforcer))};
  if (limits.permille) part.permille = *limits.permille;
  if (limits.borrowing) part.borrows_up_to = limits.borrowing->hard;
  return part;
}

cluster::GpuNodeHolding holding_of(const holdings::Holding& holding) {
  cluster::GpuNodeHolding made{.device = clean(holding.device),
                               .gpu = clean(holding.gpu),
                               .wire = word_of(holding.wire),
                               .resource = clean(holding.resource.value),
                               .id = clean(holding.id),
                               .claim = clean(holding.claim),
                               .request = clean(holding.request),
                               .tenant = clean(holding.tenant),
                               .ns = clean(holding.ns),
                               .pod = clean(holding.pod),
                               .pod_uid = clean(holding.pod_uid),
                               .container = clean(holding.container),
                               .use = word_of(holding.use),
                               .state = word_of(holding.state)};
  if (holding.part) made.part = part_of(*holding.part);
  return made;
}

// "L20", "L20 and 1 more": fits next to the other columns.
std::string models_of(const std::vector<cluster::GpuNodeGpu>& gpus) {
  std::vector<std::string> models;
  for (const auto& gpu : gpus) {
    const std::string_view name = gpu.model;
    const auto bare = name.starts_with("NVIDIA ") ? name.substr(7) : name;
    if (std::ranges::find(models, bare) == models.end()) models.emplace_back(bare);
  }
  if (models.empty()) return {};
  if (models.size() == 1) return clean(models.front(), kLongestModel);
  const auto more = fmt::format(" and {} more", models.size() - 1);
  return clean(models.front(), kLongestModel - more.size()) + more;
}

cluster::GpuNodeSummary summary_of(const cluster::GpuNodeStatus& status,
                                   const holdings::Holdings& held) {
  cluster::GpuNodeSummary summary{.gpus = static_cast<std::int64_t>(status.gpus.size()),
                                  .model = models_of(status.gpus)};
  summary.held = std::ranges::count_if(
      held, [](const auto& holding) { return holding.wire != holdings::Wire::kNone; });
  summary.healthy_gpus = std::ranges::count(status.gpus, "", &cluster::GpuNodeGpu::unhealthy);
  for (const auto& resource : status.resources) summary.tranches += resource.tranches;
  return summary;
}

}  // namespace

std::string clean(std::string_view text, std::size_t most) {
  if (text.size() <= most) return printable(text);
  return printable(text, most - 3) + "...";
}

cluster::GpuNodeStatus make_status(const KnownNode& known) {
  const auto& [state, offer, held, driver] = known;
  const auto& machine = *state.machine;
  cluster::GpuNodeStatus status{.agent = "tranche " TRANCHE_VERSION,
                                .driver = clean(machine.driver_version)};
  const auto& node = state.get<NodeModeStanding>();
  if (!node.undecided) status.mode = node.mode;
  if (const auto version = machine.cuda_driver_version; version > 0) {
    status.cuda = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  }
  for (const auto& gpu : machine.gpus) status.gpus.push_back(gpu_of(gpu, state.health));
  add_links(state, status);
  add_resources(known, status);
  add_withheld(offer, status);
  for (const auto& holding : held) status.holdings.push_back(holding_of(holding));
  status.reasons = reasons_of(state, offer);
  status.summary = summary_of(status, held);
  return status;
}

}  // namespace tranche::agent
