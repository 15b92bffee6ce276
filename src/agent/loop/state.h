#pragma once
// What an offer follows from, as one value: the hardware, its health, the configuration and what
// this node can do. The loop fills it from its inputs, the stages make an offer of it, and the
// followers see both.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "gpu/health.h"
#include "gpu/machine.h"
#include "offer/grant_maker.h"
#include "offer/limits.h"
#include "offer/offer.h"
#include "offer/preferred.h"

namespace tranche::agent {

// What grants need to know of the node beside the offer.
struct NodeFacts {
  std::vector<std::string> control_nodes;  // those of /dev/nvidiactl, ... that exist, in order
  std::vector<int> imex_channels;          // those of the configuration's that exist
  bool operator==(const NodeFacts&) const = default;
};

// Whether containers can be limited here, where something is offered with limits.
struct LimitStanding {
  std::optional<offer::LimitMounts> mounts;  // nullopt: they cannot be, or need not
  std::string trouble;                       // why they cannot be
  std::string hook_trouble;                  // why they cannot have the runtime's hook
  bool operator==(const LimitStanding&) const = default;
};

// How the control daemon of a resource that MPS shares stands.
struct MpsStanding {
  std::string trouble;        // why it does not serve; empty: it does
  offer::MpsService service;  // how it serves, or served last
  bool has_served = false;    // since the configuration shares the resource so
  bool operator==(const MpsStanding&) const = default;
};

struct State {
  gpu::Host host;
  std::optional<gpu::Machine> machine;  // the last reading; nullopt: none yet
  gpu::HealthReport health;
  std::shared_ptr<const offer::Links> links;  // between GPUs; null: not read yet
  config::Config config;
  unsigned config_revision = 0;  // counts the configurations that took effect
  NodeFacts facts;
  LimitStanding limits;
  std::map<config::ResourceName, MpsStanding> mps;  // resources that are to be shared by MPS
  bool operator==(const State&) const = default;
};

}  // namespace tranche::agent
