#include "dra/joint.h"

#include <algorithm>
#include <set>

namespace tranche::dra {
namespace {

constexpr std::uint32_t kAll = 1000;

bool is_joinable(const PreparedDevice& device) {
  return device.part && device.limits && !device.place && !device.uuid.empty();
}

bool go_together(const PreparedDevice& a, const PreparedDevice& b) {
  return is_joinable(a) && is_joinable(b) && a.uuid == b.uuid;
}

// The Pod's containers that have the device; none if the claim was not made for the Pod.
std::set<std::string> users(const PreparedClaim& claim, const PreparedDevice& device,
                            const cluster::Pod& pod) {
  std::set<std::string> names;
  const auto own = std::ranges::find(pod.claims, claim.name, &cluster::PodClaim::object);
  if (own == pod.claims.end() || own->claim_template.empty()) return names;
  for (const auto& container : pod.containers) {
    if (uses(container, claim, device, pod)) names.insert(container.name);
  }
  return names;
}

}  // namespace

bool are_of_one_pod(const PreparedClaim& a, const PreparedClaim& b) {
  return !a.pod.empty() && a.pod == b.pod && a.ns == b.ns && a.uid != b.uid;
}

bool uses(const cluster::PodContainer& container, const PreparedClaim& claim,
          const PreparedDevice& device, const cluster::Pod& pod) {
  return std::ranges::any_of(container.claims, [&](const cluster::ContainerClaim& used) {
    if (!used.request.empty() && used.request != device.request) return false;
    const auto named = std::ranges::find(pod.claims, used.claim, &cluster::PodClaim::name);
    return named != pod.claims.end() && named->object == claim.name;
  });
}

bool may_join(const PreparedClaim& claim, const std::vector<PreparedClaim>& prepared) {
  if (claim.pod.empty()) return false;
  for (auto device = claim.devices.begin(); device != claim.devices.end(); ++device) {
    const auto fits = [&](const PreparedDevice& other) { return go_together(*device, other); };
    if (std::any_of(device + 1, claim.devices.end(), fits)) return true;
    for (const auto& other : prepared) {
      if (are_of_one_pod(claim, other) && std::ranges::any_of(other.devices, fits)) return true;
    }
  }
  return false;
}

void join_shares(PreparedClaim& claim, const std::vector<PreparedClaim>& prepared,
                 const cluster::Pod& pod) {
  if (claim.pod != pod.uid || claim.ns != pod.ns) return;
  for (auto device = claim.devices.begin(); device != claim.devices.end(); ++device) {
    const auto mine = users(claim, *device, pod);
    if (mine.empty()) continue;
    const auto join = [&](const PreparedClaim& with, const PreparedDevice& other) {
      if (!go_together(*device, other) || users(with, other, pod) != mine) return false;
      device->joined = tenant_of(with, other);
      return true;
    };
    bool joined = false;
    for (auto other = claim.devices.begin(); other != device && !joined; ++other) {
      joined = join(claim, *other);
    }
    for (const auto& with : prepared) {
      if (!are_of_one_pod(claim, with)) continue;
      for (const auto& other : with.devices) joined = joined || join(with, other);
    }
  }
}

bool have_a_tenant_together(const PreparedClaim& a, const PreparedClaim& b) {
  return std::ranges::any_of(a.devices, [&](const PreparedDevice& mine) {
    if (!mine.limits) return false;
    return std::ranges::any_of(b.devices, [&](const PreparedDevice& other) {
      return other.limits && tenant_of(a, mine) == tenant_of(b, other);
    });
  });
}

void add_part(DeviceLimits& sum, const DeviceLimits& part) {
  if (sum.memory && part.memory) {
    sum.memory->value += part.memory->value;
  } else {
    sum.memory.reset();
  }
  if (sum.permille && part.permille && *sum.permille + *part.permille < kAll) {
    *sum.permille += *part.permille;
  } else {
    sum.permille.reset();
  }
  sum.weight = std::min(sum.weight + part.weight, kAll);
}

GrantLimits joint_limits(const std::string& tenant, const std::vector<PreparedClaim>& claims) {
  GrantLimits joint;
  for (const auto& claim : claims) {
    for (const auto& device : claim.devices) {
      if (!device.limits || tenant_of(claim, device) != tenant) continue;
      if (joint.devices.empty()) {
        joint = *device.limits;
      } else {
        add_part(joint.devices.front(), device.limits->devices.front());
      }
    }
  }
  return joint;
}

}  // namespace tranche::dra
