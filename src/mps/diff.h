#pragma once
// From the daemons that run to those that are wanted, with as little harm as can be. A daemon whose
// limits alone differ is told the new ones and keeps its clients; one that serves other GPUs than
// before, by another protocol or in other partitions, must be ended and started, which ends its
// clients; all others are not touched. (NVIDIA's
// control daemon ends them all at any change.) Pure.

#include <string>
#include <vector>

#include "mps/plan.h"

namespace tranche::mps {

enum class Step {
  kKeep,     // nothing differs
  kRetune,   // new limits, live
  kRestart,  // other GPUs, another protocol, other partitions
  kStart,
  kEnd,
};

struct Change {
  Step step = Step::kKeep;
  Daemon daemon;  // as wanted; of kEnd as it was
  Daemon before;  // of kRetune and kRestart
  bool operator==(const Change&) const = default;
};

// In the order to carry them out: what ends frees its GPUs for what starts.
std::vector<Change> diff(const Plan& running, const Plan& wanted);

}  // namespace tranche::mps
