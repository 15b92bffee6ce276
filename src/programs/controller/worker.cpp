#include "controller/worker.h"

#include <algorithm>

namespace tranche::controller {

Result<cluster::Call> call_while_leading(
    std::chrono::milliseconds longest, const std::function<std::chrono::milliseconds()>& time_left,
    const std::stop_token& stop) {
  cluster::Call within{.deadline = longest, .stop = stop};
  if (!time_left) return within;
  within.deadline = std::min(longest, time_left());
  if (within.deadline > std::chrono::milliseconds(0)) return within;
  return fail(Code::kUnavailable, "this controller does not lead (any more)",
              "the one that leads does the work");
}

}  // namespace tranche::controller
