#include "lab/demo/story.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "lab/demo/embedded.h"

namespace tranche::demo {
namespace {

constexpr auto kStoryPatience = std::chrono::seconds(15);
constexpr auto kStoryLookAgain = std::chrono::milliseconds(5);
constexpr std::size_t kLongestWish = 50;  // a line that is overwritten must not be broken
constexpr int kMostTranches = 8;

// No sharing: what the nodes had before.
const std::string kUnshared = "version: v1\n";

Error interrupted() { return {.code = Code::kUnavailable, .what = "interrupted"}; }

}  // namespace

Story::Story(Screen& screen, Programs programs, std::filesystem::path folder)
    : screen_(screen), programs_(std::move(programs)), folder_(std::move(folder)) {}

Result<void> Story::play() {
  ASSIGN_OR_RETURN(published_, parse_config_map(kTimeSlicingConfig, "time-slicing-config.yaml"));
  for (const char* key : {"any", "l20", "t4"}) {
    TRY(expect(published_.contains(key), fmt::format("a key {} in the ConfigMap", key)));
  }
  introduce();
  for (const auto step :
       {&Story::start_nodes, &Story::get_stuck, &Story::key_any, &Story::own_keys,
        &Story::ask_for_two, &Story::show_labels, &Story::fill_up, &Story::stop_agents}) {
    TRY((this->*step)());
  }
  conclude();
  return {};
}

Result<void> Story::begin(std::string_view step) {
  if (!screen_.step(step)) return std::unexpected(interrupted());
  return {};
}

Result<void> Story::expect(bool holds, std::string_view what) {
  if (holds) return {};
  return fail(Code::kInternal, fmt::format("expected {}", what));
}

std::string Story::agent_logs() const {
  std::string out;
  for (const auto& node : cluster_.nodes()) {
    out += fmt::format("--- the agent of {} said last:\n{}", node->spec().name, node->log_tail(15));
  }
  return out;
}

std::string Story::node_line(const Node& node, const std::string& text) const {
  const auto gpus = node.gpus();
  const int width = std::max(gpus.allocatable, gpus.allocated);
  const std::string room(static_cast<std::size_t>(std::max(0, kMostTranches - width)), ' ');
  return fmt::format("{}  {}  {}{}  {}", screen_.strong(pad(node.spec().name, 7)),
                     pad(node.spec().gpu, 21), screen_.bar(gpus.allocated, width), room, text);
}

Result<void> Story::await(Node& node, const std::string& what, const Screen::Poll& poll) {
  const auto outcome = screen_.wait(
      fmt::format("{}: waiting for {}", node.spec().name, what.substr(0, kLongestWish)),
      [&](std::chrono::milliseconds slice) { return node.agent_exit() || poll(slice); },
      kStoryPatience);
  if (outcome == Screen::Outcome::kInterrupted) return std::unexpected(interrupted());
  if (const auto code = node.agent_exit()) {
    return fail(Code::kInternal,
                fmt::format("{}: the agent ended with exit code {}", node.spec().name, *code));
  }
  if (outcome == Screen::Outcome::kDone) return {};
  return fail(Code::kTimeout, fmt::format("{}: {} did not come about within {} s", node.spec().name,
                                          what, kStoryPatience.count()));
}

Result<Story::Milliseconds> Story::await_gpus(Node& node, int expected,
                                              std::chrono::steady_clock::time_point since) {
  auto seen = since;
  TRY(await(node, fmt::format("{} schedulable {}", expected, kGpu),
            [&](std::chrono::milliseconds slice) {
              const bool there = node.kubelet().wait_allocatable(kGpu, expected, slice);
              seen = std::chrono::steady_clock::now();
              return there;
            }));
  return seen - since;
}

Result<void> Story::await_labels(Node& node, const NodeLabels& wanted) {
  std::string what = "labels";
  for (const auto& [key, value] : wanted) what += fmt::format(" {}={}", key, value);
  return await(node, what, [&](std::chrono::milliseconds slice) {
    const auto labels = node.labels();
    if (std::ranges::includes(labels, wanted)) return true;
    std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(slice, kStoryLookAgain));
    return false;
  });
}

Result<void> Story::start_node(NodeSpec spec) {
  const auto folder = folder_ / spec.name;
  ASSIGN_OR_RETURN(auto started, Node::start(std::move(spec), programs_, folder,
                                             {{"l20", kUnshared}, {"t4", kUnshared}}));
  Node& node = *started;
  cluster_.add(std::move(started));
  TRY(await_gpus(node, 1, std::chrono::steady_clock::now()));
  screen_.done(node_line(node, fmt::format("1 schedulable, agent pid {}", node.agent_pid())));
  return {};
}

Result<void> Story::apply(Node& node, const ConfigData& data, int expected) {
  const int before = node.gpus().allocatable;
  const auto start = std::chrono::steady_clock::now();
  TRY(node.update(data));
  ASSIGN_OR_RETURN(const auto time, await_gpus(node, expected, start));
  screen_.done(node_line(node, fmt::format("{} {} {} schedulable after {:.0f} ms", before,
                                           screen_.symbols().arrow, expected, time.count())));
  return {};
}

Result<Cluster::Outcome> Story::expect_running(const std::string& pod) {
  auto outcome = cluster_.run(pod, 1);
  TRY(expect(outcome.phase == "Running",
             fmt::format("Pod {} to run; it is {}: {} {}", pod, outcome.phase, outcome.reason,
                         outcome.message)));
  return outcome;
}

}  // namespace tranche::demo
