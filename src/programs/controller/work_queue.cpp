#include "controller/work_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tranche::controller {

WorkQueue::WorkQueue(const Log& log, const Backoff& backoff, Visit visit, Complaint complaint)
    : log_(log), backoff_(backoff), visit_(std::move(visit)), complaint_(complaint) {}

void WorkQueue::begin() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void WorkQueue::ask(const std::string& name) {
  {
    const std::scoped_lock lock(mutex_);
    auto& turn = turns_.try_emplace(name, Turn{.due = {}, .backoff = backoff_}).first->second;
    turn.asked = true;
    if (!turn.due || turn.backoff.is_fresh()) turn.due = Clock::now();
  }
  changed_.notify_all();
}

void WorkQueue::ask_at_once(const std::string& name) {
  {
    const std::scoped_lock lock(mutex_);
    turns_.insert_or_assign(
        name, Turn{.due = Clock::now(), .asked = true, .anew = true, .backoff = backoff_});
  }
  changed_.notify_all();
}

void WorkQueue::forget(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  turns_.erase(name);
  said_.forget(name);
}

void WorkQueue::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

// The next due name; nullopt: stop.
std::optional<std::string> WorkQueue::wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    auto first = turns_.end();
    for (auto turn = turns_.begin(); turn != turns_.end(); ++turn) {
      const bool sooner = first == turns_.end() || turn->second.due < first->second.due;
      if (turn->second.due && sooner) first = turn;
    }
    if (first == turns_.end()) {
      changed_.wait(lock, stop, [&] {
        return std::ranges::any_of(turns_,
                                   [](const auto& one) { return one.second.due.has_value(); });
      });
    } else if (*first->second.due <= Clock::now()) {
      first->second.asked = false;
      first->second.anew = false;
      return first->first;
    } else {
      const auto due = *first->second.due;
      changed_.wait_until(lock, stop, due, [&] {
        return std::ranges::any_of(
            turns_, [&](const auto& one) { return one.second.due && *one.second.due < due; });
      });
    }
  }
  return std::nullopt;
}

void WorkQueue::settle(const std::string& name, const Result<Next>& result) {
  const std::scoped_lock lock(mutex_);
  const auto found = turns_.find(name);
  // Forgotten, so the visit's outcome does not matter.
  if (found == turns_.end()) return;
  auto& turn = found->second;
  // The visit was of an older state than is asked for now.
  if (!result && turn.anew) return;
  if (!result) {
    complain(name, result.error());
    turn.due = Clock::now() + turn.backoff.next();
    return;
  }
  said_.forget(name);
  turn.backoff.reset();
  if (turn.asked) {
    turn.due = Clock::now();
  } else if (*result) {
    turn.due = Clock::now() + **result;
  } else {
    turns_.erase(found);
  }
}

// Called under mutex_.
void WorkQueue::complain(const std::string& name, const Error& error) {
  const auto what = error.message();
  if (!said_.is_news(name, what)) return;
  if (complaint_ == Complaint::kWithName) {
    log_.warn(fmt::format("{}: {}; it is tried again", name, what));
  } else {
    log_.warn(fmt::format("{}; trying again until it works (every {} to {} ms)", what,
                          backoff_.first.count(), backoff_.longest.count()));
  }
}

void WorkQueue::run(const std::stop_token& stop) {
  while (const auto name = wait(stop)) settle(*name, visit_(*name, stop));
}

}  // namespace tranche::controller
