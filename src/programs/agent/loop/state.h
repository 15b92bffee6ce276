#pragma once
// Everything that an offer is made from, as one value: hardware, health, configuration and what
// this node can do. The loop fills it from its inputs, the stages make an offer from it, and the
// followers see both.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/loop/slots.h"
#include "config/config.h"
#include "gpu/health.h"
#include "gpu/machine.h"
#include "offer/preferred.h"

namespace tranche::agent {

// What grants need to know of the node in addition to the offer.
struct NodeFacts {
  std::vector<std::string> control_nodes;
  std::vector<int> imex_channels;  // configured and existing
  bool operator==(const NodeFacts&) const = default;
};

struct State {
  gpu::Host host;
  std::optional<gpu::Machine> machine;  // the last reading; nullopt: none yet
  gpu::HealthReport health;
  std::shared_ptr<const offer::Links> links;  // between GPUs; null: not read yet
  config::Config config;
  unsigned config_revision = 0;  // counts the configurations that took effect
  NodeFacts facts;
  Slots slots;  // one value of each room: get<LimitStanding>()

  template <class T>
  const T& get() const {
    return slots.get<T>();
  }
  template <class T>
  void set(T value) {
    slots.set<T>(std::move(value));
  }
  template <class T>
  T& edit() {
    return slots.edit<T>();
  }
  bool operator==(const State&) const = default;
};

}  // namespace tranche::agent
