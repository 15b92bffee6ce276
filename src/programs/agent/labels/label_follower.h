#pragma once
// Feature labels as a follower: the machine's labels, and those that the offer adds. They describe
// what kubelet offers: for a resource that another plugin serves, that plugin's sharing as far as
// its ids show it, and none of our limits.

#include <map>
#include <memory>
#include <string>

#include "agent/labels/label_publisher.h"
#include "agent/labels/label_sink.h"
#include "agent/loop/follower.h"
#include "agent/plugins/serving_standing.h"

namespace tranche::agent {

// `config`, with the sharing of resources that other plugins serve. `others`:
// ServingStanding::others.
config::Config as_served(config::Config config, const std::map<std::string, int>& others);

class LabelFollower final : public Follower {
 public:
  // `sink`: null: labels go to the file. Other parameters: see LabelPublisher.
  LabelFollower(config::LabelsMode mode, std::unique_ptr<LabelSink> sink, const Clock& clock,
                const Log& log)
      : sink_(std::move(sink)), publisher_(mode, sink_.get(), clock, log) {}

  Result<void> follow(const Round& round) override;
  // Writes the labels of a machine without GPUs, as NVIDIA's feature discovery does.
  void await_hardware(const State& state) override;
  void restart(TimePoint) override { publisher_.restamp(); }
  // Checks the file or object again: another writer may have come or gone, or have changed it.
  void tick(TimePoint) override;
  void finish() override { publisher_.finish(); }

 private:
  void take(const State& state, std::shared_ptr<const offer::Offer> offer);

  std::unique_ptr<LabelSink> sink_;
  LabelPublisher publisher_;
  ServingStanding serving_;
  std::optional<gpu::Machine> machine_;  // of the last round
  config::Config config_;
  unsigned config_revision_ = 0;
  std::shared_ptr<const offer::Offer> offer_;  // null: none yet
};

}  // namespace tranche::agent
