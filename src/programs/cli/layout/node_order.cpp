#include "cli/layout/node_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/json_value.h"
#include "base/printable.h"
#include "base/said_once.h"
#include "cluster/client/list_of.h"
#include "cluster/pod.h"
#include "mig/announcer.h"

namespace tranche::cli {
namespace {

using cluster::MigPhase;
using std::chrono::milliseconds;

constexpr milliseconds kPoll{200};
constexpr int kWrites = 5;
// A running agent reacts to a label within seconds.
constexpr std::chrono::seconds kTakenUp{60};

std::string take_back_command(const NodeOrder& order, const std::string& before) {
  return before.empty() || before == order.layout
             ? fmt::format("kubectl label node {} {}-", order.node, cluster::kMigConfigLabel)
             : fmt::format("kubectl label node {} {}={} --overwrite", order.node,
                           cluster::kMigConfigLabel, before);
}

Result<std::string> announcement_of(cluster::Objects& objects, const cluster::MigChange& change,
                                    const std::string& node) {
  ASSIGN_OR_RETURN(const auto announcement, mig::announce_now(objects, change, node));
  return mig::describe(announcement);
}

Result<void> check_node(const NodeLayout& now, const NodeOrder& order) {
  if (now.mig_capable == false) {
    return fail(Code::kUnsupported, fmt::format("no GPU of node {} has MIG", order.node),
                "share its GPUs by time-slicing or MPS, or with limits (tranche.limits)");
  }
  if (now.change && now.change->phase != MigPhase::kFinished &&
      now.change->layout != order.layout) {
    return fail(Code::kFailedPrecondition,
                fmt::format("a change of node {} to layout {} is open: {}", order.node,
                            now.change->layout, cluster::to_string(now.change->phase)),
                fmt::format("wait for its end, or take it back: {}",
                            take_back_command(order, now.change->layout)));
  }
  return {};
}

Result<void> check_manager(const NodeLayout& now, const NodeOrder& order) {
  if (now.has_manager()) return {};
  return fail(
      Code::kFailedPrecondition,
      fmt::format("no agent manages the MIG layouts of node {}; nothing was changed", order.node),
      fmt::format("set migManager.enabled=true in the chart's values, and see that an agent runs "
                  "there (kubectl get pods -A --field-selector spec.nodeName={}); for one that "
                  "comes later: --no-wait",
                  order.node));
}

// As a whole word: not all-1g.10gb in all-1g.10gb.me.
bool names(const std::string& message, const std::string& layout) {
  const auto words = "the layout " + layout;
  const auto at = message.find(words);
  if (at == std::string::npos) return false;
  const auto end = at + words.size();
  return end == message.size() || message[end] == ' ' || message[end] == ';';
}

// Whether the agent's state is about this layout; it may have repeated the last layout's. NVIDIA's
// manager has neither condition nor annotation, and does not do that.
bool is_about(const NodeLayout& now, const std::string& layout) {
  if (!now.condition.type.empty()) return names(now.condition.message, layout);
  return !now.node.annotations.contains(cluster::kMigAppliedAnnotation);
}

bool is_in_force(const NodeLayout& now, const NodeOrder& order) {
  return now.label == order.layout && now.state == "success" && !now.change &&
         now.condition.status != "False" && is_about(now, order.layout);
}

class NodeApply {
 public:
  NodeApply(const NodePorts& ports, const NodeOrder& order) : ports_(ports), order_(order) {}

  Result<void> run() {
    ASSIGN_OR_RETURN(const auto before, read_node_layout(ports_.objects, order_.node));
    TRY(check_node(before, order_));
    ports_.print(describe(before, ports_.clock.wall_now()));
    if (order_.wait) TRY(check_manager(before, order_));
    if (is_in_force(before, order_)) {
      ports_.print(fmt::format("{} has {} already\n", order_.node, order_.layout));
      return {};
    }
    warn(before);
    if (order_.dry_run) return look_ahead(before);
    if (ports_.ask && !ports_.ask()) {
      return fail(Code::kFailedPrecondition, "not confirmed; nothing was changed");
    }
    TRY(write());
    ports_.print(fmt::format("Node {}: label {}={}\n", order_.node, cluster::kMigConfigLabel,
                             order_.layout));
    if (!order_.wait) return {};
    return follow();
  }

 private:
  void warn(const NodeLayout& before) const {
    if (!before.has_manager()) {
      ports_.print(
          "no agent manages the MIG layouts of this node yet: the label is a wish until one "
          "does\n");
    }
    if (!before.label.empty() && before.label != order_.layout) {
      const auto owner = before.label_set_by.empty() ? "" : ", set by " + before.label_set_by;
      ports_.print(fmt::format("the label is {}{}: it is overwritten\n", before.label, owner));
    }
    if (!before.pool.empty()) {
      ports_.print(fmt::format(
          "the pool {} gave the node its layout; it leaves the node alone from now on\n",
          before.pool));
    }
  }

  // What may leave service. The agent later announces what comes instead.
  Result<void> look_ahead(const NodeLayout& before) const {
    if (before.change) return announce(*before.change);
    cluster::MigChange change;
    change.layout = order_.layout;
    change.before = before.offers;
    ASSIGN_OR_RETURN(
        const auto pods,
        cluster::list_of(ports_.objects, cluster::kPod,
                         {.field_selector = "spec.nodeName=" + order_.node}, cluster::parse_pod));
    for (const auto& pod : pods) {
      const auto asks = cluster::requests_of(pod);
      const bool uses = std::ranges::any_of(
          asks, [&](const auto& ask) { return before.offers.contains(ask.first); });
      if (uses && !cluster::has_ended(pod)) change.pods.push_back({pod.ns, pod.name});
    }
    ports_.print(
        "at most this leaves service; the agent says what does, and what comes, when the label is "
        "set:\n");
    return announce(change);
  }

  Result<void> announce(const cluster::MigChange& change) const {
    ASSIGN_OR_RETURN(const auto text, announcement_of(ports_.objects, change, order_.node));
    ports_.print(text);
    return {};
  }

  // Read anew: confirmation may have taken long, and others write the Node too.
  Result<void> write() {
    for (int attempt = 1;; ++attempt) {
      ASSIGN_OR_RETURN(const auto now, read_node_layout(ports_.objects, order_.node));
      TRY(check_node(now, order_));
      label_before_ = now.label;
      const auto written = write_over(now);
      const bool raced = !written && written.error().code == Code::kFailedPrecondition;
      if (!raced || attempt == kWrites) return written;
    }
  }

  // The state first, so that the last layout's never counts for this one. For the same layout it is
  // removed: this makes the agent try again.
  Result<void> write_over(const NodeLayout& before) const {
    const cluster::ObjectKey key{.name = order_.node};
    json::Value metadata = {{"uid", before.node.uid},
                            {"resourceVersion", before.node.resource_version}};
    const bool again = before.label == order_.layout;
    metadata["labels"][cluster::kMigStateLabel] =
        again ? json::Value(nullptr) : json::Value("pending");
    const json::Value state = {{"metadata", std::move(metadata)}};
    // If a change to this layout is running, it is followed.
    if (!before.change) {
      TRY(ports_.objects.patch(cluster::kNode, key,
                               {.json = state.text(), .field_manager = kLayoutFieldManager}));
    }
    json::Value own = {{"name", order_.node}, {"uid", before.node.uid}};
    own["labels"][cluster::kMigConfigLabel] = order_.layout;
    if (order_.accept_outage) {
      own["annotations"][cluster::kMigAcceptOutageAnnotation] = order_.layout;
    }
    const json::Value node = {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", std::move(own)}};
    TRY(ports_.objects.apply(
        cluster::kNode, key,
        {.json = node.text(), .field_manager = kLayoutFieldManager, .force = true}));
    return {};
  }

  Result<void> follow() {
    const auto begin = ports_.clock.now();
    while (true) {
      auto now = read_node_layout(ports_.objects, order_.node);
      if (!now && now.error().code != Code::kUnavailable && now.error().code != Code::kTimeout) {
        return std::unexpected(std::move(now).error());
      }
      if (!now) say("the API server does not answer; the change goes on: " + now.error().what);
      const auto end = now ? look(*now) : std::nullopt;
      if (end) return *end;
      const auto waited = ports_.clock.now() - begin;
      if (waited >= kTakenUp && !taken_up_) return nobody();
      if (waited >= order_.timeout) return goes_on("the change is not over", waited);
      if (!ports_.pause(kPoll)) return goes_on("interrupted", waited);
    }
  }

  // The result, if the change has ended.
  std::optional<Result<void>> look(const NodeLayout& now) {
    if (now.label != order_.layout) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("somebody else has set the label to '{}'", now.label));
    }
    if (now.change && now.change->layout == order_.layout) return progress(now);
    if (is_in_force(now, order_)) {
      // Kubelet reports new devices to the API server some seconds later.
      auto offered = now;
      if (!after_.empty()) offered.offers = after_;
      say(fmt::format("{} has {}: {}", order_.node, order_.layout, offers_text(offered)));
      return Result<void>();
    }
    if (now.state == "failed" && !now.change && is_about(now, order_.layout)) return failed(now);
    if (ports_.tick) ports_.tick("waiting for the agent");
    return std::nullopt;
  }

  std::optional<Result<void>> progress(const NodeLayout& now) {
    taken_up_ = true;
    const auto& change = *now.change;
    after_ = change.after;
    if (!announced_) {
      announced_ = true;
      auto text = announcement_of(ports_.objects, change, order_.node);
      say(text ? text->substr(0, text->size() - 1)
               : "what it means for the Pods cannot be told: " + text.error().message());
    }
    const auto phase = now.journal ? std::string(mig::to_string(now.journal->phase))
                                   : std::string(cluster::to_string(change.phase));
    const auto text = phase_text(now, ports_.clock.wall_now());
    if (said_.is_news("phase", phase)) say(text);
    if (now.journal && !now.journal->trouble.empty() &&
        said_.is_news("trouble", now.journal->trouble)) {
      say("  " + printable(now.journal->trouble));
    }
    const auto holders = holder_texts(now);
    if (change.phase == MigPhase::kDraining &&
        said_.is_news("holders", fmt::format("{}", fmt::join(holders, "\n")))) {
      for (const auto& holder : holders) say("  held by " + holder);
    }
    if (!change.waits_for.empty() && said_.is_news("waits", change.waits_for)) {
      say("  waits: " + change.waits_for);
    }
    if (ports_.tick) {
      ports_.tick(holders.empty() ? text
                                  : fmt::format("{}; Pods that hold it: {}", text, holders.size()));
    }
    return std::nullopt;
  }

  Result<void> failed(const NodeLayout& now) const {
    return fail(Code::kFailedPrecondition,
                now.condition.message.empty()
                    ? fmt::format("the layout {} is not in force", order_.layout)
                    : printable(now.condition.message),
                now.condition.message.find(cluster::kMigAcceptOutageAnnotation) != std::string::npos
                    ? "or repeat the command with --accept-outage"
                    : "docs/mig-manager.md says what to do; to try again, repeat the command");
  }

  Result<void> nobody() const {
    return fail(
        Code::kFailedPrecondition,
        fmt::format("no agent of node {} took up the label in {} s", order_.node, kTakenUp.count()),
        fmt::format("look for its Pod, and at migManager.enabled of the chart; the label "
                    "stays; to take it back: {}",
                    take_back_command(order_, label_before_)));
  }

  Result<void> goes_on(std::string_view what, std::chrono::nanoseconds waited) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited).count();
    return fail(Code::kFailedPrecondition,
                fmt::format("{} after {} s; the change goes on", what, seconds),
                fmt::format("see it: tranche layout show --node {}; take it back: {}", order_.node,
                            take_back_command(order_, label_before_)));
  }

  void say(const std::string& text) const {
    if (ports_.tick) ports_.tick("");
    ports_.print(text + "\n");
  }

  const NodePorts& ports_;
  const NodeOrder& order_;
  std::string label_before_;
  bool taken_up_ = false;
  bool announced_ = false;
  std::map<std::string, std::int64_t> after_;  // as the agent reported; empty: no change was seen
  SaidOnce said_;
};

}  // namespace

Result<NodeLayout> read_node_layout(cluster::Objects& objects, const std::string& node) {
  ASSIGN_OR_RETURN(const auto object, objects.get(cluster::kNode, {.name = node}));
  return read_node_layout(object.json);
}

Result<void> apply_on_node(const NodePorts& ports, const NodeOrder& order) {
  return NodeApply(ports, order).run();
}

}  // namespace tranche::cli
