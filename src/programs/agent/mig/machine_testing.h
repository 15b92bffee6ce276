#pragma once
// Facts and journals for tests of the state machine. Times: the change began an hour after the
// epoch.

#include <optional>
#include <string>
#include <vector>

#include "agent/mig/mig_machine.h"

namespace tranche::agent::machine_testing {

using cluster::MigDrain;
using cluster::ObjectKey;
using Kind = MigMove::Kind;
using mig::Journal;
using Phase = Journal::Phase;

inline const gpu::GpuUuid kGpu{"GPU-1"};
inline const std::vector<ObjectKey> kNobody;
inline const std::vector<ObjectKey> kOne = {{"default", "train"}};

inline mig::Layout off() { return {{kGpu, {}}}; }
inline mig::Layout halves() { return {{kGpu, {.enabled = true, .instances = {{9, {0, 4}, {3}}}}}}; }
inline MigPlan plan() { return {.from = off(), .to = halves()}; }

inline MigFacts facts() {
  return {.now = cluster::WallTime(std::chrono::hours(1)),
          .boot = "boot-1",
          .node_known = true,
          .label = "all-3g.40gb",
          .wish = "w"};
}

inline Journal journal(Phase phase) {
  return {.id = "w-3600000",
          .layout = "all-3g.40gb",
          .phase = phase,
          .from = off(),
          .to = halves(),
          .started = facts().now,
          .deadline = facts().now + std::chrono::minutes(1),
          .boot = "boot-1",
          .trouble = {}};
}

inline MigDrain accepted() { return {.id = "w-3600000", .cordoned = true}; }

inline MigMove next(const std::optional<Journal>& journal, const MigFacts& facts) {
  return next_move(journal, facts, {});
}
inline std::optional<Phase> phase_after(const Journal& journal, const MigFacts& facts) {
  const auto move = next(journal, facts);
  return move.kind == Kind::kJournal ? std::optional(move.journal->phase) : std::nullopt;
}
inline std::string trouble_after(const Journal& journal, const MigFacts& facts) {
  const auto move = next(journal, facts);
  return move.journal ? move.journal->trouble : "";
}

inline MigOutcome outcome(const std::string& trouble = {}) {
  return {.label = "all-3g.40gb", .wish = "w", .trouble = trouble, .boot = "boot-1"};
}

}  // namespace tranche::agent::machine_testing
