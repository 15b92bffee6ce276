#include "agent/mig/mig_announcer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "agent/mig/mig_neighbours.h"
#include "cluster/formats/reasons.h"
#include "offer/make_offer.h"

namespace tranche::agent {
namespace {

using Phase = mig::Journal::Phase;

constexpr std::chrono::seconds kLongestWrite{2};

std::map<std::string, std::int64_t> tranches_of(const offer::Offer& offer) {
  std::map<std::string, std::int64_t> counts;
  for (const auto& resource : offer.resources) {
    counts[resource.name.value] = static_cast<std::int64_t>(resource.tranches.size());
  }
  return counts;
}

// The state label stays unset if the Node asks for another layout by now, or a person removed it.
MigTexts texts_of_outcome(const cluster::Node& node, const MigOutcome& outcome) {
  const auto& state = cluster::value_of(node.labels, cluster::kMigStateLabel);
  const bool stands = cluster::value_of(node.labels, cluster::kMigConfigLabel) == outcome.label &&
                      !(outcome.told && state.empty());
  MigTexts texts{.state = std::nullopt, .change = {}, .outcome = outcome};
  if (stands) texts.state = outcome.failed() ? kMigFailed : kMigSuccess;
  return texts;
}

// After a change was given up, no state label is left that somebody might wait for.
MigTexts texts_without_outcome(const cluster::Node& node, const MigProgress& progress) {
  const bool stale = cluster::value_of(node.labels, cluster::kMigStateLabel) == kMigPending;
  return {.state = progress.forgotten || stale ? std::optional<std::string>("") : std::nullopt,
          .change = {},
          .outcome = progress.outcome};
}

// What the change waits for, for people, in addition to Pods that hold a device. `before`: the text
// so far.
std::string wait_of(const MigFacts& facts, const MigProgress& progress, const std::string& before) {
  if (!progress.journal) return {};
  if (is_on_hardware(progress.journal->phase)) {
    // Without an attempt one has just begun.
    if (!facts.applied) return before;
    return *facts.applied ? std::string() : facts.applied->error().what;
  }
  if (progress.is_in(Phase::kDraining) && facts.clients && !facts.clients->empty()) {
    return fmt::format("Pods of NVIDIA's clients end first: {}", fmt::join(*facts.clients, ", "));
  }
  return {};
}

std::string remark_of(const MigProgress& progress, const std::string& waits_for) {
  if (!progress.journal) return {};
  return fmt::format("MIG layout {}: {}{}{}", progress.journal->layout,
                     mig::to_string(progress.journal->phase),
                     waits_for.empty() ? "" : ", waits: ", waits_for);
}

}  // namespace

MigCounts count_tranches(const mig::Journal& journal, const MigView& view) {
  const auto count = [&](const mig::Layout& layouts) {
    return tranches_of(
        offer::make_offer(with_layouts(view.machine(), layouts), view.state.config, {}));
  };
  return {.before = count(journal.from), .after = count(journal.to)};
}

std::string describe(const MigCounts& counts) {
  std::vector<std::string> parts;
  for (const auto& [resource, count] : counts.before) {
    const auto found = counts.after.find(resource);
    const auto then = found == counts.after.end() ? 0 : found->second;
    if (then != count) parts.push_back(fmt::format("{} {} -> {}", resource, count, then));
  }
  for (const auto& [resource, count] : counts.after) {
    if (counts.before.contains(resource)) continue;
    parts.push_back(fmt::format("{} 0 -> {}", resource, count));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void MigAnnouncer::note_wait(const MigFacts& facts, const MigProgress& progress) {
  auto now = wait_of(facts, progress, waits_for_);
  if (now != waits_for_ && !now.empty()) {
    ports_.log.info(fmt::format("MIG layout {} waits: {}", progress.journal->layout, now));
  }
  waits_for_ = std::move(now);
  note_remark(progress);
}

void MigAnnouncer::note_remark(const MigProgress& progress) {
  auto remark = remark_of(progress, waits_for_);
  const std::scoped_lock lock(mutex_);
  remark_ = std::move(remark);
}

std::string MigAnnouncer::remark() const {
  const std::scoped_lock lock(mutex_);
  return remark_;
}

bool MigAnnouncer::publish(const cluster::Node& node, const MigProgress& progress,
                           const MigPods& pods, const MigView& view, const std::stop_token& stop) {
  auto change = difference(texts(node, progress, pods, view), node);
  if (!change) {
    sent_.reset();
    return true;
  }
  // The last write is not in this copy of the Node yet.
  const bool lags = sent_ && sent_->version == node.resource_version &&
                    sent_->labels == change->labels && sent_->annotations == change->annotations;
  if (lags) return true;
  // The outcome of a wish must not be written about a newer one.
  if (!progress.journal || progress.closing) change->resource_version = node.resource_version;
  if (!ports_.write(*change, {.deadline = kLongestWrite, .stop = stop})) return false;
  sent_ = Sent{node.resource_version, change->labels, change->annotations};
  return true;
}

MigTexts MigAnnouncer::texts(const cluster::Node& node, const MigProgress& progress,
                             const MigPods& pods, const MigView& view) {
  if (progress.journal && !progress.closing) return texts_of_change(progress, pods, view);
  change_.reset();
  const auto* outcome = progress.of_wish();
  return outcome != nullptr ? texts_of_outcome(node, *outcome)
                            : texts_without_outcome(node, progress);
}

MigTexts MigAnnouncer::texts_of_change(const MigProgress& progress, const MigPods& pods,
                                       const MigView& view) {
  const auto& journal = *progress.journal;
  return {.state = kMigPending,
          .change = change_text(journal, pods, view),
          .outcome = progress.outcome,
          .pause = journal.phase == Phase::kDraining || is_on_hardware(journal.phase),
          .own = pods.own};
}

// Its time is that of the last difference or renewal, so the same text is written once.
cluster::MigChange MigAnnouncer::change_text(const mig::Journal& journal, const MigPods& pods,
                                             const MigView& view) {
  const auto now = ports_.clock.wall_now();
  const bool drains_again = journal.phase == Phase::kUndoing && !pods.holders.empty();
  const auto& counts = counts_of(journal, view);
  cluster::MigChange change{
      .id = journal.id,
      .layout = journal.layout,
      .phase = drains_again ? cluster::MigPhase::kDraining : phase_for_controller(journal.phase),
      .written_at = now,
      .deadline = drains_again ? undo_drained_by(journal, times_) : journal.deadline,
      .failed = !journal.trouble.empty(),
      .before = counts.before,
      .after = counts.after,
      .pods = pods.holders,
      .why = pods.why,
      .waits_for = waits_for_,
      .journal = mig::encode(journal)};
  // Also renewed after a clock was set back.
  if (change_ && now >= change_->written_at &&
      now < change_->written_at + cluster::MigChange::kRefresh) {
    change.written_at = change_->written_at;
    if (change != *change_) change.written_at = now;
  }
  change_ = change;
  return change;
}

const MigCounts& MigAnnouncer::counts_of(const mig::Journal& journal, const MigView& view) {
  if (!counted_ || counted_->change != journal.id) {
    counted_ = Counted{journal.id, count_tranches(journal, view)};
  }
  return counted_->counts;
}

}  // namespace tranche::agent
