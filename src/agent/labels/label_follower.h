#pragma once
// Feature labels as a follower: the machine's labels, and those that the offer adds.

#include "agent/labels/label_publisher.h"
#include "agent/loop/follower.h"

namespace tranche::agent {

class LabelFollower final : public Follower {
 public:
  // The parameters are LabelPublisher's.
  LabelFollower(config::LabelsMode mode, LabelSink* sink, const Clock& clock, const Log& log)
      : publisher_(mode, sink, clock, log) {}

  Result<void> follow(const Round& round) override;
  // Writes the labels of a machine without GPUs, as NVIDIA's feature discovery does.
  void await_hardware(const State& state) override;
  void restart(TimePoint) override { publisher_.restamp(); }
  // Checks the file or object again: another writer may have come or gone, or have changed it.
  void tick(TimePoint) override;
  void finish() override { publisher_.finish(); }

 private:
  void take(const State& state, labels::Labels ours);

  LabelPublisher publisher_;
  std::optional<gpu::Machine> machine_;  // the machine of the last round
  config::Config config_;
  unsigned config_revision_ = 0;
  labels::Labels ours_;
};

}  // namespace tranche::agent
