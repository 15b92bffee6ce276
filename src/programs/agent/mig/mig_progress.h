#pragma once
// The progress of this node's changes of MIG layouts. Owned by the executor
// (agent/mig/mig_executor.h), read by the observer and the announcer.

#include <optional>
#include <string>

#include "agent/mig/mig_machine.h"
#include "mig/journal.h"

namespace tranche::agent {

struct MigProgress {
  std::string boot;       // id of this boot
  bool restored = false;  // it is known what an earlier agent left unfinished
  std::optional<mig::Journal> journal = {};
  std::optional<MigOutcome> outcome = {};
  // MigFacts::applied
  std::optional<Result<void>> applied = {};
  MigEnd end = MigEnd::kUntouched;  // for a journal in kFinished
  bool closing = false;             // the change is over; the Node does not say so yet
  bool forgotten = false;           // there is no outcome any more, so the state label is removed

  // The last wish's outcome; null: unknown.
  const MigOutcome* of_wish() const {
    return outcome && !outcome->wish.empty() ? &*outcome : nullptr;
  }
  bool is_in(mig::Journal::Phase phase) const { return journal && journal->phase == phase; }
};

}  // namespace tranche::agent
