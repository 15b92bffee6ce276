#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "agent/labels/label_sink.h"
#include "base/json_value.h"

namespace tranche::agent {
namespace {

// Whether a conflict's message names exactly this label's field, ".metadata.labels.<key>".
bool conflicts(std::string_view message, const std::string& label) {
  const auto field = ".metadata.labels." + label;
  for (auto at = message.find(field); at != std::string_view::npos;
       at = message.find(field, at + 1)) {
    const auto after = message.substr(at + field.size());
    if (after.empty()) return true;
    const auto next = static_cast<unsigned char>(after[0]);
    if (std::isalnum(next) == 0 && !std::string_view("-_./").contains(after[0])) return true;
  }
  return false;
}

bool holds(const cluster::Node& node, const labels::Labels& labels) {
  return std::ranges::all_of(labels, [&](const auto& label) {
    const auto found = node.labels.find(label.first);
    return found != node.labels.end() && found->second == label.second;
  });
}

}  // namespace

NodeLabels::NodeLabels(cluster::Objects& objects, const NodeView& node, const Log& log,
                       Backoff backoff)
    : objects_(objects), node_(node), log_(log), retrier_(log, backoff) {}

void NodeLabels::write(const labels::Labels& labels) {
  const auto node = node_.node();
  if (!node) return;  // write() is called again when the Node is known
  {
    const std::scoped_lock lock(mutex_);
    if (applied_ && applied_->wanted == labels && applied_->uid == node->uid &&
        holds(*node, applied_->written)) {
      retrier_.forget("labels");
      return;
    }
  }
  retrier_.request(
      {.key = "labels",
       .attempt = [this, labels, uid = node->uid](
                      const std::stop_token& stop) { return apply(labels, uid, stop); },
       .done = {},
       .aim = fmt::format("{} on {}", labels, node->uid)});
}

// The API server refuses all labels if another writer set one of them; that one is left out.
Result<void> NodeLabels::apply(const labels::Labels& labels, const std::string& uid,
                               const std::stop_token& stop) {
  auto mine = labels;
  auto result = apply_once(mine, uid, stop);
  if (!result && result.error().code == Code::kFailedPrecondition) {
    const auto what = result.error().what;
    std::vector<std::string> foreign;
    for (const auto& [name, value] : labels) {
      if (conflicts(what, name)) foreign.push_back(name);
    }
    for (const auto& name : foreign) mine.erase(name);
    if (!foreign.empty()) result = apply_once(mine, uid, stop);
    if (result && complaint_ != what) {
      log_.warn(fmt::format(
          "labels of the node that someone else set are left as they are: {} ({}); remove them "
          "there, or choose another --label-output",
          fmt::join(foreign, ", "), what));
      complaint_ = what;
    }
  }
  if (!result) return result;
  const std::scoped_lock lock(mutex_);
  if (!applied_ || applied_->written != mine) {
    log_.info(fmt::format("wrote {} labels to {}", mine.size(), place()));
  }
  applied_ = Applied{.wanted = labels, .written = std::move(mine), .uid = uid};
  return {};
}

Result<void> NodeLabels::apply_once(const labels::Labels& labels, const std::string& uid,
                                    const std::stop_token& stop) {
  // With the uid, apply fails if the Node was deleted meanwhile. Otherwise it would create a Node.
  const json::Value body = {
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata", {{"name", node_.name()}, {"uid", uid}, {"labels", labels}}}};
  auto applied =
      objects_.apply(cluster::kNode, {.ns = "", .name = node_.name()},
                     {.json = body.text(), .field_manager = kLabelFieldManager}, {.stop = stop});
  if (!applied) return std::unexpected(std::move(applied).error());
  return {};
}

}  // namespace tranche::agent
