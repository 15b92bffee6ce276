#include "agent/metrics/usage_window.h"

#include <algorithm>

namespace tranche::agent {

void UsageWindow::add(TimePoint now, std::chrono::nanoseconds counter) {
  if (counter_) last_.grown += counter >= *counter_ ? counter - *counter_ : counter;
  last_.at = now;
  counter_ = counter;
  keep();
}

void UsageWindow::keep() {
  const auto at = [&](std::size_t i) -> Sample& { return samples_.at((first_ + i) % kMost); };
  // The first one stays that is as old as the window, or older.
  while (size_ > 1 && last_.at - at(1).at >= kLength) {
    first_ = (first_ + 1) % kMost;
    --size_;
  }
  if (size_ > 0 && last_.at - at(size_ - 1).at < kApart) return;
  if (size_ == kMost) {
    first_ = (first_ + 1) % kMost;
    --size_;
  }
  at(size_++) = last_;
}

std::optional<double> UsageWindow::share() const {
  if (size_ == 0) return std::nullopt;
  const auto& first = samples_.at(first_);
  const auto time = last_.at - first.at;
  if (time < kShortest) return std::nullopt;
  const std::chrono::duration<double> grown = last_.grown - first.grown;
  return std::clamp(grown / time, 0.0, 1.0);
}

}  // namespace tranche::agent
