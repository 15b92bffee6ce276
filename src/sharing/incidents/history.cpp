#include "incidents/history.h"

#include <algorithm>
#include <limits>

namespace tranche::incidents {
namespace {

constexpr Ns kSecond = std::chrono::seconds(1);
constexpr Ns kWindow = kSecond * Incident::kWindow;

// Less is no growth that somebody would want to know of.
constexpr std::uint64_t kLeastGrowth = std::uint64_t{1} << 20U;

// `sum` less what it was; a sum that fell began anew.
std::uint64_t since(std::uint64_t sum, std::uint64_t before) {
  return sum >= before ? sum - before : sum;
}

template <class Small>
Small cut(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::numeric_limits<Small>::max();
  return static_cast<Small>(std::min(value, kMost));
}

}  // namespace

void Track::add(const SampleTimes& times, const Totals& totals) {
  const std::uint64_t number = times.count() - 1;
  const bool is_next = next_ != 0 && next_ == number;
  if (!is_next) {
    is_new_ &= next_ == 0;
    first_ = number;
  }
  const Totals& before = next_ == 0 ? totals : last_;
  const auto time = [](std::uint64_t sum, std::uint64_t was) {
    return cut<std::uint16_t>(since(sum, was) / kTimeUnit);
  };
  samples_[number % SampleTimes::kSamples] = {
      .held = cut<std::uint32_t>(totals.held / kHeldUnit),
      .launches = cut<std::uint32_t>(since(totals.launches, before.launches)),
      .gpu = time(totals.gpu_ns, before.gpu_ns),
      .asked = time(totals.asked_ns, before.asked_ns),
      .waited = time(totals.waited_ns, before.waited_ns),
      .refused = cut<std::uint16_t>(since(totals.refused, before.refused))};
  next_ = number + 1;
  last_ = totals;
}

void Track::each(const SampleTimes& times, Ns at, auto&& handle) const {
  if (next_ == 0) return;
  const std::uint64_t oldest =
      times.count() > SampleTimes::kSamples ? times.count() - SampleTimes::kSamples : 0;
  for (auto number = std::max(first_, oldest); number < next_; ++number) {
    const Ns time = times.at(number);
    if (time + kWindow <= at) continue;
    handle(std::min(time, at), samples_[number % SampleTimes::kSamples]);
    // The first sample after `at` has what happened before it.
    if (time >= at) return;
  }
}

std::vector<Second> Track::seconds(const SampleTimes& times, Ns at) const {
  std::vector<Second> seconds;
  each(times, at, [&](Ns time, const Sample& sample) {
    const auto before = static_cast<unsigned>((at - time) / kSecond);
    if (seconds.empty() || seconds.back().before != before) seconds.push_back({.before = before});
    Second& second = seconds.back();
    second.held_bytes = std::max(second.held_bytes, sample.held * kHeldUnit);
    second.launches += sample.launches;
    second.gpu_ms += sample.gpu;
    second.asked_ms += sample.asked;
    second.waited_ms += sample.waited;
    second.refused += sample.refused;
  });
  for (Second& second : seconds) {
    for (auto* ms : {&second.gpu_ms, &second.asked_ms, &second.waited_ms}) *ms /= kUnitsPerMs;
  }
  return seconds;
}

Growth Track::growth(const SampleTimes& times, Ns at) const {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t now = 0;
  if (is_new_ && next_ != 0 && next_ - first_ <= SampleTimes::kSamples &&
      times.at(first_) + kWindow > at) {
    least = 0;
  }
  each(times, at, [&](Ns, const Sample& sample) {
    least = std::min<std::uint64_t>(least, sample.held);
    now = sample.held;
  });
  if (now <= least || (now - least) * kHeldUnit < kLeastGrowth) return {};
  // Since when it has held more than half of that.
  Ns came = at;
  bool is_more = false;
  each(times, at, [&](Ns time, const Sample& sample) {
    const bool more = sample.held > least + (now - least) / 2;
    if (more && !is_more) came = time;
    is_more = more;
  });
  using std::chrono::milliseconds;
  return {
      .bytes = (now - least) * kHeldUnit,
      .before_ms = static_cast<std::uint64_t>(std::chrono::floor<milliseconds>(at - came).count())};
}

}  // namespace tranche::incidents
