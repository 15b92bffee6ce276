#pragma once
// A gpu::EventSource whose events a test posts. Thread-safe; wait() really blocks, until an event,
// a failure, the stop request or the timeout. Subscriptions are recorded.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "gpu/events.h"

namespace tranche::test {

class FakeEvents final : public gpu::EventSource {
 public:
  Result<Subscription> subscribe(const gpu::Machine& machine) override {
    const std::scoped_lock lock(mutex_);
    machines_.push_back(machine);
    broken_.reset();
    if (refusal_) return std::unexpected(*refusal_);
    subscribed_ = true;
    Subscription subscription;
    for (const gpu::Gpu& gpu : machine.gpus) {
      if (gpu.presence != gpu::Presence::kPresent) continue;
      if (unsupported_.contains(gpu.uuid.value)) subscription.unsupported.push_back(gpu.uuid);
      if (failing_.contains(gpu.uuid.value)) subscription.failed.push_back(gpu.uuid);
    }
    return subscription;
  }

  Result<std::optional<gpu::Event>> wait(std::chrono::milliseconds timeout,
                                         std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    ++waits_;
    if (!subscribed_) {
      return fail(Code::kFailedPrecondition, "GPU events are not listened on", "subscribe first");
    }
    changed_.wait_for(lock, stop, timeout, [&] { return !events_.empty() || broken_; });
    if (!events_.empty()) {
      auto event = std::move(events_.front());
      events_.pop_front();
      return event;
    }
    if (broken_) return std::unexpected(*broken_);
    return std::nullopt;
  }

  void post(gpu::XidEvent event) { add(std::move(event)); }
  void change_layout(const std::string& uuid) { add(gpu::LayoutEvent{gpu::GpuUuid{uuid}}); }
  // Waiting fails from now on, until somebody subscribes again.
  void break_waiting(Error error) {
    const std::scoped_lock lock(mutex_);
    broken_ = std::move(error);
    changed_.notify_all();
  }
  // subscribe() fails with this; nullopt: it works again.
  void refuse(std::optional<Error> error) {
    const std::scoped_lock lock(mutex_);
    refusal_ = std::move(error);
  }
  void make_unsupported(const std::string& uuid) {
    const std::scoped_lock lock(mutex_);
    unsupported_.insert(uuid);
  }
  void make_failing(const std::string& uuid) {
    const std::scoped_lock lock(mutex_);
    failing_.insert(uuid);
  }

  // What was subscribed to, in order.
  std::vector<gpu::Machine> subscriptions() const {
    const std::scoped_lock lock(mutex_);
    return machines_;
  }
  int waits() const {
    const std::scoped_lock lock(mutex_);
    return waits_;
  }

 private:
  void add(gpu::Event event) {
    const std::scoped_lock lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<gpu::Event> events_;
  std::vector<gpu::Machine> machines_;
  std::set<std::string> unsupported_;
  std::set<std::string> failing_;
  std::optional<Error> broken_;
  std::optional<Error> refusal_;
  bool subscribed_ = false;
  int waits_ = 0;
};

}  // namespace tranche::test
