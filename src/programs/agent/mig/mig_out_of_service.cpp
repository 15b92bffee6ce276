#include "agent/mig/mig_out_of_service.h"

#include <utility>

#include "agent/mig/mig_wish.h"

namespace tranche::agent {
namespace {

using Phase = mig::Journal::Phase;

// The layout that the driver will list: the new one, or after an undo the old one.
std::optional<mig::Layout> awaited_in(const mig::Journal& journal) {
  const bool settled = journal.phase == Phase::kVerifying || journal.phase == Phase::kFinished;
  if (!settled) return std::nullopt;
  return journal.trouble.empty() ? journal.to : journal.from;
}

}  // namespace

void MigOutOfService::begin(const mig::Journal& journal, const MigStates& states,
                            const MigView& view) {
  leaving_ = {.standing = changing(journal, states), .neighbours = {}};
  find_neighbours(journal, view);
}

void MigOutOfService::find_neighbours(const mig::Journal& journal, const MigView& view) {
  leaving_.neighbours = neighbours(journal, view.machine(), view.state.config);
  leaving_.standing.neighbours = leaving_.neighbours.gpus;
  leaving_.standing.mps = leaving_.neighbours.resources;
}

// Until begin() all of a GPU is withheld: an agent starts before the hardware is read.
MigStanding MigOutOfService::standing_in(const mig::Journal& journal) const {
  auto standing = leaving_.standing;
  if (standing.changing.empty()) standing.changing = changing(journal, {}).changing;
  return standing;
}

bool MigOutOfService::serve(const std::optional<mig::Journal>& journal) {
  MigStanding standing;
  std::optional<mig::Layout> awaited;
  if (journal && journal->phase != Phase::kAsking) {
    standing = standing_in(*journal);
    awaited = awaited_in(*journal);
  }
  const std::scoped_lock lock(mutex_);
  const bool news = standing != standing_ || awaited != awaited_;
  standing_ = std::move(standing);
  awaited_ = std::move(awaited);
  return news;
}

MigStanding MigOutOfService::standing(const gpu::Machine& machine) const {
  const std::scoped_lock lock(mutex_);
  auto standing = standing_;
  if (!awaited_) return standing;
  for (const auto& [uuid, layout] : *awaited_) {
    const auto* gpu = gpu::find_gpu(machine, uuid);
    if (gpu != nullptr && shows(*gpu, layout)) standing.changing.erase(uuid.value);
  }
  // From here on the change waits for the control daemon.
  if (standing.changing.empty()) standing.neighbours.clear();
  return standing;
}

}  // namespace tranche::agent
