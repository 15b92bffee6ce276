#include "controller/mig_drainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/printable.h"
#include "cluster/formats/reasons.h"
#include "config/programs/controller_options.h"
#include "controller/pod_eviction.h"
#include "mig/announcer.h"

namespace tranche::controller {
namespace {

using cluster::MigChange;
using cluster::MigDrain;
using cluster::MigPhase;

// Limits how long a hanging API server delays other nodes.
constexpr std::chrono::seconds kLongestMigCall{20};
// For listing the Nodes and the cluster's Pods when a change is announced. In a large cluster this
// takes longer than one lease, but reading needs no leadership. Less than an agent waits for its
// answer.
constexpr std::chrono::seconds kLongestLook{25};
// The queue's name for the search for Nodes that an earlier controller left behind. No Node has
// this name.
constexpr const char* kLeftovers = "MIG changes that were left behind";

// For a Pod that the visit had no time left for.
constexpr std::string_view kLater = "its eviction comes next: the API server answers slowly";
constexpr std::chrono::milliseconds kReadAgain{50};
constexpr auto kRefreshTurn =
    std::chrono::duration_cast<std::chrono::milliseconds>(MigChange::kRefresh);

std::string refusal(const mig::Announcement& announcement) {
  return fmt::format(
      "no other node that takes Pods offers {}; Pods that ask for it would wait. To accept that: "
      "kubectl annotate node {} {}={} --overwrite",
      printable(fmt::format("{}", fmt::join(announcement.outages, ", ")), 500), announcement.node,
      cluster::kMigAcceptOutageAnnotation, announcement.layout);
}

// The requested Pods that the API server has on this node. Those already blocked come last, so that
// a hanging eviction delays others little.
Result<std::vector<cluster::Pod>> asked_for(const MigNode& node, const cluster::ObjectList& list) {
  const std::set<cluster::ObjectKey> asked(node.change->pods.begin(), node.change->pods.end());
  std::vector<cluster::Pod> pods;
  for (const auto& item : list.items) {
    if (!asked.contains({item.key.ns, item.key.name})) continue;
    ASSIGN_OR_RETURN(auto pod, cluster::parse_pod(item.json));
    pods.push_back(std::move(pod));
  }
  std::ranges::stable_partition(pods, [&](const cluster::Pod& pod) {
    return std::ranges::none_of(node.answer()->blocked, [&](const MigDrain::Blocked& one) {
      return one.pod == cluster::ObjectKey{pod.ns, pod.name} && one.why != kLater;
    });
  });
  return pods;
}

// Agents wait for the answer, so retries stay frequent.
Backoff shortened(Backoff backoff) {
  backoff.longest = std::min<Backoff::Wait>(backoff.longest, std::chrono::seconds(10));
  return backoff;
}

// "15:04:05Z", without the day
std::string hour_of(cluster::WallTime time) {
  return cluster::micro_time(time).substr(11, 8) + "Z";
}

}  // namespace

MigDrainer::MigDrainer(const WorkerContext& context, Options options)
    : context_(context),
      options_(std::move(options)),
      events_(context.event_recorder()),
      queue_(context.log, shortened(context.backoff),
             [this](const std::string& name, const std::stop_token& stop) {
               return visit(name, stop);
             }),
      nodes_(context.watches,
             {.kind = cluster::kNode,
              .selection = {.label_selector = fmt::format("{}={}", cluster::kMigChangeLabel,
                                                          cluster::kMigChangeLabelValue)}},
             [this](const cluster::CacheChange& change) {
               if (change.type != cluster::ChangeType::kSynced) queue_.ask(change.object.key.name);
             }) {
  queue_.ask(kLeftovers);
  queue_.begin();
}

std::optional<std::string> MigDrainer::trouble() const { return trouble_of({&nodes_}); }

Result<WorkQueue::Next> MigDrainer::visit(const std::string& name, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto call, context_.call_while_leading(kLongestMigCall, stop));
  if (name == kLeftovers) return look_for_leftovers(call);
  const auto object = context_.objects.get(cluster::kNode, {.name = name}, call);
  if (!object && object.error().code == Code::kNotFound) {
    forget(name);
    return std::nullopt;
  }
  if (!object) return std::unexpected(object.error());
  ASSIGN_OR_RETURN(const auto node, read_mig_node(object->json));
  auto next = node.open ? follow(node, call) : release(node, call);
  // The Node was written in between.
  if (!next && next.error().code == Code::kFailedPrecondition) return kReadAgain;
  return next;
}

// Nodes whose label was removed while no controller ran are in no watch.
Result<WorkQueue::Next> MigDrainer::look_for_leftovers(const cluster::Call& call) {
  ASSIGN_OR_RETURN(const auto list, context_.objects.list(cluster::kNode, {}, call));
  for (const auto& item : list.items) {
    const auto node = read_mig_node(item.json);
    if (node && !node->open && (node->marked || node->has_drain)) queue_.ask(node->node.name);
  }
  return std::nullopt;
}

Result<WorkQueue::Next> MigDrainer::follow(const MigNode& node, const cluster::Call& call) {
  const auto& name = node.node.name;
  if (said_.is_news("text of " + name, node.complaint)) {
    context_.log.warn(fmt::format("Node {}: annotation {}: {}; nothing is done for it", name,
                                  cluster::kMigChangeAnnotation, node.complaint));
  }
  if (!node.change) return std::nullopt;
  // A finished change stays finished, whether its agent runs or not.
  const bool is_silent =
      node.change->phase != MigPhase::kFinished && is_old(*node.change, context_.clock.wall_now());
  const bool is_ahead = is_silent && node.change->written_at > context_.clock.wall_now();
  if (said_.is_news("clock of " + name, is_ahead ? "ahead" : "")) {
    context_.log.warn(fmt::format(
        "Node {}: annotation {}: it is of {}, which has not come: the clocks of the "
        "node and of the controller differ; nothing is done for it until then",
        name, cluster::kMigChangeAnnotation, cluster::micro_time(node.change->written_at)));
  }
  if (is_silent && node.marked) tell_silence(node, call);
  if (is_silent) return std::nullopt;
  switch (node.change->phase) {
    case MigPhase::kAsking:
      return answer(node, call);
    case MigPhase::kDraining:
      return drain(node, call);
    case MigPhase::kChanging:
      return keep(node, call);
    case MigPhase::kFinished:
      break;
  }
  return finish(node, call);
}

// The Event has the time of the agent's last text, so every leader records the same Event.
void MigDrainer::tell_silence(const MigNode& node, const cluster::Call& call) {
  const auto last = cluster::micro_time(node.change->written_at);
  if (!said_.is_news("silence of " + node.node.name, last)) return;
  tell(node, true, cluster::reason::kMigAgentSilent,
       fmt::format("the agent has not said anything of the change to layout {} since {}; the Node "
                   "stays cordoned until it does, or until the label {} is removed",
                   node.change->layout, last, cluster::kMigChangeLabel),
       call, node.change->written_at);
}

Result<MigDrainer::Decision> MigDrainer::decide(const MigNode& node, const cluster::Call& call) {
  ASSIGN_OR_RETURN(const auto announcement,
                   mig::announce_now(context_.objects, *node.change, node.node.name, call));
  MigDrain drain{.id = node.change->id,
                 .outages = announcement.outages,
                 .pending = mig::find_no_place(announcement),
                 .cordoned = node.node.unschedulable};
  if (!announcement.outages.empty() && !accepts_outage(node)) {
    drain.answer = MigDrain::Answer::kRefused;
    drain.reason = refusal(announcement);
  }
  const bool refused = drain.answer == MigDrain::Answer::kRefused;
  auto note = refused ? fmt::format("layout {} is refused: {}", announcement.layout, drain.reason)
                      : mig::summary(announcement);
  return Decision{std::move(drain), std::move(note)};
}

// Accepted stays accepted: the agent may have begun.
Result<WorkQueue::Next> MigDrainer::answer(const MigNode& node, const cluster::Call& call) {
  const auto* const known = node.answer();
  if (known != nullptr && known->answer == MigDrain::Answer::kAccepted) {
    TRY(write(node, *known, Cordon::kKeep, call));
    return kRefreshTurn;
  }
  ASSIGN_OR_RETURN(const auto decision,
                   decide(node, {.deadline = kLongestLook, .stop = call.stop}));
  // This process may have lost leadership since.
  ASSIGN_OR_RETURN(const auto own, context_.call_while_leading(kLongestMigCall, call.stop));
  // The Event comes before the write, so that it is not lost if the controller ends here. It has
  // the time of the agent's text, so a second answer to the same text records the same Event.
  const auto given = decision.drain.answer;
  if (known == nullptr || known->answer != given) {
    const bool refused = given == MigDrain::Answer::kRefused;
    tell(node, refused,
         refused ? cluster::reason::kMigChangeRefused : cluster::reason::kMigChangeAnnounced,
         decision.note, own, node.change->written_at);
  }
  TRY(write(node, decision.drain, Cordon::kKeep, own));
  return kRefreshTurn;
}

Result<WorkQueue::Next> MigDrainer::drain(const MigNode& node, const cluster::Call& call) {
  const auto* const known = node.answer();
  if (known == nullptr || known->answer == MigDrain::Answer::kRefused) return answer(node, call);
  if (!node.node.unschedulable || !known->cordoned) {
    auto cordoned = *known;
    cordoned.cordoned = true;
    const auto cordon = node.node.unschedulable ? Cordon::kKeep : Cordon::kSet;
    TRY(write(node, std::move(cordoned), cordon, call));
    if (cordon == Cordon::kSet) context_.log.info(fmt::format("cordoned Node {}", node.node.name));
    return kReadAgain;
  }
  auto next = *known;
  ASSIGN_OR_RETURN(next.blocked, evict(node, call));
  TRY(write(node, std::move(next), Cordon::kKeep, call));
  return options_.look;
}

Result<WorkQueue::Next> MigDrainer::keep(const MigNode& node, const cluster::Call& call) {
  const auto* const known = node.answer();
  auto next = known == nullptr ? MigDrain{.id = node.change->id} : *known;
  next.cordoned = true;
  next.blocked.clear();
  TRY(write(node, std::move(next), node.node.unschedulable ? Cordon::kKeep : Cordon::kSet, call));
  return kRefreshTurn;
}

bool MigDrainer::is_early(const MigNode& node) {
  if (!node.marked || !node.node.unschedulable || !mig::offers_what_left(*node.change, node.node))
    return false;
  auto& finished = finished_[node.node.name];
  if (finished.change != node.change->id) finished = {node.change->id, context_.clock.now()};
  return context_.clock.now() - finished.seen < options_.telling;
}

Result<WorkQueue::Next> MigDrainer::finish(const MigNode& node, const cluster::Call& call) {
  if (is_early(node)) {
    TRY(keep(node, call));
    return options_.look;
  }
  const auto* const known = node.answer();
  auto next = known == nullptr ? MigDrain{.id = node.change->id} : *known;
  next.cordoned = node.node.unschedulable && !node.marked;
  next.uncordoned = true;
  next.blocked.clear();
  TRY(write(node, std::move(next), node.marked ? Cordon::kTakeAway : Cordon::kKeep, call));
  if (node.marked) {
    tell(node, false, cluster::reason::kMigUncordoned,
         fmt::format("the change to layout {} has {}; the Node takes Pods again",
                     node.change->layout,
                     node.change->failed ? "ended with what was there before" : "been made"),
         call);
  }
  return kRefreshTurn;
}

void MigDrainer::forget(const std::string& node) {
  said_.forget("text of " + node);
  said_.forget("silence of " + node);
  said_.forget("clock of " + node);
  told_.erase(node);
  finished_.erase(node);
}

Result<WorkQueue::Next> MigDrainer::release(const MigNode& node, const cluster::Call& call) {
  forget(node.node.name);
  if (!node.marked && !node.has_drain) return std::nullopt;
  const auto cordon = node.marked ? Cordon::kTakeAway : Cordon::kKeep;
  TRY(context_.objects.patch(cluster::kNode, {.name = node.node.name},
                             {.json = mig_patch(node, std::nullopt, cordon)}, call));
  if (node.marked) {
    tell(node, true, cluster::reason::kMigCordonDropped,
         fmt::format("the label {} has gone before the change had finished; the Node takes Pods "
                     "again",
                     cluster::kMigChangeLabel),
         call);
  }
  return std::nullopt;
}

// Only Pods that the API server has on this node: an agent may speak for its own node only.
Result<std::vector<MigDrain::Blocked>> MigDrainer::evict(const MigNode& node,
                                                         const cluster::Call& call) {
  const auto list = context_.objects.list(
      cluster::kPod, {.field_selector = "spec.nodeName=" + node.node.name}, call);
  if (!list) return std::unexpected(list.error());
  ASSIGN_OR_RETURN(const auto pods, asked_for(node, *list));
  const auto until = context_.clock.now() + kLongestMigCall;
  std::vector<MigDrain::Blocked> blocked;
  for (const auto& pod : pods) {
    // Leadership may have been lost since the last Pod, and other nodes wait.
    ASSIGN_OR_RETURN(const auto own, context_.call_while_leading(kLongestMigCall, call.stop));
    auto why = context_.clock.now() < until ? evict_one(node, pod, own) : std::string(kLater);
    if (why.empty()) continue;
    const cluster::ObjectKey holder{pod.ns, pod.name};
    const auto since = blocked_since(node, holder, why).value_or(context_.clock.wall_now());
    blocked.push_back({holder, std::move(why), since});
  }
  return blocked;
}

std::string MigDrainer::evict_one(const MigNode& node, const cluster::Pod& pod,
                                  const cluster::Call& call) {
  if (cluster::has_ended(pod)) return {};
  if (pod.deleting) return "it is ending";
  if (const auto objection = objection_to_eviction(pod, options_.ns); !objection.empty()) {
    return not_evicted(node, pod, cluster::reason::kMigEvictionRefused, objection, call);
  }
  if (context_.clock.wall_now() > node.change->deadline) return "the deadline has passed";
  const auto done = evict_once(context_.objects, pod, call);
  if (!done) {
    return not_evicted(node, pod, cluster::reason::kMigEvictionBlocked, done.error().what, call,
                       fmt::format("; it is tried again until {}", hour_of(node.change->deadline)));
  }
  if (*done == Eviction::kGone) return {};
  context_.log.info(fmt::format("evicted Pod {}/{} from {} for MIG layout {}", pod.ns, pod.name,
                                pod.node, node.change->layout));
  tell_of_eviction(
      events_, pod, cluster::reason::kMigEviction,
      fmt::format("evicted: the GPU that it holds gets MIG layout {}", node.change->layout), call);
  return "it is ending";
}

// Reported once for each change: the Node's text records it for the next controller.
std::string MigDrainer::not_evicted(const MigNode& node, const cluster::Pod& pod,
                                    const char* reason, const std::string& why,
                                    const cluster::Call& call, const std::string& again) {
  const cluster::ObjectKey holder{pod.ns, pod.name};
  const bool was_told = std::ranges::any_of(node.answer()->blocked,
                                            [&](const auto& one) { return one.pod == holder; });
  if (told_[node.node.name].insert(node.change->id + ' ' + pod.uid).second && !was_told) {
    context_.log.warn(fmt::format("Pod {}/{} on {} is not evicted for MIG layout {}: {}", pod.ns,
                                  pod.name, pod.node, node.change->layout, why + again));
    tell_of_eviction(
        events_, pod, reason,
        fmt::format("the GPU that it holds is to get MIG layout {}; it is not evicted: {}{}",
                    node.change->layout, why, again),
        call);
  }
  return why;
}

Result<void> MigDrainer::write(const MigNode& node, MigDrain drain, Cordon cordon,
                               const cluster::Call& call) {
  const auto now = context_.clock.wall_now();
  const auto* const known = node.answer();
  if (known != nullptr && cordon == Cordon::kKeep) {
    drain.written_at = known->written_at;
    const bool is_fresh = known->written_at <= now && known->written_at > now - MigChange::kRefresh;
    if (is_fresh && cluster::encode(drain) == cluster::encode(*known)) return {};
  }
  drain.written_at = now;
  TRY(context_.objects.patch(cluster::kNode, {.name = node.node.name},
                             {.json = mig_patch(node, drain, cordon)}, call));
  return {};
}

void MigDrainer::tell(const MigNode& node, bool warning, const char* reason, std::string note,
                      const cluster::Call& call, cluster::WallTime time) {
  context_.log.write(warning ? LogLevel::kWarn : LogLevel::kInfo,
                     fmt::format("Node {}: {}", node.node.name, note));
  events_.record({.regarding = {.api_version = "v1",
                                .kind = "Node",
                                .name = node.node.name,
                                .uid = node.node.name},
                  .warning = warning,
                  .reason = reason,
                  .action = "ChangeMigLayout",
                  .note = std::move(note),
                  .time = time},
                 call);
}

std::optional<WorkerPlan> plan_mig_changes(const config::ControllerOptions& options) {
  if (!options.mig_changes) return std::nullopt;
  return WorkerPlan{.name = "mig-changes",
                    .needs_leadership = true,
                    .purposes = {"draining nodes whose agents change the MIG layout"},
                    .start = starter<MigDrainer>({.ns = options.ns})};
}

}  // namespace tranche::controller
