#include "agent/withholding/holdings_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche::agent {
namespace {

constexpr std::chrono::milliseconds kQuickest{100};
constexpr std::chrono::seconds kSlowestRenewal{30};
// After this many turns without a clear answer withheld devices are reported all the same.
constexpr int kLongestAsking = 5;

}  // namespace

HoldingsWatch::HoldingsWatch(Parts parts)
    : parts_(std::move(parts)),
      quick_{.first = kQuickest, .longest = parts_.interval},
      renewing_{.first = kQuickest, .longest = kSlowestRenewal},
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

bool HoldingsWatch::withheld_for(const std::vector<holdings::Holding>& held, bool counts) {
  Keys wanted;
  for (const auto& one : held) wanted.emplace(one.resource.value, one.id);
  bool wake = false;
  bool asked = false;
  {
    const std::scoped_lock lock(mutex_);
    const bool more = !std::ranges::includes(wanted_, wanted);
    wanted_ = std::move(wanted);
    counts_ = counts;
    if (more) {
      news_ = true;
      asked_ = false;
    }
    wake = more;
    asked = asked_ && !wanted_.empty();
  }
  if (wake) wake_.notify_all();
  return asked;
}

void HoldingsWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex_);
    const bool has_news = wake_.wait_for(lock, stop, pause(), [this] { return news_; });
    news_ = false;
    const bool withholds = !wanted_.empty();
    const bool counts = counts_;
    lock.unlock();
    if (stop.stop_requested()) return;
    if (has_news) {
      turns_ = 0;
      start_anew();
    }
    if (withholds || parts_.book.has_unnamed()) {
      turn(withholds);
    } else {
      apply_others(counts);
    }
  }
}

// Only under mutex_.
std::chrono::milliseconds HoldingsWatch::pause() {
  return wanted_.empty() ? parts_.interval : quick_.next();
}

void HoldingsWatch::start_anew() {
  quick_.reset();
  renewing_.reset();
  renew_at_ = {};
}

void HoldingsWatch::turn(bool withholds) {
  const auto changes = ask();
  const bool unclear = changes && changes->unclear;
  const bool changed = changes && (changes->came || (withholds && changes->changed));
  if (changed || (unclear && !was_unclear_)) start_anew();
  was_unclear_ = unclear;
  if (unclear && withholds) renew();
  if (ends_asking(changes && !unclear) || changed) parts_.look_again();
}

void HoldingsWatch::apply_others(bool counts) {
  auto last = parts_.answers.last();
  if (last != nullptr && last != applied_) {
    applied_ = std::move(last);
    parts_.book.apply(*applied_);
  }
  // Includes answers that others entered.
  const auto changes = parts_.book.take_changes();
  if (changes.came || (counts && changes.changed)) parts_.look_again();
}

// nullopt: kubelet does not answer.
std::optional<Book::Changes> HoldingsWatch::ask() {
  // Must be asked after the change or the grant in question.
  auto answer = parts_.answers.get(HolderAnswers::kNow);
  if (!answer) {
    const auto why = answer.error().message();
    if (said_.is_news("list", why)) {
      parts_.log.info(
          fmt::format("kubelet does not tell who holds devices: {}; what is withheld "
                      "stays withheld until it does",
                      why));
    }
    return std::nullopt;
  }
  said_.forget("list");
  applied_ = *std::move(answer);
  parts_.book.apply(*applied_);
  return parts_.book.take_changes();
}

// True: from now on what is withheld is reported. `clear`: kubelet has named the holders.
bool HoldingsWatch::ends_asking(bool clear) {
  ++turns_;
  const std::scoped_lock lock(mutex_);
  if (wanted_.empty() || news_ || asked_ || (!clear && turns_ < kLongestAsking)) return false;
  return asked_ = true;
}

// With increasing pauses, because lists, checkpoint and Pods may differ for long.
void HoldingsWatch::renew() {
  const auto now = parts_.clock.now();
  if (now < renew_at_) return;
  renew_at_ = now + renewing_.next();
  parts_.renew_checkpoint();
}

}  // namespace tranche::agent
