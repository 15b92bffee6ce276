#pragma once
// The story of the demo, step by step: the rollout scenario
// (tests/data/scenarios/rollout/EXPECT.md) from one GPU a node to eleven tranches. Every step
// checks its result; the first that fails ends the story. Main thread only.

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "lab/demo/cluster.h"
#include "lab/demo/screen.h"
#include "lab/demo/summary.h"
#include "lab/demo/workspace.h"

namespace tranche::demo {

class Story {
 public:
  // References outlive the story. Nodes keep their files under `folder`.
  Story(Screen& screen, Programs programs, std::filesystem::path folder);

  // Errors: an expectation that was not met, something that could not be started, an interruption.
  Result<void> play();
  // The last lines of every agent's log, for when play() failed.
  std::string agent_logs() const;

 private:
  using Milliseconds = std::chrono::duration<double, std::milli>;

  void introduce();
  Result<void> start_nodes();
  Result<void> get_stuck();
  Result<void> key_any();
  Result<void> own_keys();
  Result<void> ask_for_two();
  Result<void> show_labels();
  Result<void> fill_up();
  Result<void> check_agents();
  Result<void> stop_agents();
  void conclude() const;

  Result<void> begin(std::string_view step);
  static Result<void> expect(bool holds, std::string_view what);
  Result<void> start_node(NodeSpec spec);
  Result<void> apply(Node& node, const ConfigData& data, int expected);
  // How long it took, from `since`, until kubelet saw `expected` schedulable devices.
  Result<Milliseconds> await_gpus(Node& node, int expected,
                                  std::chrono::steady_clock::time_point since);
  Result<void> await_labels(Node& node, const NodeLabels& wanted);
  Result<void> await(Node& node, const std::string& what, const Screen::Poll& poll);
  Result<Cluster::Outcome> expect_running(const std::string& pod);
  std::string node_line(const Node& node, const std::string& text) const;

  Screen& screen_;
  const Programs programs_;
  const std::filesystem::path folder_;  // nodes keep their files below
  ConfigData published_;
  Cluster cluster_;
  Summary summary_;
};

}  // namespace tranche::demo
