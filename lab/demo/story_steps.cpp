// The steps of the story, in their order.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lab/demo/embedded.h"
#include "lab/demo/story.h"

namespace tranche::demo {
namespace {

// "GPU-1c3f6ae2-...::1" as people can take it in: "GPU-1c3f6ae2...::1".
std::string short_id(const std::string& id) {
  constexpr std::size_t kStepShown = 12;
  const auto replica = id.find("::");
  if (replica == std::string::npos || replica <= kStepShown) return id;
  return id.substr(0, kStepShown) + "..." + id.substr(replica);
}

}  // namespace

void Story::introduce() {
  screen_.title("Tranche: 2 schedulable GPUs become 4, then 11");
  screen_.line();
  screen_.define("real",
                 "tranche agent, one process a node; device plugin gRPC; the files it reads "
                 "and writes");
  screen_.define("simulated",
                 "the GPUs, an NVIDIA L20 and a Tesla T4, behind a libnvidia-ml.so.1 "
                 "without a driver");
  screen_.define("stand-ins",
                 "for kubelet's device manager and for the scheduler (first fit); no "
                 "container runs");
}

Result<void> Story::start_nodes() {
  TRY(begin("Two nodes with one GPU each, nothing shared: 2 schedulable in all"));
  TRY(start_node(
      {.name = "gpu-l20", .gpu = "NVIDIA L20, 46068 MiB", .machine = kL20Machine, .key = "l20"}));
  TRY(start_node(
      {.name = "gpu-t4", .gpu = "Tesla T4, 15360 MiB", .machine = kT4Machine, .key = "t4"}));
  for (const auto& node : cluster_.nodes()) {
    summary_.nodes.push_back(
        {.node = node->spec().name, .gpu = node->spec().gpu, .before = node->gpus().allocatable});
  }
  return expect(cluster_.schedulable() == 2, "2 schedulable GPUs in all");
}

Result<void> Story::get_stuck() {
  TRY(begin("Both are taken, and a rolling update hangs"));
  for (const auto* pod : {"detector-1", "reader-1"}) {
    ASSIGN_OR_RETURN(const auto outcome, expect_running(pod));
    screen_.done(fmt::format("Pod {} Running on {}", pad(pod, 10), outcome.node->spec().name));
  }
  screen_.note("Deployment detector is updated; its new Pod must run before the old one goes.");
  const auto outcome = cluster_.run("detector-2", 1);
  TRY(expect(outcome.phase == "Pending", "Pod detector-2 to be Pending, it is " + outcome.phase));
  screen_.refused(fmt::format("Pod detector-2 Pending: {}", outcome.message));
  screen_.note(
      "In the published case, a cluster of 8 nodes of which these 2 have a GPU, it stood so for 28 "
      "days: 0/8 nodes are available: 8 Insufficient nvidia.com/gpu.");
  summary_.running_before = static_cast<int>(cluster_.pods_running());
  summary_.pending_before = 1;
  return {};
}

Result<void> Story::key_any() {
  TRY(begin("Key any, two tranches of each GPU: 4 in all"));
  screen_.note(
      "The ConfigMap's next revision arrives on the nodes as in a mounted volume: ..data is "
      "swapped. "
      "Both get what its key any says, timeSlicing with replicas: 2. No agent is restarted. Times "
      "are from the swap until the stand-in sees the new count.");
  auto data = published_;
  data["l20"] = data["t4"] = published_.at("any");
  for (const auto& node : cluster_.nodes()) TRY(apply(*node, data, 2));
  TRY(expect(cluster_.schedulable() == 4, "4 schedulable tranches in all"));
  for (std::size_t i = 0; i < summary_.nodes.size(); ++i) {
    summary_.nodes[i].any = cluster_.nodes()[i]->gpus().allocatable;
  }
  ASSIGN_OR_RETURN(const auto outcome, expect_running("detector-2"));
  screen_.done(fmt::format("Pod detector-2 Running on {}, holds {}", outcome.node->spec().name,
                           short_id(outcome.holding.ids.front())));
  TRY(cluster_.remove("detector-1"));
  screen_.done("Pod detector-1 removed: the rolling update is complete");
  return {};
}

Result<void> Story::own_keys() {
  TRY(begin("Keys l20 and t4, as many tranches as the memory is good for: 11 in all"));
  screen_.note(
      "Measured: a process takes 4621 MiB on the L20 and 4401 MiB on the T4. 8 tranches leave each "
      "1137 MiB of headroom, 3 leave 719 MiB.");
  const std::array expected = {8, 3};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    TRY(apply(*cluster_.nodes()[i], published_, expected[i]));
    summary_.nodes[i].sized = cluster_.nodes()[i]->gpus().allocatable;
  }
  return expect(cluster_.schedulable() == 11, "11 schedulable tranches in all");
}

Result<void> Story::ask_for_two() {
  TRY(begin("A Pod that asks for two shared GPUs: refused"));
  screen_.note(
      "Two tranches may well be the same GPU, so the configuration says "
      "failRequestsGreaterThanOne: "
      "true. What the agent answers is kubelet's reason:");
  const int held = cluster_.held();
  const auto outcome = cluster_.run("greedy", 2);
  TRY(expect(outcome.reason == "UnexpectedAdmissionError" &&
                 outcome.message.find("maximum request size for shared resources is 1; found 2") !=
                     std::string::npos,
             fmt::format("Pod greedy to be refused; it is {}: {} {}", outcome.phase, outcome.reason,
                         outcome.message)));
  screen_.refused(
      fmt::format("Pod greedy {}: {}: {}", outcome.phase, outcome.reason, outcome.message));
  return expect(cluster_.held() == held, "nothing held by the refused Pod");
}

Result<void> Story::show_labels() {
  TRY(begin("Labels of the nodes, as each agent writes them for NFD"));
  static constexpr std::array kStepShown = {"nvidia.com/gpu.product", "nvidia.com/gpu.replicas",
                                            "nvidia.com/gpu.sharing-strategy",
                                            "nvidia.com/gpu.memory"};
  const std::array<std::string, 2> products = {"NVIDIA-L20-SHARED", "Tesla-T4-SHARED"};
  std::vector<NodeLabels> labels;
  for (std::size_t i = 0; i < products.size(); ++i) {
    Node& node = *cluster_.nodes()[i];
    const auto replicas = fmt::format("{}", node.gpus().allocatable);
    TRY(await_labels(node, {{kStepShown[0], products[i]}, {kStepShown[1], replicas}}));
    labels.push_back(node.labels());
  }
  Table table(std::vector<Table::Align>(1 + labels.size(), Table::Align::kLeft));
  table.add({"", cluster_.nodes()[0]->spec().name, cluster_.nodes()[1]->spec().name});
  for (const auto* key : kStepShown) table.add({key, labels[0][key], labels[1][key]});
  const auto lines = table.lines();
  screen_.line(std::string(width_of(screen_.symbols().tick) + 1, ' ') +
               screen_.strong(lines.front()));
  for (std::size_t i = 1; i < lines.size(); ++i) screen_.done(lines[i]);
  return {};
}

Result<void> Story::fill_up() {
  TRY(begin("Eleven Pods on two GPUs"));
  int number = 2;
  while (cluster_.held() < cluster_.schedulable()) {
    TRY(expect_running(fmt::format("detector-{}", ++number)));
  }
  for (const auto& node : cluster_.nodes()) {
    const auto gpus = node->gpus();
    screen_.done(node_line(*node, fmt::format("{} of {} held", gpus.allocated, gpus.allocatable)));
  }
  summary_.running_after = static_cast<int>(cluster_.pods_running());
  TRY(expect(summary_.running_after == 11, "11 running Pods"));
  return check_agents();
}

Result<void> Story::check_agents() {
  std::string pids;
  for (const auto& node : cluster_.nodes()) {
    const auto& name = node->spec().name;
    TRY(expect(!node->agent_exit(), fmt::format("the agent of {} to be alive", name)));
    TRY(expect(node->gpus().registrations == 1,
               fmt::format("one registration of {}'s agent with kubelet, not {}", name,
                           node->gpus().registrations)));
    pids += fmt::format("{}{}", pids.empty() ? "" : " and ", node->agent_pid());
  }
  screen_.done(fmt::format(
      "the agents are still pids {}, each registered once: no restart, no new socket", pids));
  return {};
}

Result<void> Story::stop_agents() {
  for (const auto& node : cluster_.nodes()) {
    const int code = node->stop_agent();
    TRY(expect(code == 0,
               fmt::format("exit code 0 of {}'s agent, not {}", node->spec().name, code)));
  }
  return {};
}

void Story::conclude() const {
  screen_.heading("Before and after: schedulable nvidia.com/gpu");
  const auto lines = summary_lines(summary_);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool strong = i == 0 || lines[i].starts_with("total");
    screen_.line(strong ? screen_.strong(lines[i]) : lines[i]);
  }
  auto program = std::filesystem::proximate(programs_.tranche).string();
  if (program.starts_with("..")) program = programs_.tranche.string();
  screen_.heading("Where to go next");
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  table.add({"README.md", "install it on a cluster"});
  table.add({program + " agent --help", "every flag, with its environment variable"});
  table.add({"docs/configuration.md", "the configuration file, and which setting wins"});
  table.add({"docs/labels.md", "the node labels"});
  table.add({"docs/demo.md", "this demo: what is real, and how to play on with --keep"});
  for (const auto& line : table.lines()) screen_.line(line);
  screen_.line();
}

}  // namespace tranche::demo
