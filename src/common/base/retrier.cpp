#include "base/retrier.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche {

Retrier::Retrier(const Log& log, Backoff backoff) : log_(log), backoff_(backoff) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Retrier::~Retrier() {
  thread_.request_stop();
  thread_.join();
}

void Retrier::request(Job job) {
  {
    const std::scoped_lock lock(mutex_);
    const auto key = job.key;
    Pending asked{std::move(job), Clock::now(), backoff_, ++generation_};
    const auto waiting = pending_.find(key);
    if (waiting != pending_.end() && asked.has_aim_of(waiting->second)) {
      asked.due = waiting->second.due;
      asked.backoff = waiting->second.backoff;
    }
    pending_.insert_or_assign(key, std::move(asked));
  }
  changed_.notify_all();
}

void Retrier::forget(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  pending_.erase(key);
  complaint_.erase(key);
}

void Retrier::run(const std::stop_token& stop) {
  while (const auto pending = next(stop)) {
    settle(*pending, pending->job.attempt(stop));
  }
}

// Waits for the next job that is due; nullopt: the thread must end.
std::optional<Retrier::Pending> Retrier::next(const std::stop_token& stop) {
  const auto by_due = [](const auto& a, const auto& b) { return a.second.due < b.second.due; };
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (pending_.empty()) {
      changed_.wait(lock, stop, [this] { return !pending_.empty(); });
      continue;
    }
    const auto soonest = std::ranges::min_element(pending_, by_due);
    if (soonest->second.due <= Clock::now()) return soonest->second;
    // Copied, because the entry may be removed during the wait.
    const auto due = soonest->second.due;
    const auto generation = generation_;
    changed_.wait_until(lock, stop, due, [&] { return generation_ != generation; });
  }
  return std::nullopt;
}

void Retrier::settle(const Pending& tried, const Result<void>& result) {
  const auto& key = tried.job.key;
  const std::scoped_lock lock(mutex_);
  const auto found = pending_.find(key);
  // The job was dropped or replaced while the attempt ran: its outcome no longer matters.
  if (found == pending_.end()) return;
  const bool asked_again = found->second.generation != tried.generation;
  if (asked_again && !found->second.has_aim_of(tried)) return;
  if (result) {
    if (asked_again) {
      found->second.backoff.reset();
    } else {
      pending_.erase(found);
    }
    complaint_.erase(key);
    if (!tried.job.done.empty()) log_.info(tried.job.done);
    return;
  }
  found->second.backoff = tried.backoff;
  found->second.due = Clock::now() + found->second.backoff.next();
  auto& complaint = complaint_[key];
  if (complaint == result.error().what) return;
  complaint = result.error().what;
  log_.warn(fmt::format("{}; trying again until it works (every {} to {} ms)",
                        result.error().message(), backoff_.first.count(),
                        backoff_.longest.count()));
}

}  // namespace tranche
