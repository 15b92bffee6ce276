#include "agent/node/node_reporter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_value.h"
#include "base/utf8.h"
#include "cluster/time.h"

namespace tranche::agent {
namespace {

// Bytes; etcd and `kubectl describe` handle texts of this length well.
constexpr std::size_t kLongestMessage = 1024;

cluster::NodeCondition condition_for(const ConditionReport& report) {
  const auto* const bad = report.unknown ? "Unknown" : "False";
  return {.type = report.type,
          .status = report.good ? "True" : bad,
          .reason = report.reason,
          .message = std::string(utf8_prefix(report.message, kLongestMessage))};
}

const cluster::NodeCondition* condition_of(const cluster::Node& node, const std::string& type) {
  const auto found = std::ranges::find(node.conditions, type, &cluster::NodeCondition::type);
  return found == node.conditions.end() ? nullptr : &*found;
}

bool says(const cluster::Node& node, const cluster::NodeCondition& wanted) {
  const auto* found = condition_of(node, wanted.type);
  return found != nullptr && *found == wanted;
}

std::string patch_text(const cluster::NodeCondition& condition, bool transition,
                       std::chrono::system_clock::time_point now) {
  const auto time = cluster::whole_second_time(now);
  json::Value entry = {{"type", condition.type},
                       {"status", condition.status},
                       {"reason", condition.reason},
                       {"message", condition.message},
                       {"lastHeartbeatTime", time}};
  if (transition) entry["lastTransitionTime"] = time;
  return json::Value({{"status", {{"conditions", json::Value::array({entry})}}}}).text();
}

}  // namespace

NodeReporter::NodeReporter(cluster::Objects& objects, const NodeView& node, const Clock& clock,
                           const Log& log, Backoff backoff)
    : objects_(objects),
      node_(node),
      clock_(clock),
      events_(objects, {.reporter = "tranche.dev/agent", .instance = node.name()}, clock, log),
      retrier_(log, backoff) {}

void NodeReporter::report(const ConditionReport& report) {
  const auto wanted = condition_for(report);
  const auto node = node_.node();
  if (report.good && !report.written_while_good &&
      (!node || condition_of(*node, wanted.type) == nullptr)) {
    return;
  }
  if (node && says(*node, wanted)) {
    retrier_.forget(wanted.type);
    return;
  }
  retrier_.request(
      {.key = wanted.type,
       .attempt = [this, wanted, action = report.as_event ? report.action : std::string()](
                      const std::stop_token& stop) { return write(wanted, action, stop); },
       .done = {},
       .aim = fmt::format("{} {} on {}", wanted.status, wanted.message, node ? node->uid : "")});
}

Result<void> NodeReporter::write(const cluster::NodeCondition& wanted, const std::string& action,
                                 const std::stop_token& stop) {
  const cluster::ObjectKey key = {.ns = "", .name = node_.name()};
  ASSIGN_OR_RETURN(const auto object, objects_.get(cluster::kNode, key, {.stop = stop}));
  ASSIGN_OR_RETURN(const auto node, cluster::parse_node(object.json));
  if (says(node, wanted)) return {};
  const auto* before = condition_of(node, wanted.type);
  const bool transition = before == nullptr || before->status != wanted.status;
  const cluster::Patch patch = {.type = cluster::PatchType::kStrategic,
                                .json = patch_text(wanted, transition, clock_.wall_now()),
                                .subresource = "status"};
  auto patched = objects_.patch(cluster::kNode, key, patch, {.stop = stop});
  if (!patched) return std::unexpected(std::move(patched).error());
  if (action.empty()) return {};
  record({.warning = wanted.status != "True",
          .reason = wanted.reason,
          .action = action,
          .note = wanted.message},
         stop);
  return {};
}

void NodeReporter::withdraw(const std::string& type) {
  retrier_.request(
      {.key = type,
       .attempt = [this, type](const std::stop_token& stop) { return remove(type, stop); },
       .done = {},
       .aim = "no " + type});
}

Result<void> NodeReporter::remove(const std::string& type, const std::stop_token& stop) {
  const cluster::ObjectKey key = {.ns = "", .name = node_.name()};
  ASSIGN_OR_RETURN(const auto object, objects_.get(cluster::kNode, key, {.stop = stop}));
  ASSIGN_OR_RETURN(const auto node, cluster::parse_node(object.json));
  if (condition_of(node, type) == nullptr) return {};
  const json::Value entry = {{"$patch", "delete"}, {"type", type}};
  const json::Value patch = {{"status", {{"conditions", json::Value::array({entry})}}}};
  TRY(objects_.patch(
      cluster::kNode, key,
      {.type = cluster::PatchType::kStrategic, .json = patch.text(), .subresource = "status"},
      {.stop = stop}));
  return {};
}

void NodeReporter::tell(const NodeNotice& notice) {
  retrier_.request({.key = fmt::format("{} {}", notice.reason, notice.note),
                    .attempt = [this, notice](const std::stop_token& stop) -> Result<void> {
                      record(notice, stop);
                      return {};
                    },
                    .done = {},
                    .aim = notice.note});
}

void NodeReporter::record(const NodeNotice& notice, const std::stop_token& stop) {
  // As in kubelet's own Events the uid is the node's name, so `kubectl describe` finds them.
  events_.record({.regarding = {.api_version = "v1",
                                .kind = "Node",
                                .name = node_.name(),
                                .uid = node_.name()},
                  .warning = notice.warning,
                  .reason = notice.reason,
                  .action = notice.action,
                  .note = notice.note},
                 {.stop = stop});
}

}  // namespace tranche::agent
