#pragma once
// How an offer is made: inputs look at the node and put what they see into the State, then stages
// change the offer one after the other, each a pure function of State and offer.

#include <chrono>
#include <optional>
#include <string>

#include "agent/loop/state.h"

namespace tranche::agent {

// What only the outside tells, and only where something is offered that needs it. Used by the
// agent's loop. Never waits: small files of this machine at most.
class Input {
 public:
  Input() = default;
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  virtual ~Input() = default;

  // `wished`: what the configuration asks for on this machine, before the stages.
  virtual void look(const offer::Offer& wished, State& state) = 0;
  // How soon it is to look again by itself; nullopt: when something else changes.
  virtual std::optional<std::chrono::milliseconds> interval(const State&) const { return {}; }
  // Why the agent is not ready by what was seen; empty: it is.
  virtual std::string trouble(const State&) const { return {}; }
};

using Stage = offer::Offer (*)(const State& state, offer::Offer offer);

}  // namespace tranche::agent
