#include "controller/waiting_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "cluster/client/list_of.h"
#include "cluster/time.h"
#include "config/programs/controller_options.h"
#include "controller/gate_explainer.h"
#include "controller/mig_explainer.h"
#include "controller/mode_explainer.h"

namespace tranche::controller {
namespace {

constexpr std::chrono::seconds kLongestWaitingCall{20};
constexpr const char* kUnbound = "spec.nodeName=,status.phase=Pending";

// Of a Pod that concerns no explainer, no text is kept.
Reduction concerned(const std::vector<Explainer>& explainers) {
  Reduction reduction{.name = "concerned:", .make = {}};
  for (const auto& one : explainers) reduction.name += ' ' + one.topic;
  reduction.make = [explainers](const std::string& text) {
    const bool concerns = std::ranges::any_of(
        explainers, [&](const Explainer& one) { return one.may_concern(text); });
    return concerns ? text : std::string();
  };
  return reduction;
}

cluster::WallTime made_at(const std::string& pod) {
  const auto root = json::parse(pod);
  const auto time = root ? root->at({"metadata", "creationTimestamp"}) : std::nullopt;
  return cluster::parse_time(time ? time->as_string().value_or("") : "")
      .value_or(cluster::WallTime());
}

// The Event has the Pod's creation time, so another controller records the same one.
cluster::StandingEvent event_of(const cluster::Object& pod, const char* reason, std::string note) {
  return {.event = {.regarding = {.api_version = "v1",
                                  .kind = "Pod",
                                  .ns = pod.key.ns,
                                  .name = pod.key.name,
                                  .uid = pod.uid},
                    .warning = true,
                    .reason = reason,
                    .action = "Schedule",
                    .note = std::move(note),
                    .time = made_at(pod.json)},
          .instances = {pod.uid}};
}

}  // namespace

WaitingPods::WaitingPods(const WorkerContext& context, Options options)
    : context_(context),
      look_(options.look),
      pods_(context.watches, {.kind = cluster::kPod,
                              .selection = {.field_selector = kUnbound},
                              .reduce = concerned(options.explainers),
                              .in_pages = true}),
      queue_(context.log, context.backoff,
             [this](const std::string& topic, const std::stop_token& stop) {
               return visit(topics_.at(topic), stop);
             }) {
  for (const auto& one : options.explainers) {
    topics_.emplace(one.topic, Topic{one, context.standing_events()});
  }
  for (const auto& one : options.explainers) queue_.ask(one.topic);
  queue_.begin();
}

std::optional<std::string> WaitingPods::trouble() const { return trouble_of({&pods_}); }

Result<WorkQueue::Next> WaitingPods::visit(Topic& topic, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto call, context_.call_while_leading(kLongestWaitingCall, stop));
  // From the API server's cache: it is read often, and a few seconds old is good enough.
  const auto list_nodes = [&] {
    return cluster::list_of(context_.objects, cluster::kNode, {.not_before = "0"},
                            cluster::parse_node, call);
  };
  auto pods = pods_.all();
  std::erase_if(pods, [&](const cluster::Object& pod) {
    return pod.json.empty() || !topic.explainer.may_concern(pod.json);
  });
  ASSIGN_OR_RETURN(auto notes, topic.explainer.explain(pods, list_nodes));
  cluster::StandingEvents::Events events;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    if (!notes[i]) continue;
    const auto key = pods[i].uid + ' ' + *notes[i];
    events.emplace(key, event_of(pods[i], topic.explainer.reason, *std::move(notes[i])));
  }
  topic.events.tell(events, call);
  return look_;
}

std::optional<WorkerPlan> plan_waiting_pods(const config::ControllerOptions& options) {
  std::vector<Explainer> explainers;
  if (options.mig_changes) explainers.push_back(mig_explainer());
  if (options.webhook) explainers.push_back(gate_explainer());
  if (options.webhook && options.webhook->models.empty()) explainers.push_back(mode_explainer());
  if (explainers.empty()) return std::nullopt;
  std::vector<std::string> purposes;
  for (const auto& one : explainers) purposes.push_back(one.purpose);
  return WorkerPlan{.name = "waiting-pods",
                    .needs_leadership = true,
                    .purposes = std::move(purposes),
                    .start = starter<WaitingPods>({.explainers = std::move(explainers)})};
}

}  // namespace tranche::controller
