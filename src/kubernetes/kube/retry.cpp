#include "kube/retry.h"

#include <algorithm>

namespace tranche::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool worth_it(const Attempt& attempt) {
  if (attempt.status == 0) return attempt.reads || !attempt.reached;
  if (attempt.status == 429) return true;
  if (attempt.status < 500) return false;
  return attempt.retry_after.has_value() || (attempt.reads && attempt.status <= 504);
}

}  // namespace

std::optional<milliseconds> wait_before_next(const Attempt& attempt) {
  if (!worth_it(attempt)) return std::nullopt;
  if (attempt.number >= (attempt.retry_after ? 10 : 5)) return std::nullopt;
  const milliseconds own =
      std::min(milliseconds(100) * (1 << (attempt.number - 1)), milliseconds(seconds(5)));
  if (!attempt.retry_after) return own;
  return std::clamp<milliseconds>(*attempt.retry_after, own, seconds(30));
}

}  // namespace tranche::kube
