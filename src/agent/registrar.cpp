#include "agent/registrar.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche::agent {

Registrar::Registrar(Attempt attempt, const Log& log, Backoff backoff)
    : attempt_(std::move(attempt)), log_(log), backoff_(backoff) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Registrar::~Registrar() {
  thread_.request_stop();
  thread_.join();
}

void Registrar::request(const Request& request) {
  {
    const std::scoped_lock lock(mutex_);
    pending_[request.resource] = {request, Clock::now(), backoff_.first, ++generation_};
  }
  changed_.notify_all();
}

void Registrar::forget(const std::string& resource) {
  const std::scoped_lock lock(mutex_);
  pending_.erase(resource);
  complaint_.erase(resource);
}

void Registrar::run(const std::stop_token& stop) {
  while (const auto pending = next(stop)) {
    settle(*pending, attempt_(pending->request, stop));
  }
}

// The request that is due, waiting for it; nullopt when the thread is to end.
std::optional<Registrar::Pending> Registrar::next(const std::stop_token& stop) {
  const auto by_due = [](const auto& a, const auto& b) { return a.second.due < b.second.due; };
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (pending_.empty()) {
      changed_.wait(lock, stop, [this] { return !pending_.empty(); });
      continue;
    }
    const auto soonest = std::ranges::min_element(pending_, by_due);
    if (soonest->second.due <= Clock::now()) return soonest->second;
    // Copies: the entry may be forgotten during the wait.
    const auto due = soonest->second.due;
    const auto generation = generation_;
    changed_.wait_until(lock, stop, due, [&] { return generation_ != generation; });
  }
  return std::nullopt;
}

void Registrar::settle(const Pending& tried, const Result<void>& result) {
  const auto& resource = tried.request.resource;
  const std::scoped_lock lock(mutex_);
  const auto found = pending_.find(resource);
  // Asked for anew or forgotten while the attempt ran: this outcome no longer matters.
  if (found == pending_.end() || found->second.generation != tried.generation) return;
  if (result) {
    pending_.erase(found);
    complaint_.erase(resource);
    log_.info(fmt::format("registered {} with kubelet", resource));
    return;
  }
  found->second.due = Clock::now() + tried.wait;
  found->second.wait = std::min(tried.wait * 2, backoff_.longest);
  auto& complaint = complaint_[resource];
  if (complaint == result.error().what) return;
  complaint = result.error().what;
  log_.warn(fmt::format("{}; trying again until it works (every {} to {} ms)",
                        result.error().message(), backoff_.first.count(),
                        backoff_.longest.count()));
}

}  // namespace tranche::agent
