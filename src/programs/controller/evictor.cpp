#include "controller/evictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/formats/reasons.h"
#include "cluster/node.h"
#include "config/programs/controller_options.h"
#include "controller/pod_eviction.h"

namespace tranche::controller {
namespace {

using cluster::EvictionRequest;
using cluster::EvictionRequests;

// Limits how long a hanging API server delays the other Pods.
constexpr std::chrono::seconds kLongestEviction{10};

// The queue's name for a requested Pod. A Node's name has no space.
std::string name_of(const std::string& node, const std::string& uid) { return node + ' ' + uid; }

std::string why(const EvictionRequest& request) {
  const auto who = request.container.empty()
                       ? std::string("a process of it")
                       : fmt::format("a process of container {}", request.container);
  const auto what = request.reason == EvictionRequest::Reason::kNoGrant
                        ? "which the Pod was not granted"
                        : "and is not held by the limiter";
  return fmt::format("{} uses {}, {} (tranche.limits.unregistered: evict)", who, request.device,
                     what);
}

}  // namespace

Evictor::Evictor(const WorkerContext& context, Options options)
    : context_(context),
      options_(std::move(options)),
      events_(context.event_recorder()),
      queue_(
          context.log, context.backoff,
          [this](const std::string& name, const std::stop_token& stop) {
            return visit(name, stop);
          },
          WorkQueue::Complaint::kWithWaits),
      nodes_(context.watches,
             {.kind = cluster::kNode,
              .selection = {.label_selector = fmt::format("{}={}", cluster::kEvictRequestsLabel,
                                                          cluster::kEvictRequestsLabelValue)}},
             [this](const cluster::CacheChange& change) { take(change); }) {
  queue_.begin();
}

std::optional<std::string> Evictor::trouble() const { return trouble_of({&nodes_}); }

void Evictor::take(const cluster::CacheChange& change) {
  if (change.type == cluster::ChangeType::kSynced) return;
  const auto& name = change.object.key.name;
  const std::scoped_lock lock(mutex_);
  if (change.type == cluster::ChangeType::kDeleted) {
    const auto gone = asked_.extract(name);
    if (!gone.empty()) drop(name, gone.mapped());
    return;
  }
  const auto node = cluster::parse_node(change.object.json);
  if (!node) return;
  const auto text = node->annotations.find(cluster::kEvictRequestsAnnotation);
  auto requests = text == node->annotations.end() ? Result<EvictionRequests>(EvictionRequests())
                                                  : cluster::decode_eviction_requests(text->second);
  if (requests) {
    asked_[name].complaint.clear();
    return take_requests(name, *requests);
  }
  auto message = requests.error().message();
  if (std::exchange(asked_[name].complaint, message) != message) {
    context_.log.warn(fmt::format("Node {}: annotation {}: {}; nothing is evicted for it", name,
                                  cluster::kEvictRequestsAnnotation, message));
  }
  take_requests(name, {});
}

// Called under mutex_.
void Evictor::take_requests(const std::string& node, const EvictionRequests& requests) {
  auto& asked = asked_[node];
  const Asked before =
      std::exchange(asked, Asked{.written_at = requests.written_at, .complaint = asked.complaint});
  for (const auto& request : requests.pods) {
    if (before.settled.contains(request.uid)) {
      asked.settled.insert(request.uid);
    } else {
      asked.open.emplace(request.uid, request);
    }
  }
  Asked gone = before;
  std::erase_if(gone.open, [&](const auto& one) { return asked.open.contains(one.first); });
  drop(node, gone);
  for (const auto& [uid, request] : asked.open) queue_.ask(name_of(node, uid));
}

void Evictor::drop(const std::string& node, const Asked& asked) {
  for (const auto& [uid, request] : asked.open) queue_.forget(name_of(node, uid));
}

std::optional<EvictionRequest> Evictor::request(const std::string& node, const std::string& uid) {
  const std::scoped_lock lock(mutex_);
  const auto asked = asked_.find(node);
  if (asked == asked_.end()) return std::nullopt;
  const auto age = context_.clock.wall_now() - asked->second.written_at;
  if (age > EvictionRequests::kValid || age < -EvictionRequests::kValid) return std::nullopt;
  const auto found = asked->second.open.find(uid);
  return found == asked->second.open.end() ? std::nullopt : std::optional(found->second);
}

void Evictor::settle(const std::string& node, const std::string& uid) {
  const std::scoped_lock lock(mutex_);
  const auto asked = asked_.find(node);
  if (asked == asked_.end()) return;
  if (asked->second.open.erase(uid) > 0) asked->second.settled.insert(uid);
}

Result<WorkQueue::Next> Evictor::visit(const std::string& name, const std::stop_token& stop) {
  const auto space = name.find(' ');
  TRY(work(name.substr(0, space), name.substr(space + 1), stop));
  return std::nullopt;
}

// A request that is too old is dropped; a running agent renews its requests.
Result<void> Evictor::work(const std::string& node, const std::string& uid,
                           const std::stop_token& stop) {
  const auto request = this->request(node, uid);
  if (!request) return {};
  ASSIGN_OR_RETURN(const auto within, call(stop));
  const auto object =
      context_.objects.get(cluster::kPod, {.ns = request->ns, .name = request->name}, within);
  if (!object && object.error().code != Code::kNotFound) return std::unexpected(object.error());
  if (object && object->uid == uid) {
    ASSIGN_OR_RETURN(const auto pod, cluster::parse_pod(object->json));
    TRY(evict(node, *request, pod, within));
  }
  settle(node, uid);
  blocked_told_.erase(uid);
  return {};
}

Result<void> Evictor::evict(const std::string& node, const EvictionRequest& request,
                            const cluster::Pod& pod, const cluster::Call& call) {
  const auto name = fmt::format("{}/{}", pod.ns, pod.name);
  if (pod.node != node) {
    context_.log.warn(
        fmt::format("Node {} asks for the eviction of Pod {}, which is bound to {}: refused", node,
                    name, pod.node.empty() ? "none" : pod.node));
    return {};
  }
  if (pod.deleting || cluster::has_ended(pod)) return {};
  if (const auto objection = objection_to_eviction(pod, options_.ns); !objection.empty()) {
    context_.log.warn(fmt::format("Pod {} is not evicted: {}; {}", name, objection, why(request)));
    tell_of_eviction(events_, pod, cluster::reason::kLimitEvictionRefused,
                     fmt::format("{}; it is not evicted: {}", why(request), objection), call);
    return {};
  }
  const auto done = evict_once(context_.objects, pod, call);
  if (!done) {
    if (done.error().code == Code::kUnavailable && blocked_told_.insert(pod.uid).second) {
      tell_of_eviction(events_, pod, cluster::reason::kLimitEvictionBlocked,
                       fmt::format("{}; not evicted yet: {}", why(request), done.error().message()),
                       call);
    }
    return std::unexpected(done.error());
  }
  if (*done == Eviction::kGone) return {};
  context_.log.info(fmt::format("evicted Pod {} from {}: {}", name, node, why(request)));
  tell_of_eviction(events_, pod, cluster::reason::kLimitEviction,
                   fmt::format("evicted: {}", why(request)), call);
  return {};
}

Result<cluster::Call> Evictor::call(const std::stop_token& stop) const {
  return context_.call_while_leading(kLongestEviction, stop);
}

std::optional<WorkerPlan> plan_evictions(const config::ControllerOptions& options) {
  if (!options.evict_unregistered) return std::nullopt;
  return WorkerPlan{
      .name = "evictions",
      .needs_leadership = true,
      .purposes =
          {"evicting Pods that use limited devices past the limiter, where agents ask for it"},
      .start = starter<Evictor>({.ns = options.ns})};
}

}  // namespace tranche::controller
