#include "agent/mig/mig_records.h"

#include <fmt/format.h>

#include <utility>

namespace tranche::agent {

std::optional<mig::Journal> MigRecords::journal() const {
  auto journal = files_.journal();
  if (journal) return *std::move(journal);
  log_.warn(std::move(journal).error().with_context("the journal of a MIG change cannot be read"));
  return std::nullopt;
}

std::optional<MigOutcome> MigRecords::outcome() const {
  auto outcome = files_.outcome();
  if (outcome) return *std::move(outcome);
  log_.warn(
      std::move(outcome).error().with_context("what became of the last MIG layout is not known"));
  return std::nullopt;
}

bool MigRecords::store(const mig::Journal& journal) {
  const auto stored = files_.store(journal);
  if (stored) {
    said_.forget("journal");
  } else if (said_.is_news("journal", stored.error().what)) {
    log_.warn(
        fmt::format("the journal of a MIG change is not on disk: {}", stored.error().message()));
  }
  return stored.has_value();
}

bool MigRecords::drop_journal() {
  const auto dropped = files_.drop_journal();
  if (!dropped && said_.is_news("journal", dropped.error().what)) log_.warn(dropped.error());
  return dropped.has_value();
}

// Otherwise an older outcome on a full disk would be taken for this one. The Node has this one,
// too.
void MigRecords::store(const MigOutcome& outcome) const {
  const auto stored = files_.store(outcome);
  if (stored) return;
  log_.warn(stored.error());
  drop_outcome();
}

void MigRecords::drop_outcome() const {
  if (const auto dropped = files_.drop_outcome(); !dropped) log_.warn(dropped.error());
}

}  // namespace tranche::agent
