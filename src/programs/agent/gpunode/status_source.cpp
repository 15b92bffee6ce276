#include "agent/gpunode/status_source.h"

#include <algorithm>
#include <utility>

#include "agent/gpunode/fit.h"
#include "agent/gpunode/node_status.h"
#include "holdings/users.h"

namespace tranche::agent {

void StatusSource::follow(const State& state, std::shared_ptr<const offer::Offer> offer) {
  auto seen = std::make_shared<const Seen>(state, std::move(offer));
  const std::scoped_lock lock(mutex_);
  seen_ = std::move(seen);
}

StatusSource::MadeOf StatusSource::made_of_now() const {
  const std::scoped_lock lock(mutex_);
  return {.seen = seen_,
          .granted = parts_.book.granted(),
          .claims = parts_.book.version(),
          .ungranted = parts_.book.ungranted()};
}

std::shared_ptr<const cluster::GpuNodeStatus> StatusSource::status(TimePoint now) {
  auto of = made_of_now();
  if (of.seen == nullptr) return nullptr;
  if (of == made_of_ && !(pods_due_ && *pods_due_ <= now)) return status_;
  const bool same_node = of.seen == made_of_.seen;
  made_of_ = std::move(of);
  auto held = held_now(now);
  if (same_node && held == held_) return status_;
  held_ = std::move(held);
  make();
  return status_;
}

holdings::Holdings StatusSource::held_now(TimePoint now) {
  auto held = parts_.book.all();
  pods_due_.reset();
  if (!parts_.pods || held.empty()) return held;
  pods_due_ = now + kReadPods;
  const auto pods = parts_.pods();
  return pods ? holdings::with_users(held, *pods) : held;
}

void StatusSource::make() {
  const auto& [state, offer] = *made_of_.seen;
  auto made = fit(make_status(
      {.state = state, .offer = *offer, .held = held_, .driver_name = parts_.driver_name}));
  if (status_ != nullptr && *status_ == made) return;
  status_ = std::make_shared<const cluster::GpuNodeStatus>(std::move(made));
}

void StatusSource::ask_names() {
  if (!parts_.ask) return;
  const auto granted = parts_.book.granted();
  if (std::ranges::any_of(*granted, [](const auto& one) { return one.pod.empty(); })) parts_.ask();
}

}  // namespace tranche::agent
