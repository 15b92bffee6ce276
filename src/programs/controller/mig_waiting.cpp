#include "controller/mig_waiting.h"

#include <utility>

#include "cluster/list_of.h"
#include "cluster/reasons.h"
#include "cluster/snapshot/parts.h"
#include "cluster/time.h"
#include "mig/waiting.h"

namespace tranche::controller {
namespace {

constexpr std::chrono::seconds kLongestWaitingCall{20};
// The one name in the queue.
constexpr const char* kWaiting = "Pods that wait for GPUs";
constexpr const char* kUnbound = "spec.nodeName=,status.phase=Pending";

// A batch system may have thousands of Pods waiting that ask for no GPU.
std::string keep_those_of_gpus(const std::string& pod) {
  return pod.find("nvidia.com/") == std::string::npos ? std::string() : pod;
}

cluster::StandingEvent event_of(const cluster::SnapshotPod& pod, std::string note) {
  const auto& one = pod.pod;
  return {.event = {.regarding = {.api_version = "v1",
                                  .kind = "Pod",
                                  .ns = one.ns,
                                  .name = one.name,
                                  .uid = one.uid},
                    .warning = true,
                    .reason = cluster::reason::kMigLayoutLacks,
                    .action = "Schedule",
                    .note = std::move(note),
                    .time = cluster::parse_time(pod.created).value_or(cluster::WallTime())},
          .instances = {one.uid}};
}

}  // namespace

MigWaiting::MigWaiting(cluster::Objects& objects, Options options, const Clock& clock,
                       const Log& log)
    : objects_(objects),
      options_(std::move(options)),
      events_(objects, "tranche.dev/controller", options_.instance, clock, log),
      pods_(
          objects,
          {.kind = cluster::kPod,
           .selection = {.field_selector = kUnbound},
           .reduce = keep_those_of_gpus,
           .backoff = options_.watch_backoff},
          [](const cluster::CacheChange&) {}, log),
      queue_(log, options_.backoff,
             [this](const std::string&, const std::stop_token& stop) { return visit(stop); }) {
  queue_.ask(kWaiting);
}

std::optional<std::string> MigWaiting::trouble() const {
  if (const auto failure = pods_.failure()) return failure->message();
  if (!pods_.synced()) return "the API server has not answered yet";
  return std::nullopt;
}

Result<std::vector<cluster::SnapshotPod>> MigWaiting::waiting() const {
  std::vector<cluster::SnapshotPod> found;
  for (const auto& object : pods_.all()) {
    if (object.json.empty()) continue;
    ASSIGN_OR_RETURN(auto pod, cluster::parse_snapshot_pod(object.json));
    if (mig::waits_for_gpus(pod)) found.push_back(std::move(pod));
  }
  return found;
}

Result<WorkQueue::Next> MigWaiting::visit(const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto call,
                   call_while_leading(kLongestWaitingCall, options_.time_left, stop));
  ASSIGN_OR_RETURN(const auto pods, waiting());
  cluster::StandingEvents::Events events;
  if (!pods.empty()) {
    // From the API server's own cache: it is read often, and seconds old is good enough.
    ASSIGN_OR_RETURN(
        const auto nodes,
        cluster::list_of(objects_, cluster::kNode, {.not_before = "0"}, cluster::parse_node, call));
    for (const auto& pod : pods) {
      auto note = mig::explain_waiting(pod, nodes);
      if (!note) continue;
      const auto key = pod.pod.uid + ' ' + *note;
      events.emplace(key, event_of(pod, *std::move(note)));
    }
  }
  events_.tell(events, call);
  return options_.look;
}

WorkerPlan plan_mig_waiting(MigWaiting::Options options) {
  return {.name = "mig-waiting",
          .needs_leadership = true,
          .purpose = "telling Pods that wait for GPUs where MIG layouts lack what they ask for",
          .start = starter<MigWaiting>(std::move(options))};
}

}  // namespace tranche::controller
