#include "agent/cleanup/daemon_set_rollout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/first_few.h"
#include "base/json.h"
#include "cluster/daemon_set.h"
#include "cluster/pod.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::milliseconds kPoll = std::chrono::seconds(1);
constexpr std::size_t kNamed = 20;  // how many nodes a message names

constexpr const char* kRolloutRemedy =
    "look at the log of these Pods, then uninstall again; or helm uninstall --no-hooks and accept "
    "what stays on these nodes";

// On objects that Helm installed. If a rendered chart was applied by hand, its hooks were applied
// too, as ordinary objects. These must not clear nodes that should serve.
constexpr const char* kReleaseName = "meta.helm.sh/release-name";

bool is_helms(const std::string& daemon_set) {
  const auto root = tranche::json::parse(daemon_set);
  return root && root->at({"metadata", "annotations", kReleaseName});
}

bool passes(Code code) {
  return code == Code::kUnavailable || code == Code::kTimeout || code == Code::kFailedPrecondition;
}

// Why a Pod is not finished; empty: it is.
std::string trouble(const cluster::Pod& pod, const cluster::DaemonSet& set) {
  const auto generation = pod.labels.find("pod-template-generation");
  if (pod.deleting) return "still ending";
  if (!set.template_generation.empty() && generation != pod.labels.end() &&
      generation->second != set.template_generation) {
    return "still the old one";
  }
  if (pod.node.empty()) return "not scheduled";
  return pod.ready ? "" : "not ready";
}

class Rollout {
 public:
  Rollout(cluster::Objects& objects, const DaemonSetRollout& rollout, const CleanupWait& wait,
          const Clock& clock, const Log& log)
      : objects_(objects),
        rollout_(rollout),
        wait_(wait),
        clock_(clock),
        log_(log),
        end_(clock.now() + rollout.timeout) {}

  Result<void> run() {
    const auto now =
        ask([this] { return objects_.get(cluster::kDaemonSet, rollout_.daemon_set, call()); });
    if (!now && now.error().code == Code::kNotFound) {
      log_.warn(fmt::format("there is no {}, so no node to change", name()));
      return {};
    }
    if (!now) return std::unexpected(now.error());
    if (!is_helms(now->json)) {
      log_.warn(
          fmt::format("{} was not installed by Helm (no annotation {}), so this is no uninstall of "
                      "it: nothing is changed",
                      name(), kReleaseName));
      return {};
    }
    if (never_ran(now->json)) {
      log_.info(
          fmt::format("no Pod of {} has ever started a container, so no node has anything to "
                      "clear: nothing is changed",
                      name()));
      return {};
    }
    if (rollout_.claims == Claims::kStop) TRY(check_claims(now->json));
    const auto patched = ask([this] {
      return objects_.patch(cluster::kDaemonSet, rollout_.daemon_set,
                            {.type = cluster::PatchType::kStrategic, .json = rollout_.patch},
                            call());
    });
    if (!patched) return std::unexpected(patched.error());
    log_.info(fmt::format("changed {}", name()));
    ASSIGN_OR_RETURN(auto set, cluster::parse_daemon_set(patched->json));
    while (!set.rolled_out()) {
      say_progress(set);
      if (clock_.now() + kPoll > end_) return std::unexpected(overdue(set));
      if (!wait_(kPoll)) return stopped();
      const auto object =
          ask([this] { return objects_.get(cluster::kDaemonSet, rollout_.daemon_set, call()); });
      if (!object) return std::unexpected(object.error());
      ASSIGN_OR_RETURN(set, cluster::parse_daemon_set(object->json));
    }
    log_.info(fmt::format("{}: all {} nodes are done", name(), set.desired));
    return {};
  }

 private:
  std::string name() const { return "DaemonSet " + rollout_.daemon_set.to_string(); }

  cluster::Call call() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - clock_.now());
    return {.deadline = std::clamp<std::chrono::milliseconds>(left, kPoll, kPoll * 10)};
  }

  // Whether an installation failed before any Pod of the DaemonSet ran: it has its first template,
  // and no container of its Pods was ever started. What is unreadable may have run.
  bool never_ran(const std::string& daemon_set) {
    const auto set = cluster::parse_daemon_set(daemon_set);
    if (!set || set->template_generation != "1") return false;
    const auto pods = pods_of(*set);
    return pods && std::ranges::none_of(pods->items, [](const cluster::Object& item) {
             const auto pod = cluster::parse_pod(item.json);
             return !pod || !pod->container_ids.empty();
           });
  }

  // Before anything is changed: the agents have claims undone, and without them Pods do not end.
  Result<void> check_claims(const std::string& daemon_set) {
    ASSIGN_OR_RETURN(const auto set, cluster::parse_daemon_set(daemon_set));
    ASSIGN_OR_RETURN(const auto pods, pods_of(set));
    std::set<std::string> nodes;
    for (const auto& item : pods.items) {
      ASSIGN_OR_RETURN(auto pod, cluster::parse_pod(item.json));
      nodes.insert(std::move(pod.node));
    }
    return check_claims_of(objects_, nodes, call());
  }

  Result<cluster::ObjectList> pods_of(const cluster::DaemonSet& set) {
    return objects_.list(cluster::kPod,
                         {.ns = rollout_.daemon_set.ns, .label_selector = set.selector_text()},
                         call());
  }

  std::unexpected<Error> stopped() const {
    return fail(Code::kUnavailable, fmt::format("{}: told to stop while waiting", name()),
                "run it again");
  }

  // Repeats `attempt` until it succeeds, is refused, or the time is over.
  template <class Attempt>
  Result<cluster::Object> ask(const Attempt& attempt) {
    while (true) {
      auto result = attempt();
      if (result || !passes(result.error().code)) return result;
      if (complaint_ != result.error().what) log_.warn(result.error());
      complaint_ = result.error().what;
      if (clock_.now() + kPoll > end_) return result;
      if (!wait_(kPoll)) return stopped();
    }
  }

  void say_progress(const cluster::DaemonSet& set) {
    const bool seen = set.observed_generation >= set.generation;
    const auto done = std::min(set.updated, set.ready);
    const auto text = seen ? fmt::format("{}: {} of {} nodes are done", name(), done, set.desired)
                           : fmt::format("{}: the change is not seen yet", name());
    if (text != said_) log_.info(text);
    said_ = text;
  }

  Error overdue(const cluster::DaemonSet& set) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(rollout_.timeout).count();
    return {Code::kTimeout,
            fmt::format("{}: not done after {} s: {}", name(), seconds, unfinished(set)),
            kRolloutRemedy};
  }

  // The nodes that have not finished: "n1 (Pod ns/p is not ready), ...".
  std::string unfinished(const cluster::DaemonSet& set) {
    const auto pods = pods_of(set);
    if (!pods) return fmt::format("which nodes is not known: {}", pods.error().message());
    std::vector<std::string> left;
    for (const auto& item : pods->items) {
      const auto pod = cluster::parse_pod(item.json);
      if (!pod) continue;
      const auto why = trouble(*pod, set);
      if (why.empty()) continue;
      const auto node = pod->node.empty() ? "no node" : pod->node;
      left.push_back(fmt::format("{} (Pod {}/{} is {})", node, pod->ns, pod->name, why));
    }
    const auto without = set.desired - static_cast<std::int64_t>(pods->items.size());
    if (without > 0) left.push_back(fmt::format("{} nodes have no Pod of it", without));
    if (left.empty()) return "its status lags behind its Pods";
    return first_few(left, kNamed);
  }

  cluster::Objects& objects_;
  const DaemonSetRollout& rollout_;
  const CleanupWait& wait_;
  const Clock& clock_;
  const Log& log_;
  std::chrono::steady_clock::time_point end_;
  std::string said_;
  std::string complaint_;
};

}  // namespace

Result<void> roll_out(cluster::Objects& objects, const DaemonSetRollout& rollout,
                      const CleanupWait& wait, const Clock& clock, const Log& log) {
  return Rollout(objects, rollout, wait, clock, log).run();
}

}  // namespace tranche::agent
