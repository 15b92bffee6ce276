#include "controller/mig_node.h"

#include <algorithm>
#include <utility>

#include "base/json_value.h"
#include "base/printable.h"

namespace tranche::controller {
namespace {

void read_change(MigNode& mig) {
  const auto text = mig.node.annotations.find(cluster::kMigChangeAnnotation);
  if (text == mig.node.annotations.end()) {
    mig.complaint = "is missing";
    return;
  }
  auto change = cluster::decode_mig_change(text->second);
  if (change) {
    mig.change = *std::move(change);
  } else {
    mig.complaint = change.error().message();
  }
}

void read_drain(MigNode& mig) {
  const auto text = mig.node.annotations.find(cluster::kMigDrainAnnotation);
  mig.has_drain = text != mig.node.annotations.end();
  if (!mig.has_drain) return;
  if (auto drain = cluster::decode_mig_drain(text->second)) mig.drain = *std::move(drain);
}

}  // namespace

const cluster::MigDrain* MigNode::answer() const {
  return change && drain && drain->id == change->id ? &*drain : nullptr;
}

Result<MigNode> read_mig_node(std::string_view json) {
  MigNode mig;
  ASSIGN_OR_RETURN(mig.node, cluster::parse_node(json));
  mig.open =
      cluster::value_of(mig.node.labels, cluster::kMigChangeLabel) == cluster::kMigChangeLabelValue;
  mig.marked = mig.node.annotations.contains(cluster::kMigCordonedAnnotation);
  read_change(mig);
  read_drain(mig);
  return mig;
}

bool is_old(const cluster::MigChange& change, cluster::WallTime now) {
  // No subtraction: a time from outside may be centuries away and overflow.
  return change.written_at < now - cluster::MigChange::kValid ||
         change.written_at > now + cluster::MigChange::kValid;
}

// Read from the Node itself: the copy in the agent's text is not trusted.
bool accepts_outage(const MigNode& node) {
  return cluster::value_of(node.node.annotations, cluster::kMigAcceptOutageAnnotation) ==
         node.change->layout;
}

// The text after a colon has details that change: a budget's counts.
std::optional<cluster::WallTime> blocked_since(const MigNode& node, const cluster::ObjectKey& pod,
                                               const std::string& why) {
  const auto& known = node.answer()->blocked;
  const auto cause = [](const std::string& text) { return text.substr(0, text.find(':')); };
  const auto shown = cause(printable(why, cluster::MigDrain::kLongestItem));
  const auto found = std::ranges::find_if(known, [&](const cluster::MigDrain::Blocked& one) {
    return one.pod == pod && cause(one.why) == shown && one.since != cluster::WallTime();
  });
  return found == known.end() ? std::nullopt : std::optional(found->since);
}

std::string mig_patch(const MigNode& node, const std::optional<cluster::MigDrain>& drain,
                      Cordon cordon) {
  json::Value patch = {{"metadata", {{"resourceVersion", node.node.resource_version}}}};
  auto& annotations = patch["metadata"]["annotations"];
  annotations[cluster::kMigDrainAnnotation] =
      drain ? json::Value(cluster::encode(*drain)) : json::Value(nullptr);
  if (cordon == Cordon::kKeep) return patch.text();
  const bool set = cordon == Cordon::kSet;
  annotations[cluster::kMigCordonedAnnotation] =
      set && drain ? json::Value(drain->id) : json::Value(nullptr);
  patch["spec"]["unschedulable"] = set ? json::Value(true) : json::Value(nullptr);
  return patch.text();
}

}  // namespace tranche::controller
