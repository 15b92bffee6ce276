#include "controller/worker_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace tranche::controller {

WorkerSet::WorkerSet(std::vector<WorkerPlan> plans, WorkerContext context)
    : context_(std::move(context)) {
  auto always = context_;
  always.time_left = {};
  for (auto& plan : plans) {
    auto worker = plan.needs_leadership ? nullptr : plan.start(always);
    places_.push_back({std::move(plan), std::move(worker)});
  }
}

WorkerSet::~WorkerSet() { end_all(); }

void WorkerSet::follow(bool leads) {
  if (!leads) end_leading();
  for (auto& place : places_) {
    if (leads && !place.worker) place.worker = place.plan.start(context_);
  }
  tell_changes();
}

void WorkerSet::end_leading() {
  for (auto& place : std::views::reverse(places_)) {
    if (place.plan.needs_leadership) place.worker.reset();
  }
}

void WorkerSet::end_all() {
  for (auto& place : std::views::reverse(places_)) place.worker.reset();
}

std::vector<WorkerSet::Health> WorkerSet::health() const {
  std::vector<Health> health;
  for (const auto& [plan, worker] : places_) {
    health.push_back({plan.name, worker != nullptr, worker ? worker->trouble() : std::nullopt});
  }
  return health;
}

void WorkerSet::tell_changes() {
  auto current = health();
  for (const auto& now : current) {
    if (std::ranges::find(told_, now) != told_.end()) continue;
    const auto* state = now.runs ? "works" : "does not run";
    context_.log.debug(fmt::format("worker {}: {}", now.name, now.trouble.value_or(state)));
  }
  told_ = std::move(current);
}

}  // namespace tranche::controller
