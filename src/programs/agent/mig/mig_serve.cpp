// What is out of service while a change is under way.

#include <fmt/format.h>

#include <utility>

#include "agent/mig/mig_manager.h"

namespace tranche::agent {

void MigManager::set_journal(std::optional<mig::Journal> journal) {
  const bool fresh = journal && (!journal_ || journal_->id != journal->id);
  if (!journal || !journal_ || journal_->phase != journal->phase) applied_.reset();
  journal_ = std::move(journal);
  if (fresh) {
    leaving_ = changing(*journal_, read_states(journal_->to));
    count_tranches();
    look_beside();
    // The first text names them: what the controller announces is made of it.
    if (const auto view = this->view()) {
      name_pods(holders_of(leaving_devices(leaving_, *view->state.machine), HolderAnswers::kNow));
    }
  }
  if (!journal_) {
    leaving_ = {};
    beside_ = {};
    pods_.clear();
  }
  serve();
}

// The configuration may change while Pods are drained, and with it who shares a control daemon.
void MigManager::look_beside() {
  const auto view = this->view();
  if (view == nullptr || !journal_) return;
  beside_ = beside(*journal_, *view->state.machine, view->state.config);
  leaving_.beside = beside_.gpus;
  leaving_.mps = beside_.resources;
}

// What the loop is to withhold from now on.
void MigManager::serve() {
  MigStanding standing;
  std::optional<mig::Layout> awaited;
  if (journal_ && journal_->phase != Phase::kAsking) {
    standing = leaving_;
    if (standing.changing.empty()) standing.changing = changing(*journal_, {}).changing;
    const bool back = !journal_->trouble.empty();
    const bool settled =
        journal_->phase == Phase::kVerifying || journal_->phase == Phase::kFinished;
    if (settled) awaited = back ? journal_->from : journal_->to;
  }
  bool news = false;
  {
    const std::scoped_lock lock(mutex_);
    news = standing != standing_ || awaited != awaited_;
    standing_ = std::move(standing);
    awaited_ = std::move(awaited);
    remark_ = remark_text();
  }
  if (news && restored_) ports_.look_again();
}

void MigManager::follow(MigView view) {
  auto shared = std::make_shared<const MigView>(std::move(view));
  const std::scoped_lock lock(mutex_);
  view_ = std::move(shared);
}

std::shared_ptr<const MigView> MigManager::view() const {
  const std::scoped_lock lock(mutex_);
  return view_;
}

MigStanding MigManager::standing(const gpu::Machine& machine) const {
  const std::scoped_lock lock(mutex_);
  auto standing = standing_;
  if (!awaited_) return standing;
  for (const auto& [uuid, layout] : *awaited_) {
    const auto* gpu = gpu::find_gpu(machine, uuid);
    if (gpu != nullptr && shows(*gpu, layout)) standing.changing.erase(uuid.value);
  }
  // From here on it is the control daemon that is waited for.
  if (standing.changing.empty()) standing.beside.clear();
  return standing;
}

}  // namespace tranche::agent
