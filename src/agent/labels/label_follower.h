#pragma once
// Feature labels as a follower: those of the machine, and what the offer adds to them.

#include "agent/labels/label_publisher.h"
#include "agent/loop/follower.h"

namespace tranche::agent {

class LabelFollower final : public Follower {
 public:
  // As LabelPublisher.
  LabelFollower(config::LabelsMode mode, LabelSink* sink, const Clock& clock, const Log& log)
      : publisher_(mode, sink, clock, log) {}

  Result<void> follow(const Round& round) override;
  // What is known of a machine without GPUs, as NVIDIA's feature discovery.
  void await_hardware(const State& state) override;
  void restart(TimePoint) override { publisher_.restamp(); }
  // Another writer may have come or gone, or have changed what was written.
  void tick(TimePoint) override;
  void finish() override { publisher_.finish(); }

 private:
  void take(const State& state, labels::Labels ours);

  LabelPublisher publisher_;
  std::optional<gpu::Machine> machine_;  // what was followed last
  config::Config config_;
  unsigned config_revision_ = 0;
  labels::Labels ours_;
};

}  // namespace tranche::agent
