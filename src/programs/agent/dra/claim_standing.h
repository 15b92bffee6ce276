#pragma once
// What the DRA driver contributes to the offer and to its own pool, as ClaimInput found it last.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cdi/spec.h"
#include "gpu/machine.h"
#include "holdings/holding.h"
#include "offer/claim_enforcers.h"
#include "offer/limit_mounts.h"

namespace tranche::agent {

struct ClaimStanding {
  // nullopt: containers with a claim cannot be limited here (no_limits says why), or nobody serves
  // claims.
  std::optional<offer::LimitMounts> mounts;
  std::string no_limits;
  // What keeps the limits of claims on each GPU; the runtime's hook, where it is configured.
  offer::ClaimEnforcers enforcers;
  std::optional<cdi::Hook> hook;
  // What claims hold: in mode device-plugin all of it, in mode dra what was prepared for a
  // different sharing of the GPU. nullopt: not known yet, or not all of it can be read; any device
  // may be held.
  std::optional<std::vector<holdings::Holding>> held = std::vector<holdings::Holding>();
  std::map<gpu::PciAddress, std::string> pcie_roots;  // "pci0000:44"
  // GPUs on which MIG instances are made for claims. nullopt: not known yet; nothing new is
  // published.
  std::optional<std::set<gpu::GpuUuid>> cut = std::set<gpu::GpuUuid>();
  std::string gates_off;  // for people: fields of slices that this cluster drops
  bool operator==(const ClaimStanding&) const = default;
};

}  // namespace tranche::agent
