#pragma once
// One node of the demo: a simulated machine, a kubelet stand-in for it (in this process), the
// ConfigMap volume, and a real `tranche agent` that knows of none of this. Everything it writes is
// in its folder. Starts on construction; the destructor ends the agent. Main thread only.

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "lab/demo/config_map.h"
#include "lab/demo/process.h"
#include "lab/demo/workspace.h"
#include "lab/kubelet/kubelet.h"

namespace tranche::demo {

inline const std::string kGpu = "nvidia.com/gpu";

using NodeLabels = std::map<std::string, std::string>;

struct NodeSpec {
  std::string name;
  std::string gpu;           // to show: "NVIDIA L20, 46068 MiB"
  std::string_view machine;  // of the simulator
  std::string key;           // the agent's --config-name
};

class Node {
 public:
  // `data`: the first revision of the ConfigMap. `folder` is created. Errors: what could not be
  // written or started, with the log if there is one.
  static Result<std::unique_ptr<Node>> start(NodeSpec spec, const Programs& programs,
                                             const std::filesystem::path& folder,
                                             const ConfigData& data);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const NodeSpec& spec() const { return spec_; }
  lab::Kubelet& kubelet() { return *kubelet_; }
  pid_t agent_pid() const { return agent_->pid(); }
  // Set when the agent has ended.
  std::optional<int> agent_exit() { return agent_->exit_code(); }

  // What kubelet has counted.
  lab::ResourceStatus gpus() const;
  // The next revision of the ConfigMap arrives on the node.
  Result<void> update(const ConfigData& data) { return volume_.update(data); }
  // Node labels in the file that the agent writes for NFD; empty when there is none.
  NodeLabels labels() const;
  // The last lines of the agent's log.
  std::string log_tail(int lines) const;
  // Ends the agent; its exit code.
  int stop_agent() { return agent_->stop(); }

 private:
  Node(NodeSpec spec, std::filesystem::path folder);
  Result<void> simulate(const Programs& programs);
  Result<void> start_kubelet();
  Result<void> start_agent(const Programs& programs);
  std::filesystem::path at(std::string_view name) const { return folder_ / name; }

  const NodeSpec spec_;
  const std::filesystem::path folder_;
  FsRoot fs_;
  SystemClock clock_;
  ConfigVolume volume_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<lab::Kubelet> kubelet_;
  std::optional<Process> agent_;
};

}  // namespace tranche::demo
