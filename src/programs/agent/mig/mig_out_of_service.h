#pragma once
// What is out of service for the change in progress. The manager's thread sets it from the journal
// and the GPUs; the agent's loop reads standing() in each round and withholds it.
//
// standing() may be called from any thread, everything else only from the manager's.

#include <mutex>
#include <optional>

#include "agent/loop/state.h"
#include "agent/mig/mig_neighbours.h"
#include "agent/mig/mig_service.h"
#include "agent/mig/mig_view.h"
#include "gpu/machine.h"
#include "mig/journal.h"

namespace tranche::agent {

struct MigLeaving {
  MigStanding standing;
  MigNeighbours neighbours;  // source of standing.neighbours and standing.mps
};

class MigOutOfService {
 public:
  // A change begins, or an earlier agent's is continued. `states`: of its GPUs.
  void begin(const mig::Journal& journal, const MigStates& states, const MigView& view);
  // To repeat while Pods are drained: the configuration may change, and with it who shares a
  // daemon.
  void find_neighbours(const mig::Journal& journal, const MigView& view);
  void end() { leaving_ = {}; }

  const MigLeaving& leaving() const { return leaving_; }

  // From now on the loop withholds what the journal's phase takes out of service. True: that
  // differs from before.
  bool serve(const std::optional<mig::Journal>& journal);
  MigStanding standing(const gpu::Machine& machine) const;

 private:
  MigStanding standing_in(const mig::Journal& journal) const;

  MigLeaving leaving_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  MigStanding standing_;
  std::optional<mig::Layout> awaited_;  // back in service once the driver lists it
};

}  // namespace tranche::agent
