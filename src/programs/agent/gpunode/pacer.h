#pragma once
// When the GPUNode is written: the rules that keep a thousand agents from writing all the time.
// Pure; the time is passed in.
//
// - An unchanged status is not written again.
// - Machine, mode, health, layout, what is offered or withheld, and reasons: at once, and at most
//   every kBetweenWrites.
// - Holdings that come, go or get a name, and their number: such a write at most every
//   kBetweenCounts. Each waits for kSettle, so that a Pod that starts is one write: it is reserved,
//   given and named within moments.
// - After a failure: after a back-off, whatever changes.

#include <chrono>
#include <optional>

#include "base/backoff.h"
#include "cluster/formats/gpu_node.h"

namespace tranche::agent {

enum class StatusChange {
  kNone,
  kCounts,  // only in holdings and their number
  kMore,
};
// nullopt: nothing was written.
StatusChange change_of(const std::optional<cluster::GpuNodeStatus>& written,
                       const cluster::GpuNodeStatus& wanted);

class Pacer {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kBetweenWrites{2};
  static constexpr std::chrono::seconds kBetweenCounts{30};
  static constexpr std::chrono::seconds kSettle{2};

  explicit Pacer(Backoff backoff = {}) : backoff_(backoff) {}

  void see(StatusChange change, TimePoint now);
  // When to write; nullopt: not at all.
  std::optional<TimePoint> due() const;
  TimePoint not_before() const { return not_before_; }
  void wrote(TimePoint now);
  // Nothing is tried before the back-off's time, or `wait` if longer.
  void failed(TimePoint now, std::chrono::milliseconds wait = {});

 private:
  Backoff backoff_;
  StatusChange change_ = StatusChange::kNone;
  TimePoint since_{};  // of `change_`, while it is not kNone
  std::optional<TimePoint> wrote_;
  std::optional<TimePoint> wrote_counts_;  // and nothing else
  TimePoint not_before_{};                 // after a failure
};

}  // namespace tranche::agent
