#include "dra/mps_together.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "dra/joint.h"
#include "offer/mps.h"

namespace tranche::dra {
namespace {

// An MPS device of the Pod.
struct Client {
  const PreparedClaim* claim;
  const PreparedDevice* device;
  int percentage;  // of the multiprocessors; the sum over the tenant's shares
};

using Claims = std::vector<PreparedClaim>;

int percentage_of(const PreparedClaim& claim, const PreparedDevice& device, const Claims& all) {
  if (!device.limits) return 100;
  const auto limits = joint_limits(tenant_of(claim, device), all);
  return limits.devices.empty() ? 100 : offer::mps_percentage(limits.devices.front());
}

// All MPS devices of the claim's Pod, those of the claim first.
std::vector<Client> clients_of(const Claims& all) {
  std::vector<Client> clients;
  for (const auto& claim : all) {
    for (const auto& device : claim.devices) {
      if (device.mps.empty() || device.admin_access) continue;
      clients.push_back({&claim, &device, percentage_of(claim, device, all)});
    }
  }
  return clients;
}

// `where`: " of container main".
Result<void> check(const std::vector<Client>& together, const std::string& where) {
  if (together.empty()) return {};
  const auto& first = together.front();
  for (const auto& other : together) {
    if (other.device->mps != first.device->mps) {
      return fail(
          Code::kInvalidArgument,
          fmt::format("{} and {}{} are served by different MPS control daemons ({} and {}), "
                      "and a container can be a client of one",
                      first.device->device, other.device->device, where, first.device->mps,
                      other.device->mps),
          "use them in different containers, or have the node share all its GPUs as one "
          "resource");
    }
    if (other.device->uuid == first.device->uuid || other.percentage == first.percentage) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("{}% of {} and {}% of {}{}: MPS has one percentage for all GPUs of a "
                            "container",
                            first.percentage, first.device->device, other.percentage,
                            other.device->device, where),
                "ask for the same compute of each, or use them in different containers");
  }
  return {};
}

}  // namespace

Result<void> check_mps_together(const PreparedClaim& claim, const Claims& prepared,
                                const cluster::Pod* pod) {
  Claims all{claim};
  for (const auto& other : prepared) {
    if (are_of_one_pod(claim, other)) all.push_back(other);
  }
  const auto clients = clients_of(all);
  if (std::ranges::none_of(clients, [&](const Client& one) { return one.claim == &all.front(); })) {
    return {};
  }
  if (pod == nullptr) return check(clients, "");
  for (const auto& container : pod->containers) {
    std::vector<Client> own;
    std::ranges::copy_if(clients, std::back_inserter(own), [&](const Client& one) {
      return uses(container, *one.claim, *one.device, *pod);
    });
    TRY(check(own, fmt::format(" of container {}", container.name)));
  }
  return {};
}

}  // namespace tranche::dra
