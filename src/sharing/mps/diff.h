#pragma once
// The changes from the running daemons to the wanted ones, with the least disruption. A daemon that
// differs only in limits receives the new limits and keeps its clients. A daemon with other GPUs,
// another protocol or other partitions must be ended and started again, which ends its clients. All
// other daemons are left alone. (NVIDIA's control daemon ends all of them at any change.) Pure.

#include <string>
#include <vector>

#include "mps/plan.h"

namespace tranche::mps {

enum class Step {
  kKeep,     // nothing differs
  kRetune,   // new limits for a running daemon
  kRestart,  // other GPUs, another protocol, other partitions
  kStart,
  kEnd,
};

struct Change {
  Step step = Step::kKeep;
  Daemon daemon;  // the wanted daemon; with kEnd the running one
  Daemon before;  // the running daemon, with kRetune and kRestart
  bool operator==(const Change&) const = default;
};

// In execution order: daemons that end free their GPUs for those that start.
std::vector<Change> diff(const Plan& running, const Plan& wanted);

}  // namespace tranche::mps
