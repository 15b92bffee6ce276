#include "limit/untracked_memory.h"

#include <algorithm>

namespace tranche::limit {
namespace {

std::uint64_t beyond(std::uint64_t counted, std::uint64_t charged) {
  return counted > charged ? counted - charged : 0;
}

}  // namespace

// The sum is made process by process. A process that charges more than NVML counts (managed memory
// on the host) does not make up for a process that charges less.
UntrackedMemory::Interval UntrackedMemory::read(std::span<const Held> processes) {
  Interval sum;
  for (const auto& [counted, before, after] : processes) {
    sum.low += beyond(counted, std::max(before, after));
    sum.high += beyond(counted, std::min(before, after));
  }
  return sum;
}

std::uint64_t UntrackedMemory::take(std::span<const Held> processes) {
  const Interval now = read(processes);
  const Interval before = last_.value_or(now);
  bytes_ = std::clamp(bytes_, std::min(before.low, now.low), std::max(before.high, now.high));
  last_ = now;
  return bytes_;
}

bool UntrackedMemory::settled() const {
  return !last_ || (last_->low <= bytes_ && bytes_ <= last_->high);
}

bool UntrackedMemory::is_certain() const {
  return last_ && last_->low == last_->high && last_->low == bytes_;
}

}  // namespace tranche::limit
