#include "mps/diff.h"

#include <algorithm>

namespace tranche::mps {
namespace {

// Whether a running daemon needs no restart: true if all that it reads only at its start is equal.
// With partitions that includes `replicas`, because partitions are made before the first client.
bool same_start(const Daemon& a, const Daemon& b) {
  return a.sees_all == b.sees_all && a.protocol == b.protocol && a.partitions == b.partitions &&
         std::ranges::equal(a.devices, b.devices, [](const auto& x, const auto& y) {
           return x.uuid == y.uuid && x.index == y.index && x.replicas == y.replicas;
         });
}

Change change_of(const Daemon& before, const Daemon& daemon) {
  if (before == daemon) return {Step::kKeep, daemon, {}};
  return {same_start(before, daemon) ? Step::kRetune : Step::kRestart, daemon, before};
}

int rank(Step step) {
  switch (step) {
    case Step::kEnd:
      return 0;
    case Step::kRestart:
      return 1;
    case Step::kStart:
      return 2;
    case Step::kRetune:
      return 3;
    case Step::kKeep:
      break;
  }
  return 4;
}

}  // namespace

std::vector<Change> diff(const Plan& running, const Plan& wanted) {
  std::vector<Change> changes;
  for (const Daemon& daemon : wanted) {
    const auto before = std::ranges::find(running, daemon.resource, &Daemon::resource);
    changes.push_back(before == running.end() ? Change{Step::kStart, daemon, {}}
                                              : change_of(*before, daemon));
  }
  for (const Daemon& daemon : running) {
    if (std::ranges::find(wanted, daemon.resource, &Daemon::resource) == wanted.end()) {
      changes.push_back({Step::kEnd, daemon, {}});
    }
  }
  std::ranges::stable_sort(changes, {}, [](const Change& change) { return rank(change.step); });
  return changes;
}

}  // namespace tranche::mps
