#include "lab/demo/node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <utility>
#include <vector>

namespace tranche::demo {
namespace {

namespace fs = std::filesystem;

std::string last_lines(const std::string& text, int count) {
  std::size_t begin = text.size();
  while (count-- > 0 && begin > 0) {
    const auto newline = begin < 2 ? std::string::npos : text.rfind('\n', begin - 2);
    begin = newline == std::string::npos ? 0 : newline + 1;
  }
  return text.substr(begin);
}

// A script that starts the agent again, for a kept folder.
std::string script(const Command& command, const std::vector<std::string>& variables) {
  return fmt::format(
      "#!/bin/sh\n# Starts this node's agent again, as the demo did.\nexec env {} \\\n  '{}' "
      "'{}'\n",
      fmt::join(variables, " "), command.program.string(), fmt::join(command.arguments, "' '"));
}

}  // namespace

Node::Node(NodeSpec spec, fs::path folder)
    : spec_(std::move(spec)), folder_(std::move(folder)), volume_(folder_ / "config") {}

Node::~Node() {
  if (agent_) agent_->stop();
}

Result<std::unique_ptr<Node>> Node::start(NodeSpec spec, const Programs& programs,
                                          const fs::path& folder, const ConfigData& data) {
  std::unique_ptr<Node> node(new Node(std::move(spec), folder));
  TRY(node->fs_.make_directories(node->at("features.d")));
  TRY(node->volume_.update(data));
  TRY(node->simulate(programs));
  TRY(node->start_kubelet());
  TRY(node->start_agent(programs));
  return node;
}

Result<void> Node::simulate(const Programs& programs) {
  TRY(fs_.write_atomic(at("machine.yaml"), spec_.machine));
  const fs::path log = at("tranche-sim.log");
  Command command{.program = programs.simulator,
                  .arguments = {"root", at("root").string(), "--plain-nodes"},
                  .environment = clean_environment(),
                  .log = log};
  command.environment.push_back("TRANCHE_SIM=" + at("machine.yaml").string());
  command.environment.push_back("TRANCHE_SIM_STATE=" + at("machine.state").string());
  ASSIGN_OR_RETURN(auto process, Process::start(command));
  if (const int code = process.wait(); code != 0) {
    return fail(Code::kInternal, fmt::format("tranche-sim ended with exit code {}: {}", code,
                                             fs_.read(log).value_or("")));
  }
  return {};
}

Result<void> Node::start_kubelet() {
  log_ = std::make_unique<Log>(
      LogLevel::kInfo, [path = at("kubelet-stand-in.log")](LogLevel, std::string_view message) {
        std::ofstream(path, std::ios::app) << message << '\n';
      });
  kubelet_ =
      std::make_unique<lab::Kubelet>(lab::Kubelet::Options{.root = at("kubelet")}, clock_, *log_);
  return kubelet_->start();
}

Result<void> Node::start_agent(const Programs& programs) {
  const auto path = [&](std::string_view flag, std::string_view name) {
    return fmt::format("--{}={}", flag, at(name).string());
  };
  const std::vector<std::string> variables = {"TRANCHE_SIM=" + at("machine.yaml").string(),
                                              "TRANCHE_SIM_STATE=" + at("machine.state").string()};
  Command command{
      .program = programs.tranche,
      .arguments = {"agent", path("config-file", "config"), "--config-name=" + spec_.key,
                    path("kubelet-root", "kubelet"), path("state-dir", "state"),
                    path("cdi-root", "cdi"), path("host-root", "root"),
                    path("driver-root-ctr-path", "root"), "--labels=true",
                    path("output-file", "features.d/gfd"), "--node-name=" + spec_.name},
      .environment = clean_environment(),
      .log = at("agent.log")};
  command.environment.insert(command.environment.end(), variables.begin(), variables.end());
  TRY(fs_.write_atomic(at("agent.sh"), script(command, variables), 0755));
  ASSIGN_OR_RETURN(auto process, Process::start(command));
  agent_.emplace(std::move(process));
  return {};
}

lab::ResourceStatus Node::gpus() const {
  const auto status = kubelet_->status();
  const auto found = status.find(kGpu);
  return found == status.end() ? lab::ResourceStatus{} : found->second;
}

NodeLabels Node::labels() const {
  NodeLabels out;
  std::ifstream file(at("features.d/gfd"));
  for (std::string line; std::getline(file, line);) {
    const auto equals = line.find('=');
    if (equals != std::string::npos) out[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return out;
}

std::string Node::log_tail(int lines) const {
  return last_lines(fs_.read(at("agent.log")).value_or("(no log)\n"), lines);
}

}  // namespace tranche::demo
