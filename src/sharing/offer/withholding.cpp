#include "offer/withholding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>

#include "holdings/holdings.h"
#include "offer/room.h"

namespace tranche::offer {
namespace {

using Several = std::vector<const Holding*>;

// Several by their device's GPU.
using ByGpu = std::unordered_map<std::string_view, Several>;

ByGpu by_gpu(std::span<const Holding> held) {
  ByGpu out;
  for (const Holding& one : held) {
    // A MIG instance that is gone cannot be used by anyone.
    if (!one.gpu.empty()) out[one.gpu].push_back(&one);
  }
  return out;
}

bool is_of(const Holding& held, const Device& device) { return held.device == device.uuid; }

// Whether both use the same hardware of one GPU.
bool overlaps(const Holding& held, const Device& device) {
  return holdings::overlap(held, {.device = device.uuid, .gpu = device.gpu_uuid});
}

// What is already promised of one offered device.
struct Findings {
  Several at_odds;                     // conflict with every tranche of the device
  Several compatible;                  // other resources' tranches, shared in the same way
  std::set<std::string_view> offered;  // ids of this resource that are held

  bool any() const { return !at_odds.empty() || !compatible.empty(); }
};

Findings find(const ResourceOffer& offer, std::size_t index, const Several& held) {
  const Device& device = offer.devices[index];
  const Use use = use_of(offer, index);
  Findings found;
  for (const Holding* one : held) {
    if (!overlaps(*one, device)) continue;
    const bool same = one->resource == offer.name;
    const bool goes_along = same && holdings::follows(one->use, use);
    if (!is_of(*one, device) || (use == Use::kWhole && !same) ||
        (holdings::at_odds(one->use, use) && !goes_along)) {
      found.at_odds.push_back(one);
    } else if (!same) {
      found.compatible.push_back(one);
    } else {
      found.offered.insert(one->id);
    }
  }
  return found;
}

// Calls `visit(resource, device index, findings)` for each device of which something is withheld.
template <class Resources, class Visit>
void for_each_held(Resources& resources, const ByGpu& held, const Visit& visit) {
  for (auto& resource : resources) {
    for (std::size_t i = 0; i < resource.devices.size(); ++i) {
      const auto found = held.find(resource.devices[i].gpu_uuid);
      if (found == held.end()) continue;
      const auto findings = find(resource, i, found->second);
      if (findings.any()) visit(resource, i, findings);
    }
  }
}

std::vector<Holding> copies(const Several& held) {
  std::vector<Holding> out;
  out.reserve(held.size());
  for (const Holding* one : held) out.push_back(*one);
  std::ranges::sort(out, {}, [](const Holding& one) {
    return std::tie(one.resource.value, one.ns, one.pod, one.id);
  });
  return out;
}

// Withholds all tranches of the device, or as many free ones as others leave no room for. The last
// ones are withheld first: their order means nothing to kubelet, and the choice stays the same
// while the others are allocated.
HeldDevice withhold(ResourceOffer& resource, std::size_t index, const Findings& findings) {
  const Device& device = resource.devices[index];
  HeldDevice held{.resource = resource.name, .uuid = device.uuid, .index = device.index, .by = {}};
  const bool all = !findings.at_odds.empty();
  held.by = copies(all ? findings.at_odds : findings.compatible);
  std::vector<Tranche*> tranches;
  for (auto& tranche : resource.tranches) {
    if (tranche.device == index) tranches.push_back(&tranche);
  }
  held.tranches = tranches.size();
  const auto stays = all ? 0 : tranches_next_to(room_of(resource, index), findings.compatible);
  const auto wanted = held.tranches - stays;
  for (auto tranche = tranches.rbegin(); tranche != tranches.rend(); ++tranche) {
    if (held.withheld == wanted) break;
    if (!all && findings.offered.contains(std::string_view((*tranche)->id))) continue;
    (*tranche)->withheld = true;
    ++held.withheld;
  }
  return held;
}

// The number in a replica's id; nullopt: not a replica.
std::optional<int> replica_of(std::string_view id) {
  const auto at = id.find("::");
  if (at == id.npos) return std::nullopt;
  int number = -1;
  const auto* end = id.data() + id.size();
  const auto read = std::from_chars(id.data() + at + 2, end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 0) return std::nullopt;
  return number;
}

}  // namespace

Use use_of(std::string_view id) { return is_replica_id(id) ? Use::kShared : Use::kWhole; }

Use use_of(const Grant& grant, std::string_view id) {
  if (!is_replica_id(id)) return Use::kWhole;
  return grant.envs.contains("CUDA_MPS_PIPE_DIRECTORY") ? Use::kMps : Use::kTimeSliced;
}

Use use_of(const ResourceOffer& offer, std::size_t device) {
  const auto tranche = std::ranges::find(offer.tranches, device, &Tranche::device);
  if (tranche == offer.tranches.end() || !is_replica_id(tranche->id)) return Use::kWhole;
  return offer.sharing == config::SharingStrategy::kMps ? Use::kMps : Use::kTimeSliced;
}

std::vector<Holding> find_at_odds(std::span<const Holding> held, const Offer& offer) {
  const auto known = by_gpu(held);
  std::set<const Holding*> found;
  for_each_held(offer.resources, known,
                [&](const ResourceOffer& resource, std::size_t device, const Findings&) {
                  for (const Holding* one : known.at(resource.devices[device].gpu_uuid)) {
                    found.insert(one);
                  }
                });
  return copies({found.begin(), found.end()});
}

void withhold_held(std::span<const Holding> held, Offer& offer) {
  for_each_held(offer.resources, by_gpu(held),
                [&](ResourceOffer& resource, std::size_t device, const Findings& findings) {
                  auto withheld = withhold(resource, device, findings);
                  if (withheld.withheld > 0) offer.held.push_back(std::move(withheld));
                });
}

std::map<config::ResourceName, std::vector<int>> count_beyond(std::span<const Holding> held,
                                                              const Offer& offer) {
  const auto known = by_gpu(held);
  std::map<config::ResourceName, std::vector<int>> out;
  for (const auto& resource : offer.resources) {
    const auto counts = tranche_counts(resource);
    std::vector<int> beyond(resource.devices.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto found = known.find(resource.devices[i].gpu_uuid);
      if (found == known.end() || counts[i] <= 1) continue;
      beyond[i] = static_cast<int>(std::ranges::count_if(found->second, [&](const Holding* one) {
        return one->resource == resource.name && is_of(*one, resource.devices[i]) &&
               replica_of(one->id).value_or(counts[i]) >= counts[i];
      }));
    }
    if (std::ranges::all_of(beyond, [](int count) { return count == 0; })) continue;
    out.emplace(resource.name, std::move(beyond));
  }
  return out;
}

std::string describe(const HeldDevice& held) {
  std::map<std::string_view, std::vector<Holding>> by_resource;
  for (const Holding& one : held.by) by_resource[one.resource.value].push_back(one);
  std::vector<std::string> parts;
  for (const auto& [resource, holders] : by_resource) {
    parts.push_back(fmt::format("{} by {}", resource, holdings::describe_holders(holders)));
  }
  const auto count = held.withheld == held.tranches
                         ? std::string()
                         : fmt::format("{} of {} tranches of ", held.withheld, held.tranches);
  return fmt::format("{}{} on {} {} ({}) {} held as {}", count, held.resource.value,
                     held.uuid.starts_with("MIG-") ? "MIG device" : "GPU", held.index, held.uuid,
                     held.withheld == 1 || count.empty() ? "is" : "are", fmt::join(parts, ", "));
}

}  // namespace tranche::offer
