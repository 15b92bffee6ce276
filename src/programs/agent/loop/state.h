#pragma once
// Everything that an offer is made of, as one value: the hardware, its health, the configuration
// and what this node can do. The loop fills it from its inputs, the stages make an offer of it, and
// the followers see both.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/driver_files.h"
#include "cdi/spec.h"
#include "cluster/node_mode.h"
#include "config/config.h"
#include "gpu/health.h"
#include "gpu/machine.h"
#include "holdings/holding.h"
#include "offer/claim_keeper.h"
#include "offer/grant_maker.h"
#include "offer/limit_mounts.h"
#include "offer/limits.h"
#include "offer/offer.h"
#include "offer/preferred.h"

namespace tranche::agent {

// What grants need to know of the node beyond the offer.
struct NodeFacts {
  // The control nodes that exist (/dev/nvidiactl, ...), in order.
  std::vector<std::string> control_nodes;
  std::vector<int> imex_channels;  // the configured channels that exist
  bool operator==(const NodeFacts&) const = default;
};

// The driver's files, of which CDI specifications are made. Only looked for where containers get
// devices by CDI.
struct DriverStanding {
  std::shared_ptr<const cdi::DriverFiles> files;  // null: not looked for, or not there
  std::optional<Error> trouble = {};              // why no specification can be made of them
  bool were_there = false;                        // since this agent started
  bool operator==(const DriverStanding&) const = default;
};

// Whether containers can be limited here. Only filled where a resource is offered with limits.
struct LimitStanding {
  // nullopt: containers cannot be limited, or need not be.
  std::optional<offer::LimitMounts> mounts;
  std::string trouble;  // why containers cannot be limited; empty: they can
  // Why the runtime's hook is not installed; empty: it is, or is not needed.
  std::string hook_trouble;
  bool operator==(const LimitStanding&) const = default;
};

// The advice in messages about a control daemon that does not serve.
inline constexpr std::string_view kMpsRemedy =
    "look at the Pod of mps-control-daemon on this node (it runs where the node's label "
    "nvidia.com/mps.capable is true; the chart has it with mps.enabled=true)";

// The state of the control daemon of a resource that MPS shares.
struct MpsStanding {
  std::string trouble;              // why it does not serve; empty: it does
  offer::MpsService service;        // how it serves, or served last
  bool has_served = false;          // since the configuration shares the resource this way
  std::set<std::string> gpus = {};  // that it serves, or is to
  bool operator==(const MpsStanding&) const = default;
};

// What running containers hold that does not go together with what would be offered now.
struct HeldStanding {
  std::vector<holdings::Holding> at_odds;  // empty: nothing is withheld (offer/withholding.h)
  // Held tranches that the offer has no more, by resource (ResourceOffer::beyond).
  std::map<config::ResourceName, std::vector<int>> beyond;
  // Kubelet was asked who holds it, and whether it is still held, or could not be asked.
  bool asked = false;
  std::string trouble;  // why nothing is withheld at all; empty: it is where need be
  bool operator==(const HeldStanding&) const = default;
};

// What the manager of MIG layouts takes out of service (agent/mig/).
struct MigStanding {
  // The GPUs whose layout is being changed, and the ids of the GPU instances of each that stay.
  std::map<std::string, std::set<int>> changing;
  // GPUs that stay as they are and leave service with them, and why (agent/mig/mig_beside.h).
  std::map<std::string, std::string> beside;
  // Resources whose MPS control daemons end for the change.
  std::set<std::string> mps;
  bool operator==(const MigStanding&) const = default;
};

// How this node gives out its GPUs, and what the driver of claims (agent/dra/) knows for it.
struct ClaimStanding {
  cluster::NodeMode mode = cluster::NodeMode::kDevicePlugin;
  // At a first start: the Node has not been read yet, and neither wire gives anything out.
  bool undecided = false;
  // nullopt: containers with a claim cannot be limited here, and no_limits says why; or nobody
  // serves claims on this node.
  std::optional<offer::LimitMounts> mounts;
  std::string no_limits;
  // What keeps the limits of claims on each GPU, and the runtime's hook of their containers where
  // the configuration asks for it.
  offer::ClaimKeepers keepers;
  std::optional<cdi::Hook> hook;
  // False: what claims hold is not known yet.
  bool known = true;
  // For people: which claims' containers were made for another sharing of their GPU than there is
  // now. Empty: none.
  std::string before_mps;
  std::string after_mps;
  // In mode device-plugin: devices that claims of earlier still hold, and the claim, by UUID.
  std::map<std::string, std::string> held;
  std::map<gpu::PciAddress, std::string> pcie_roots;  // "pci0000:44"
  // GPUs on which MIG instances are made for claims. nullopt: not known yet, so nothing new is
  // published.
  std::optional<std::set<gpu::GpuUuid>> cut = std::set<gpu::GpuUuid>();
  // For people; empty: nothing is wrong. What the Node's label has instead of a mode; what of the
  // slices this cluster does not keep.
  std::string label_trouble;
  std::string gates_off;
  bool operator==(const ClaimStanding&) const = default;
};

struct State {
  gpu::Host host;
  std::optional<gpu::Machine> machine;  // the last reading; nullopt: none yet
  gpu::HealthReport health;
  std::shared_ptr<const offer::Links> links;  // between GPUs; null: not read yet
  config::Config config;
  unsigned config_revision = 0;  // counts the configurations that took effect
  NodeFacts facts;
  DriverStanding driver;
  LimitStanding limits;
  std::map<config::ResourceName, MpsStanding> mps;  // for each resource that MPS should share
  HeldStanding held;
  MigStanding mig;
  ClaimStanding claims;
  bool operator==(const State&) const = default;
};

}  // namespace tranche::agent
