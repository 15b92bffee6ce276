// What MigManager writes on its Node while a change is under way, and after it.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "agent/mig/mig_manager.h"
#include "cluster/reasons.h"
#include "offer/make_offer.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::seconds kLongestWrite{2};

std::map<std::string, std::int64_t> tranches_of(const offer::Offer& offer) {
  std::map<std::string, std::int64_t> counts;
  for (const auto& resource : offer.resources) {
    counts[resource.name.value] = static_cast<std::int64_t>(resource.tranches.size());
  }
  return counts;
}

}  // namespace

void MigManager::announce(const MigFacts& facts) const {
  // A controller that answers has announced it.
  if (!ports_.tell || facts.answer) return;
  std::vector<std::string> parts;
  for (const auto& [resource, count] : before_) {
    const auto found = after_.find(resource);
    const auto then = found == after_.end() ? 0 : found->second;
    if (then != count) parts.push_back(fmt::format("{} {} -> {}", resource, count, then));
  }
  for (const auto& [resource, count] : after_) {
    if (!before_.contains(resource)) parts.push_back(fmt::format("{} 0 -> {}", resource, count));
  }
  auto note = fmt::format("MIG layout {}: {}", journal_->layout, fmt::join(parts, ", "));
  if (facts.holders && !facts.holders->empty()) {
    note += fmt::format("; Pods that hold it: {}", describe_pods(*facts.holders));
  }
  if (!facts.beside.empty()) note += "; " + facts.beside;
  ports_.log.info(note);
  ports_.tell({.warning = false,
               .reason = cluster::reason::kMigChangeAnnounced,
               .action = "ChangeMigLayout",
               .note = std::move(note)});
}

bool MigManager::publish(const std::stop_token& stop) {
  if (!restored_) return false;
  const auto node = ports_.node();
  if (!node) return false;
  auto change = difference(texts(*node), *node);
  if (!change) {
    sent_.reset();
    return true;
  }
  // What was written just now is not in the view yet.
  const bool lags = sent_ && sent_->version == node->resource_version &&
                    sent_->labels == change->labels && sent_->annotations == change->annotations;
  if (lags) return true;
  // What became of a wish is not said of one that was made meanwhile.
  if (!journal_ || closing_) change->resource_version = node->resource_version;
  if (!ports_.write(*change, {.deadline = kLongestWrite, .stop = stop})) return false;
  sent_ = Sent{node->resource_version, change->labels, change->annotations};
  return true;
}

MigTexts MigManager::texts(const cluster::Node& node) {
  if (journal_ && !closing_) {
    return {.state = kMigPending,
            .change = change_text(),
            .outcome = outcome_,
            .pause = journal_->phase == Phase::kDraining || is_on_hardware(journal_->phase),
            .own = own_selector_};
  }
  change_.reset();
  if (outcome() != nullptr) {
    // Of another wish, and of a state that a person removed, the next decision tells.
    const auto& state = cluster::value_of(node.labels, cluster::kMigStateLabel);
    const bool stands =
        cluster::value_of(node.labels, cluster::kMigConfigLabel) == outcome_->label &&
        !(outcome_->told && state.empty());
    MigTexts texts{.state = std::nullopt, .change = {}, .outcome = outcome_};
    if (stands) texts.state = outcome_->failed() ? kMigFailed : kMigSuccess;
    return texts;
  }
  // A change that was given up leaves no state that somebody would wait for without end.
  const bool stale = cluster::value_of(node.labels, cluster::kMigStateLabel) == kMigPending;
  return {.state = forgotten_ || stale ? std::optional<std::string>("") : std::nullopt,
          .change = {},
          .outcome = outcome_};
}

// Its time is the one at which it was last different, or renewed, so that the same text is written
// once.
cluster::MigChange MigManager::change_text() {
  const auto now = ports_.clock.wall_now();
  const bool drains_again = journal_->phase == Phase::kUndoing && !pods_.empty();
  cluster::MigChange change{
      .id = journal_->id,
      .layout = journal_->layout,
      .phase = drains_again ? cluster::MigPhase::kDraining : phase_for_controller(journal_->phase),
      .written_at = now,
      .deadline =
          drains_again ? undo_drained_by(*journal_, options_.settings.times) : journal_->deadline,
      .failed = !journal_->trouble.empty(),
      .before = before_,
      .after = after_,
      .pods = pods_,
      .why = why_,
      .waits_for = waits_for_,
      .journal = mig::encode(*journal_)};
  // A clock that was set back renews it, too.
  if (change_ && now >= change_->written_at &&
      now < change_->written_at + cluster::MigChange::kRefresh) {
    change.written_at = change_->written_at;
    if (change != *change_) change.written_at = now;
  }
  change_ = change;
  return change;
}

// Tranches by resource before and after, as the configuration would have them.
void MigManager::count_tranches() {
  before_.clear();
  after_.clear();
  const auto view = this->view();
  if (view == nullptr) return;
  auto before = *view->state.machine;
  auto after = before;
  for (auto* machine : {&before, &after}) {
    const auto& layouts = machine == &before ? journal_->from : journal_->to;
    for (auto& gpu : machine->gpus) {
      const auto found = layouts.find(gpu.uuid);
      if (found != layouts.end()) gpu = with_layout(std::move(gpu), found->second);
    }
  }
  const auto& config = view->state.config;
  before_ = tranches_of(offer::make_offer(before, config, {}));
  after_ = tranches_of(offer::make_offer(after, config, {}));
}

std::string MigManager::remark_text() const {
  if (!journal_) return {};
  return fmt::format("MIG layout {}: {}{}{}", journal_->layout, mig::to_string(journal_->phase),
                     waits_for_.empty() ? "" : ", waits: ", waits_for_);
}

std::string MigManager::remark() const {
  const std::scoped_lock lock(mutex_);
  return remark_;
}

}  // namespace tranche::agent
