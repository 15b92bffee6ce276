#include "agent/node/node_turn.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fs.h"
#include "base/said_once.h"
#include "cluster/formats/reasons.h"

namespace tranche::agent {
namespace {

constexpr std::string_view kPrepared = "prepared to take over from the agent that serves this node";
constexpr const char* kTwoReleases =
    "uninstall one of the two, or give each nodes of its own (nodeSelector, affinity)";

// Reports what the agent waits for, at each change.
class Waiter {
 public:
  Waiter(const TurnOptions& options, AgentStatus& status, const Log& log)
      : options_(options), status_(status), log_(log) {}

  // False also after a handover.
  bool operator()(const ClaimWait& wait) {
    const auto text = wait.other ? fmt::format("release {} serves this node", *wait.other)
                                 : std::string("another agent serves this node");
    // Probes are answered before anybody is told to look.
    status_.beat(wait.other ? Status{.ready = false, .text = text} : prepare(text, wait.file));
    if (said_.is_news("wait", text)) say(wait, text);
    if (!options_.wait(predecessor_.fd())) return false;
    if (predecessor_.speaks()) inherited_ = predecessor_.receive();
    return !inherited_;
  }

  // Whether the node was handed over; then its locks are taken from there. An agent with another
  // state folder, or of an older version, does not have all of them: the others are free, or the
  // turn has not come.
  bool inherits() const { return inherited_.has_value(); }
  NodeTurn take_inherited() {
    NodeTurn turn{.came = false, .lock = nullptr, .predecessor = std::move(predecessor_)};
    auto lock = lock_node(options_.claim, [](const auto&) { return false; }, handed_locks());
    if (!lock || *lock == nullptr) return turn;
    turn.came = true;
    turn.lock = *std::move(lock);
    turn.inherited = std::move(inherited_);
    return turn;
  }

 private:
  // Takes the locks out of the handover.
  NodeLock handed_locks() {
    NodeLock handed;
    for (auto& one : *inherited_) {
      if (one.name != kHandedLock) continue;
      for (const auto& file : options_.claim.files()) {
        auto lock = process::ProcessLock::adopt(one.descriptor, file);
        if (lock) handed.files.push_back({file, std::move(lock)});
      }
    }
    std::erase_if(*inherited_, [](const auto& one) { return one.name == kHandedLock; });
    return handed;
  }

  // Ready: a rolling update may end the agent that holds the lock. This one can serve, and that one
  // hands over to it, or is of a version that hands over to nobody, or names no release. `text`:
  // the reason for waiting; `file`: held by that agent.
  Status prepare(const std::string& text, const std::filesystem::path& file) {
    using Greeting = process::Predecessor::Greeting;
    const Status prepared{.ready = true, .text = std::string(kPrepared)};
    if (predecessor_.fd() >= 0) return prepared;
    if (const auto can = options_.can_serve ? options_.can_serve() : Result<void>(); !can) {
      return {
          .ready = false,
          .text = fmt::format("{}; not prepared to take over: {}", text, can.error().message())};
    }
    const auto& claim = options_.claim;
    const auto greeting = predecessor_.greet(file.parent_path() / kHandoverSocket, claim.release());
    if (greeting == Greeting::kWait) {
      log_.info("prepared to take over: the other agent hands over to this one when it ends");
    }
    const auto owner = claim.owner();
    if (greeting != Greeting::kOther || (owner && !*owner)) return prepared;
    return {.ready = false, .text = text};
  }

  void say(const ClaimWait& wait, const std::string& text) {
    const auto file = wait.file.string();
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
  process::Predecessor predecessor_;
  std::optional<std::vector<process::NamedDescriptor>> inherited_;
};

void claim(const NodeClaim& claim, const Log& log) {
  if (const auto other = claim.other()) {
    log.warn(
        fmt::format("release {} has no agent here: this one takes the node over", other->release));
  }
  if (const auto state = claim.other_state()) {
    log.warn(
        fmt::format("this release served the node with the state folder {} before: what it granted "
                    "is not known here; delete the node's Pods with GPUs, and then that folder",
                    *state));
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
    // Without a state folder and one of kubelet's the agent serves all the same.
    log.warn(
        fmt::format("no node lock: {}; two agents on this node would not see each other (mount a "
                    "writable folder at --state-dir)",
                    lock.error().message()));
    return {.came = true, .lock = nullptr};
  }
  if (waiter.inherits()) {
    log.info("the agent before this one hands over; it answers until this one serves");
    auto turn = waiter.take_inherited();
    if (turn.lock) claim(options.claim, log);
    return turn;
  }
  if (*lock && (*lock)->trouble) {
    log.warn(
        fmt::format("one of the node's locks is missing: {}; an agent that has only that folder in "
                    "common with this one would not be seen",
                    (*lock)->trouble->message()));
  }
  if (*lock) claim(options.claim, log);
  const bool came = *lock != nullptr;
  return {.came = came, .lock = *std::move(lock)};
}

}  // namespace tranche::agent
