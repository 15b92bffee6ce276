#pragma once
// How an offer is made. Inputs look at the node and put what they see into the State. Then stages
// change the offer one after the other. Each stage is a pure function of State and offer.

#include <chrono>
#include <optional>
#include <string>

#include "agent/loop/state.h"

namespace tranche::agent {

// An input reads what a stage needs to know of the node, and only where a resource on offer needs
// it. Used by the agent's loop. It never waits: it reads small files of this machine at most.
class Input {
 public:
  Input() = default;
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  virtual ~Input() = default;

  // `wished`: the offer that the configuration asks for on this machine, before the stages.
  virtual void look(const offer::Offer& wished, State& state) = 0;
  // How soon to look again if nothing else changes; nullopt: not until something else changes.
  virtual std::optional<std::chrono::milliseconds> interval(const State&) const { return {}; }
  // Why what was seen keeps the agent from being ready; empty: it does not.
  virtual std::string trouble(const State&) const { return {}; }
};

using Stage = offer::Offer (*)(const State& state, offer::Offer offer);

}  // namespace tranche::agent
