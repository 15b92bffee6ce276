#pragma once
// The nodes with the scheduler stand-in: places Pods and follows their state. Main thread only.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/demo/node.h"

namespace tranche::demo {

class Cluster {
 public:
  struct Outcome {
    std::string phase;           // "Running", "Pending", "Failed"
    std::string reason;          // of a failure
    std::string message;         // why Pending or failed
    const Node* node = nullptr;  // Running, Failed: where
    lab::Holding holding;        // Running: the devices and the answer of the agent
  };

  void add(std::unique_ptr<Node> node) { nodes_.push_back(std::move(node)); }
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }

  // Schedules and admits a Pod with one container that wants `gpus` of nvidia.com/gpu. What is
  // Pending can be tried again under the same name.
  Outcome run(const std::string& pod, int gpus);
  Result<void> remove(const std::string& pod);

  int schedulable() const;
  int held() const;
  std::size_t pods_running() const { return places_.size(); }

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::string, Node*> places_;  // running Pods
};

}  // namespace tranche::demo
