#pragma once
// The node's mode as input and follower: part of the State; the loop runs again when the label
// changes.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "agent/config/mode_standing.h"
#include "agent/config/node_mode.h"
#include "agent/loop/follower.h"
#include "agent/loop/stage.h"

namespace tranche::agent {

inline NodeModeStanding standing_of(NodeModeReader& reader) {
  const auto mode = reader.read();
  return {.mode = mode.value_or(cluster::NodeMode::kDevicePlugin),
          .undecided = !mode,
          .label_trouble = reader.trouble()};
}

class NodeModeInput final : public Input {
 public:
  explicit NodeModeInput(std::shared_ptr<NodeModeReader> reader) : reader_(std::move(reader)) {}
  void look(const offer::Offer& /*wished*/, State& state) override {
    state.set(standing_of(*reader_));
  }

 private:
  std::shared_ptr<NodeModeReader> reader_;
};

class NodeModeFollower final : public Follower {
 public:
  // `look_again`: has the agent make a new offer.
  NodeModeFollower(std::shared_ptr<NodeModeReader> reader, std::function<void()> look_again)
      : reader_(std::move(reader)), look_again_(std::move(look_again)) {}

  Result<void> follow(const Round& /*round*/) override { return {}; }
  // Once for each change: otherwise a loop that cannot make an offer yet would turn without end.
  void tick(TimePoint /*now*/) override {
    auto now = standing_of(*reader_);
    if (now == seen_) return;
    seen_ = std::move(now);
    look_again_();
  }
  std::string remark() const override { return reader_->trouble(); }

 private:
  std::shared_ptr<NodeModeReader> reader_;
  std::function<void()> look_again_;
  NodeModeStanding seen_{.undecided = true};
};

}  // namespace tranche::agent
