#include "load/samples.h"

#include <algorithm>

namespace tranche::load {
namespace {

nanoseconds rank(const std::vector<nanoseconds>& sorted, std::size_t percent) {
  const std::size_t place = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(place, 1) - 1];
}

}  // namespace

void Samples::add(nanoseconds time) {
  ++count_;
  sum_ns_ += static_cast<double>(time.count());
  max_ = std::max(max_, time);
  if (kept_.size() < kKept) {
    kept_.push_back(time);
    return;
  }
  const auto place = std::uniform_int_distribution<std::uint64_t>(0, count_ - 1)(random_);
  if (place < kKept) kept_[place] = time;
}

Percentiles Samples::percentiles() const {
  Percentiles out{.count = count_, .max = max_};
  if (kept_.empty()) return out;
  std::vector<nanoseconds> sorted = kept_;
  std::ranges::sort(sorted);
  out.mean = nanoseconds(static_cast<nanoseconds::rep>(sum_ns_ / static_cast<double>(count_)));
  out.p50 = rank(sorted, 50);
  out.p90 = rank(sorted, 90);
  out.p99 = rank(sorted, 99);
  return out;
}

}  // namespace tranche::load
