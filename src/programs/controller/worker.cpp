#include "controller/worker.h"

#include <algorithm>

namespace tranche::controller {
namespace {

constexpr const char* kReporter = "tranche.dev/controller";

}  // namespace

Result<cluster::Call> WorkerContext::call_while_leading(std::chrono::milliseconds longest,
                                                        const std::stop_token& stop) const {
  cluster::Call within{.deadline = longest, .stop = stop};
  if (!time_left) return within;
  within.deadline = std::min(longest, time_left());
  if (within.deadline > std::chrono::milliseconds(0)) return within;
  return fail(Code::kUnavailable, "this controller does not lead (any more)",
              "the one that leads does the work");
}

cluster::EventRecorder WorkerContext::event_recorder() const {
  return {objects, {.reporter = kReporter, .instance = instance}, clock, log};
}

cluster::StandingEvents WorkerContext::standing_events() const {
  return {objects, kReporter, instance, clock, log};
}

}  // namespace tranche::controller
