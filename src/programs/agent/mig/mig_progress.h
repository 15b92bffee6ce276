#pragma once
// How far this node's changes of MIG layouts are. The executor owns the one value of it
// (agent/mig/mig_executor.h); the observer and the announcer read it.

#include <optional>
#include <string>

#include "agent/mig/mig_machine.h"
#include "mig/journal.h"

namespace tranche::agent {

struct MigProgress {
  std::string boot;       // id of this boot
  bool restored = false;  // it is known what an earlier agent left unfinished
  // The change under way; nullopt: none.
  std::optional<mig::Journal> journal = {};
  // What became of the last wish, and what is kept for a reboot.
  std::optional<MigOutcome> outcome = {};
  // MigFacts::applied
  std::optional<Result<void>> applied = {};
  MigEnd end = MigEnd::kUntouched;  // of a journal in kFinished
  bool closing = false;             // the change is over, and the Node does not say so yet
  bool forgotten = false;           // there is no outcome any more, so the state label is removed

  // What became of the last wish; null: nothing is known of one.
  const MigOutcome* of_wish() const {
    return outcome && !outcome->wish.empty() ? &*outcome : nullptr;
  }
  bool is_in(mig::Journal::Phase phase) const { return journal && journal->phase == phase; }
};

}  // namespace tranche::agent
