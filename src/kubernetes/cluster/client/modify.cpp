#include "cluster/client/modify.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/pause.h"

namespace tranche::cluster {
namespace {

constexpr int kAttempts = 5;

using SteadyClock = std::chrono::steady_clock;

// The rest of the deadline, at least a millisecond: a call with less fails by itself.
Call rest_of(Call call, SteadyClock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - SteadyClock::now());
  call.deadline = std::max(left, std::chrono::milliseconds(1));
  return call;
}

}  // namespace

Result<Object> modify(Objects& objects, const Kind& kind, const ObjectKey& key,
                      const Change& change, const Call& call, const std::string& subresource) {
  const auto end = SteadyClock::now() + call.deadline;
  auto wait = std::chrono::milliseconds(10);
  for (int attempt = 1;; ++attempt) {
    ASSIGN_OR_RETURN(auto now, objects.get(kind, key, rest_of(call, end)));
    ASSIGN_OR_RETURN(const auto changed, change(now));
    if (!changed) return now;
    auto written = objects.update(kind, key, *changed, subresource, rest_of(call, end));
    if (written || written.error().code != Code::kFailedPrecondition) return written;
    if (attempt == kAttempts || SteadyClock::now() + wait >= end || !pause(wait, call.stop)) {
      return std::unexpected(
          std::move(written).error().with_context(fmt::format("{} attempts", attempt)));
    }
    wait *= 2;
  }
}

}  // namespace tranche::cluster
