#include "controller/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tranche::controller {

Rounds::Rounds(const Log& log, const Backoff& backoff, Visit visit)
    : log_(log),
      backoff_(backoff),
      visit_(std::move(visit)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Rounds::ask(const std::string& name) {
  {
    const std::scoped_lock lock(mutex_);
    auto& turn = turns_.try_emplace(name, Turn{.due = {}, .asked = false, .backoff = backoff_})
                     .first->second;
    turn.asked = true;
    if (!turn.due || turn.backoff.is_fresh()) turn.due = Clock::now();
  }
  changed_.notify_all();
}

void Rounds::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

// The name that is due; nullopt: stop.
std::optional<std::string> Rounds::wait(const std::stop_token& stop) {
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

void Rounds::settle(const std::string& name, const Result<Next>& result) {
  const auto said = result ? std::string() : result.error().message();
  if (said_.is_news(name, said)) log_.warn(fmt::format("{}: {}; it is tried again", name, said));
  const std::scoped_lock lock(mutex_);
  auto& turn = turns_.at(name);
  if (!result) {
    turn.due = Clock::now() + turn.backoff.next();
    return;
  }
  turn.backoff.reset();
  if (turn.asked) {
    turn.due = Clock::now();
  } else if (*result) {
    turn.due = Clock::now() + **result;
  } else {
    turns_.erase(name);
  }
}

void Rounds::run(const std::stop_token& stop) {
  while (const auto name = wait(stop)) settle(*name, visit_(*name, stop));
}

}  // namespace tranche::controller
