#include "agent/node/node_turn.h"

#include <fmt/format.h>

#include "base/fs.h"
#include "base/said_once.h"
#include "cluster/reasons.h"

namespace tranche::agent {
namespace {

constexpr const char* kTwoReleases =
    "uninstall one of the two, or give each nodes of its own (nodeSelector, affinity)";

// Says what the agent waits for, whenever that changes.
class Waiter {
 public:
  Waiter(const TurnOptions& options, AgentStatus& status, const Log& log)
      : options_(options), status_(status), log_(log) {}

  bool operator()(const ClaimWait& wait) {
    const auto text = wait.other ? fmt::format("release {} serves this node", *wait.other)
                                 : std::string("another agent serves this node");
    if (said_.is_news("wait", text)) say(wait, text);
    status_.beat({.ready = false, .text = text});
    return options_.wait();
  }

 private:
  void say(const ClaimWait& wait, const std::string& text) {
    const auto file = options_.claim.file().string();
    if (!wait.other) {
      log_.info(fmt::format("{} (it holds {}); waiting for it to end", text, file));
      return;
    }
    const auto& release = options_.claim.release();
    const auto ours = release.empty() ? std::string("this agent") : "release " + release;
    log_.warn(
        fmt::format("release {} serves this node (it holds {}), and {} waits for it to be "
                    "uninstalled; {}",
                    *wait.other, file, ours, kTwoReleases));
    if (!options_.tell) return;
    options_.tell({.warning = true,
                   .reason = cluster::reason::kAnotherReleaseServes,
                   .action = "Serve",
                   .note = fmt::format("{}, and {} waits; {}", text, ours, kTwoReleases)});
  }

  const TurnOptions& options_;
  AgentStatus& status_;
  const Log& log_;
  SaidOnce said_;
};

void claim(const NodeClaim& claim, const Log& log) {
  if (const auto other = claim.other()) {
    log.warn(fmt::format("release {} has no agent here: this one takes the node over", *other));
  }
  if (const auto written = claim.write(); !written) {
    log.warn(
        fmt::format("which release serves this node is not kept: {}; another release may take "
                    "it over while this agent's Pod is replaced",
                    written.error().message()));
  }
}

}  // namespace

NodeTurn await_turn(const TurnOptions& options, AgentStatus& status, const Clock& clock,
                    const Log& log) {
  Waiter waiter(options, status, log);
  auto lock = take_turn(options.claim, options.take_over, clock, std::ref(waiter));
  if (!lock) {
    // A manifest written for NVIDIA's plugin mounts no state folder. The agent serves all the same.
    log.warn(
        fmt::format("no node lock: {}; two agents on this node would not see each other (mount a "
                    "writable folder at --state-dir)",
                    lock.error().message()));
    return {.came = true, .lock = nullptr};
  }
  if (*lock) claim(options.claim, log);
  const bool came = *lock != nullptr;
  return {.came = came, .lock = *std::move(lock)};
}

}  // namespace tranche::agent
