#pragma once
// Keeps the node's GPUNode up to date: writes by the pacer's rules, checks now and then whether
// somebody has changed or deleted it, and retries while the API server is away. On one thread
// (gpu_node_follower.h), for which nobody waits.

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "agent/gpunode/gpu_node_object.h"
#include "agent/gpunode/pacer.h"
#include "agent/gpunode/status_source.h"
#include "agent/node/node_view.h"
#include "base/log.h"

namespace tranche::agent {

class GpuNodePublisher {
 public:
  using TimePoint = Pacer::TimePoint;
  // Between two checks for changes here.
  static constexpr std::chrono::seconds kLookHere{1};
  // Between two reads of the object while nothing is written.
  static constexpr std::chrono::minutes kLookThere{2};
  // While the cluster lacks the kind or refuses what is written.
  static constexpr std::chrono::minutes kNoKind{10};
  static constexpr std::chrono::minutes kRefused{5};

  GpuNodePublisher(GpuNodeObject object, StatusSource& source, const Log& log, Backoff backoff = {})
      : object_(std::move(object)), source_(source), log_(log), pacer_(backoff) {}

  // Does what is due. Returns the latest time of the next call.
  TimePoint turn(TimePoint now, const std::stop_token& stop);

 private:
  Result<void> look(TimePoint now, const std::stop_token& stop);
  Result<void> write(TimePoint now, const std::stop_token& stop);
  void failed(const Error& error, TimePoint now);

  GpuNodeObject object_;
  StatusSource& source_;
  const Log& log_;
  Pacer pacer_;
  TimePoint look_due_{};
  std::optional<TimePoint> failing_since_;
  std::string complaint_;  // logged last; empty: no failure
};

}  // namespace tranche::agent
