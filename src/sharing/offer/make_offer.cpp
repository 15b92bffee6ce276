#include "offer/make_offer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "offer/device_classes.h"
#include "offer/limits.h"
#include "offer/list_size.h"
#include "offer/mps.h"
#include "offer/selection.h"

namespace tranche::offer {
namespace {

using config::ReplicatedResource;
using config::ReplicatedResources;
using config::ResourceName;
using config::SharingStrategy;

std::string label(const ReplicatedResource& entry) {
  return entry.line > 0 ? fmt::format("sharing of {} (line {})", entry.name.value, entry.line)
                        : fmt::format("sharing of {}", entry.name.value);
}

std::string names_of(const DeviceClasses& classes) {
  std::vector<std::string_view> names;
  names.reserve(classes.by_name.size());
  for (const auto& [name, devices] : classes.by_name) names.push_back(name.value);
  return names.empty() ? "no GPU resource" : fmt::format("{}", fmt::join(names, ", "));
}

// What the configuration decided about one device.
struct Claim {
  ResourceName advertised;
  int replicas = 1;
  std::string objection;  // why it cannot be shared that way; empty: it can
};

// Lets the entries claim devices, in the order of the file. The first claim on a device is kept.
class Claims {
 public:
  Claims(const gpu::Machine& machine, const DeviceClasses& classes, const DeviceNames& names,
         SharingStrategy strategy)
      : machine_(machine), classes_(classes), names_(names), strategy_(strategy) {}

  void apply(const ReplicatedResource& entry) {
    const auto found = classes_.by_name.find(entry.name);
    if (found == classes_.by_name.end() && classes_.withheld.contains(entry.name)) return;
    if (found == classes_.by_name.end()) {
      warnings.push_back(
          fmt::format("{}: no such resource on this node (it has {}), so the entry does nothing; "
                      "correct the name, or ignore this if other nodes use the entry",
                      label(entry), names_of(classes_)));
      return;
    }
    const std::vector<Device>& devices = found->second;
    const Selection selection = select_devices(entry.devices, devices, names_);
    for (const std::string& missing : selection.missing) {
      warnings.push_back(fmt::format(
          "{}: {}: not on this node; correct `devices` (index, index:slot or UUID of a device of "
          "this resource)",
          label(entry), missing));
    }
    for (const std::size_t index : selection.devices) claim(entry, devices[index]);
  }

  const Claim* find(const Device& device) const {
    const auto found = by_uuid_.find(device.uuid);
    return found == by_uuid_.end() ? nullptr : &found->second;
  }

  std::vector<std::string> warnings;

 private:
  void claim(const ReplicatedResource& entry, const Device& device) {
    const auto [at, fresh] =
        by_uuid_.try_emplace(device.uuid, Claim{entry.advertised(), entry.replicas, ""});
    Claim& held = at->second;
    if (!fresh && held.advertised != entry.advertised()) {
      warnings.push_back(fmt::format(
          "{}: device {} ({}) is already given to {} by an earlier entry, which stands; name each "
          "device in one entry only",
          label(entry), device.index, device.uuid, held.advertised.value));
      return;
    }
    // Two entries for the same resource give the union of their ids, as in NVIDIA's plugin.
    held.replicas = std::max(held.replicas, entry.replicas);
    if (held.objection.empty()) held.objection = objection_to(entry, device);
  }

  // Why the device cannot be shared as the entry wishes; empty: it can.
  std::string objection_to(const ReplicatedResource& entry, const Device& device) const {
    if (strategy_ != SharingStrategy::kMps || entry.replicas <= 1) return {};
    return mps_objection(machine_, device, entry.replicas, entry.name);
  }

  const gpu::Machine& machine_;
  const DeviceClasses& classes_;
  const DeviceNames& names_;
  SharingStrategy strategy_;
  std::map<std::string, Claim> by_uuid_;
};

// A device and its number of replicas, before a resource is assigned.
struct Placed {
  Device device;
  int replicas = 1;
  std::string objection;  // why it is withheld; empty: it is not
};

struct Gathered {
  ResourceName base;
  std::vector<Placed> devices;
};

std::map<ResourceName, Gathered> gather(const DeviceClasses& classes, const Claims& claims) {
  std::map<ResourceName, Gathered> out;
  for (const auto& [base, devices] : classes.by_name) {
    for (const Device& device : devices) {
      const Claim* claim = claims.find(device);
      const ResourceName& name = claim == nullptr ? base : claim->advertised;
      Gathered& gathered = out.try_emplace(name, Gathered{base, {}}).first->second;
      Placed placed = {device, 1, ""};
      if (claim != nullptr) placed = {device, claim->replicas, claim->objection};
      const auto objection = classes.objections.find(device.uuid);
      if (objection != classes.objections.end()) placed.objection = objection->second;
      gathered.devices.push_back(std::move(placed));
    }
  }
  // Two classes may have one name now, so the devices are sorted back into the order of the
  // hardware.
  for (auto& [name, gathered] : out) {
    std::ranges::sort(gathered.devices, {}, [](const Placed& placed) {
      return std::tuple(placed.device.gpu_index, slot_of(placed.device), placed.device.uuid);
    });
  }
  return out;
}

// Moves what cannot be offered out of `gathered`. The other devices of the resource stay.
void withhold(const ResourceName& name, Gathered& gathered, std::vector<Withheld>& withheld) {
  std::vector<Withheld> found;
  for (const Placed& placed : gathered.devices) {
    if (placed.objection.empty()) continue;
    const auto same = std::ranges::find(found, placed.objection, &Withheld::reason);
    Withheld& one = same == found.end() ? found.emplace_back(name, placed.objection) : *same;
    one.devices.push_back(name_of(placed.device));
  }
  std::erase_if(gathered.devices, [](const Placed& placed) { return !placed.objection.empty(); });
  if (found.empty()) return;
  if (gathered.devices.empty()) {
    withheld.push_back({name, std::move(found.front().reason)});
  } else {
    std::ranges::move(found, std::back_inserter(withheld));
  }
}

std::size_t count_tranches(const Gathered& gathered) {
  return std::accumulate(gathered.devices.begin(), gathered.devices.end(), std::size_t{0},
                         [](std::size_t sum, const Placed& placed) {
                           return sum + static_cast<std::size_t>(placed.replicas);
                         });
}

// Why kubelet cannot receive these tranches; empty: it can.
std::string too_long(const Gathered& gathered) {
  std::vector<Listed> list;
  list.reserve(gathered.devices.size());
  for (const Placed& placed : gathered.devices) list.push_back({&placed.device, placed.replicas});
  const auto bytes = list_bytes(list);
  if (bytes <= kLongestList) return {};
  return fmt::format(
      "{} tranches are more than kubelet can be told of in one message ({} of at most {} bytes); "
      "lower `replicas`, to {} at most",
      count_tranches(gathered), bytes, kLongestList, most_replicas(list));
}

void cut(ResourceOffer& resource, Placed placed) {
  const std::size_t index = resource.devices.size();
  if (placed.replicas <= 1) {
    resource.tranches.push_back({placed.device.uuid, index});
  }
  for (int replica = 0; placed.replicas > 1 && replica < placed.replicas; ++replica) {
    resource.tranches.push_back({replica_id(placed.device.uuid, replica), index});
  }
  resource.replicas = std::max(resource.replicas, placed.replicas);
  resource.devices.push_back(std::move(placed.device));
}

ResourceOffer assemble(const ResourceName& name, Gathered gathered, SharingStrategy strategy,
                       bool one_only) {
  ResourceOffer resource;
  resource.name = name;
  resource.base = std::move(gathered.base);
  resource.endpoint = fmt::format("nvidia-{}.sock", name.base());
  resource.devices.reserve(gathered.devices.size());
  resource.tranches.reserve(count_tranches(gathered));
  for (Placed& placed : gathered.devices) cut(resource, std::move(placed));
  if (resource.replicas > 1) {
    resource.sharing = strategy;
    resource.fail_requests_greater_than_one = one_only;
  }
  return resource;
}

}  // namespace

Offer make_offer(const gpu::Machine& machine, const config::Config& config,
                 const gpu::HealthReport& health) {
  DeviceClasses classes = device_classes(machine, config, health);
  const DeviceNames names = device_names(machine);
  const SharingStrategy strategy = config.sharing.strategy();
  Claims claims(machine, classes, names, strategy);
  const ReplicatedResources* entries = config.sharing.active();
  if (entries != nullptr) {
    for (const ReplicatedResource& entry : entries->resources) claims.apply(entry);
  }

  Offer offer;
  offer.warnings = std::move(classes.warnings);
  std::ranges::move(claims.warnings, std::back_inserter(offer.warnings));
  const auto& limits = config.tranche.limits;
  for (auto& [name, gathered] : gather(classes, claims)) {
    for (Placed& placed : gathered.devices) {
      if (!placed.objection.empty()) continue;
      placed.objection = limits_objection(limits, name, placed.device, placed.replicas);
    }
    withhold(name, gathered, offer.withheld);
    if (gathered.devices.empty()) continue;
    if (auto why = too_long(gathered); !why.empty()) {
      offer.withheld.push_back({name, std::move(why)});
      continue;
    }
    offer.resources.push_back(assemble(
        name, gathered, strategy, entries != nullptr && entries->fail_requests_greater_than_one));
  }
  for (auto& [name, reason] : classes.withheld) offer.withheld.push_back({name, std::move(reason)});
  std::ranges::stable_sort(offer.withheld, {}, &Withheld::name);
  apply_limits(limits, machine, offer);
  return offer;
}

}  // namespace tranche::offer
