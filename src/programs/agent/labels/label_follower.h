#pragma once
// Feature labels as a follower: the machine's labels, and those that the offer adds. They tell what
// kubelet offers: of a resource that another plugin serves they tell that plugin's sharing as far
// as its ids show it, and none of our limits.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/labels/label_publisher.h"
#include "agent/loop/follower.h"

namespace tranche::agent {

// The resources that another plugin serves, and how many ids it has for each device.
using OtherPlugins = std::map<std::string, int>;

// `config`, with the sharing of those resources as the other plugin has it.
config::Config as_served(config::Config config, const OtherPlugins& others);

class LabelFollower final : public Follower {
 public:
  // `others` is asked at each turn of the loop; empty: there are none. The other parameters are
  // LabelPublisher's.
  LabelFollower(config::LabelsMode mode, LabelSink* sink, std::function<OtherPlugins()> others,
                const Clock& clock, const Log& log)
      : publisher_(mode, sink, clock, log), others_(std::move(others)) {}

  Result<void> follow(const Round& round) override;
  // Writes the labels of a machine without GPUs, as NVIDIA's feature discovery does.
  void await_hardware(const State& state) override;
  void restart(TimePoint) override { publisher_.restamp(); }
  // Checks the file or object again: another writer may have come or gone, or have changed it.
  void tick(TimePoint) override;
  void finish() override { publisher_.finish(); }

 private:
  void take(const State& state, std::shared_ptr<const offer::Offer> offer);

  LabelPublisher publisher_;
  std::function<OtherPlugins()> others_;
  std::optional<gpu::Machine> machine_;  // the machine of the last round
  config::Config config_;
  unsigned config_revision_ = 0;
  std::shared_ptr<const offer::Offer> offer_;  // null: none yet
};

}  // namespace tranche::agent
