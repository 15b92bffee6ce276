#include "agent/dra/claim_mps.h"

#include <fmt/format.h>

#include <set>

#include "agent/dra/claim_standing.h"
#include "agent/mps/mps_standing.h"
#include "base/first_few.h"
#include "dra/joint.h"

namespace tranche::agent {
namespace {

using dra::PreparedClaim;
using dra::PreparedDevice;

constexpr const char* kNoDaemon = "its MPS control daemon does not serve";
constexpr const char* kNotOpen =
    "its MPS control daemon has the limits of the device plugin's containers; it leaves them to "
    "claims when none of these holds a GPU of the resource, if it is one of this release";
constexpr std::size_t kMostNames = 5;

enum class PreparedFor { kMps, kOthers };

// The claims whose containers were made for a different sharing than their GPU has now: clients of
// MPS, or all others.
std::string names_of(std::span<const holdings::Holding> held,
                     const offer::ClaimEnforcers& enforcers, PreparedFor whom) {
  std::set<std::string> names;
  for (const auto& one : held) {
    const bool for_mps = !one.mps.empty();
    if (for_mps != (whom == PreparedFor::kMps) || offer::is_shared_as_prepared(one, enforcers))
      continue;
    names.insert(fmt::format("{}/{}", one.ns, one.claim));
  }
  return names.empty() ? std::string()
                       : first_few(std::vector(names.begin(), names.end()), kMostNames);
}

}  // namespace

std::map<std::string, std::string> mps_resources(const offer::ClaimEnforcers& enforcers) {
  std::map<std::string, std::string> resources;
  for (const auto& [uuid, on_gpu] : enforcers.gpus) {
    if (!on_gpu.mps.empty()) resources.emplace(uuid, on_gpu.mps);
  }
  return resources;
}

std::map<std::string, std::string> mps_troubles(const State& state) {
  const auto& standings = state.get<MpsStandings>();
  std::map<std::string, std::string> troubles;
  for (const auto& [uuid, resource] : mps_resources(state.get<ClaimStanding>().enforcers)) {
    const auto found = standings.find({resource});
    if (found == standings.end()) {
      troubles.emplace(uuid, kNoDaemon);
    } else if (!found->second.trouble.empty()) {
      troubles.emplace(uuid, found->second.trouble);
    } else if (!found->second.service.open) {
      troubles.emplace(uuid, kNotOpen);
    }
  }
  return troubles;
}

bool is_client(const PreparedDevice& device, const offer::ClaimEnforcers& enforcers) {
  return !device.mps.empty() && device.mps == enforcers.of(device.uuid).mps;
}

bool is_client(const std::string& tenant, const std::vector<PreparedClaim>& claims,
               const offer::ClaimEnforcers& enforcers) {
  bool client = false;
  for (const auto& claim : claims) {
    for (const auto& device : claim.devices) {
      if (dra::tenant_of(claim, device) != tenant) continue;
      if (!is_client(device, enforcers)) return false;
      client = true;
    }
  }
  return client;
}

std::optional<offer::MpsClient> client_of(const PreparedClaim& claim, const PreparedDevice& device,
                                          const std::vector<PreparedClaim>& all,
                                          const ClaimNode& node) {
  const auto resource = node.enforcers.of(device.uuid).mps;
  if (resource.empty() || device.admin_access) return std::nullopt;
  std::map<std::string, DeviceLimits> parts;  // of shares of one GPU their sum
  for (const auto& other : claim.devices) {
    if (other.request != device.request || !other.limits) continue;
    const auto joint = dra::joint_limits(dra::tenant_of(claim, other), all);
    if (!joint.devices.empty()) parts.emplace(other.uuid, joint.devices.front());
  }
  std::vector<DeviceLimits> limits;
  for (auto& [uuid, part] : parts) limits.push_back(std::move(part));
  const auto service = node.mps.find(resource);
  return offer::mps_client(resource,
                           service == node.mps.end() ? offer::MpsService() : service->second,
                           node.mps_root, limits);
}

std::string describe_before_mps(std::span<const holdings::Holding> held,
                                const offer::ClaimEnforcers& enforcers) {
  const auto names = names_of(held, enforcers, PreparedFor::kOthers);
  if (names.empty()) return {};
  return fmt::format(
      "claims prepared before MPS served their GPU: {}; processes of their containers are no "
      "clients of MPS, and the GPU takes no others: restart the containers, or delete the Pods",
      names);
}

std::string describe_after_mps(std::span<const holdings::Holding> held,
                               const offer::ClaimEnforcers& enforcers) {
  const auto names = names_of(held, enforcers, PreparedFor::kMps);
  if (names.empty()) return {};
  return fmt::format(
      "claims prepared for MPS, which serves their GPU no longer (another sharing): {}; their "
      "processes have lost it, and the limiter holds those that start: restart the containers, or "
      "delete the Pods",
      names);
}

}  // namespace tranche::agent
