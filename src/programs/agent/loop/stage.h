#pragma once
// How an offer is made: inputs put what they see of the node into the State, then stages change the
// offer one after the other. Each stage is a pure function of State and offer.

#include <chrono>
#include <optional>
#include <string>

#include "agent/loop/state.h"

namespace tranche::agent {

// Reads what a stage needs to know of the node, and only where a resource on offer needs it. Used
// by the agent's loop. It never waits: it reads at most small local files.
class Input {
 public:
  Input() = default;
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  virtual ~Input() = default;

  // `wished`: the offer that the configuration asks for on this machine, before the stages.
  virtual void look(const offer::Offer& wished, State& state) = 0;
  // When to look again if nothing else changes; nullopt: never.
  virtual std::optional<std::chrono::milliseconds> interval(const State&) const { return {}; }
  // Why this keeps the agent from being ready; empty: it does not.
  virtual std::string trouble(const State&) const { return {}; }
};

using Stage = offer::Offer (*)(const State& state, offer::Offer offer);

}  // namespace tranche::agent
