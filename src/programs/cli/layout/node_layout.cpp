#include "cli/layout/node_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "cluster/formats/reasons.h"
#include "mig/announce.h"
#include "mig/pool_plan.h"

namespace tranche::cli {
namespace {

using cluster::value_of;

constexpr const char* kCapableLabel = "nvidia.com/mig.capable";
constexpr const char* kNvidiaManagerLabel = "nvidia.com/gpu.deploy.mig-manager";
constexpr std::string_view kResources = "nvidia.com/";

// Who owns the label, by metadata.managedFields.
std::string owner_of_label(std::string_view json) {
  const auto root = json::parse(json);
  const auto entries = root ? root->at({"metadata", "managedFields"}) : std::nullopt;
  if (!entries) return {};
  const auto field = fmt::format("f:{}", cluster::kMigConfigLabel);
  for (const auto& entry : entries->elements()) {
    if (!entry.at({"fieldsV1", "f:metadata", "f:labels", field})) continue;
    const auto manager = entry.find("manager");
    return manager ? manager->as_string().value_or("") : "";
  }
  return {};
}

std::optional<bool> capable(const cluster::Node& node) {
  const auto& label = value_of(node.labels, kCapableLabel);
  return label.empty() ? std::nullopt : std::optional(label == "true");
}

cluster::NodeCondition condition_of(const cluster::Node& node) {
  const auto found = std::ranges::find(node.conditions, cluster::condition::kTrancheMigLayout,
                                       &cluster::NodeCondition::type);
  return found == node.conditions.end() ? cluster::NodeCondition() : *found;
}

std::map<std::string, std::int64_t> offers_of(const cluster::Node& node) {
  std::map<std::string, std::int64_t> offers;
  for (const auto& [resource, amount] : node.allocatable) {
    if (!resource.starts_with(kResources)) continue;
    offers[resource] = parse_quantity(amount).value_or(0);
  }
  return offers;
}

void read_change(NodeLayout& layout) {
  const auto& annotations = layout.node.annotations;
  auto change = cluster::decode_mig_change(value_of(annotations, cluster::kMigChangeAnnotation));
  if (!change) return;
  layout.change = *std::move(change);
  if (auto journal = mig::decode_journal(layout.change->journal)) {
    layout.journal = *std::move(journal);
  }
  auto drain = cluster::decode_mig_drain(value_of(annotations, cluster::kMigDrainAnnotation));
  if (drain && drain->id == layout.change->id) layout.drain = *std::move(drain);
}

// "4m58s"
std::string time_text(std::chrono::seconds time) {
  if (time < std::chrono::minutes(1)) return fmt::format("{}s", time.count());
  return fmt::format("{}m{:02}s", time.count() / 60, time.count() % 60);
}

// "15:04:05Z". A time and not a duration, so that an unchanged state is printed once.
std::string hour_of(cluster::WallTime time) {
  return cluster::micro_time(time).substr(11, 8) + "Z";
}

std::string blocked_text(const cluster::MigDrain::Blocked& blocked,
                         const cluster::MigChange& change) {
  if (blocked.since == cluster::WallTime()) return ": " + blocked.why;
  return fmt::format(": {}; since {}, waited for until {}", blocked.why, hour_of(blocked.since),
                     hour_of(change.deadline));
}

std::string line(std::string_view head, std::string_view text) {
  return text.empty() ? "" : fmt::format("  {:<10} {}\n", head, text);
}

std::string condition_text(const cluster::NodeCondition& condition) {
  if (condition.type.empty()) return {};
  // The text is of whoever may write the Node, and goes to a terminal.
  return printable(fmt::format("{}: {}", condition.reason, condition.message));
}

std::string cordon_text(const cluster::Node& node) {
  if (!node.unschedulable) return {};
  return node.annotations.contains(cluster::kMigCordonedAnnotation)
             ? "for the change; it is taken away at the end"
             : "by somebody else; it stays";
}

}  // namespace

bool NodeLayout::has_manager() const {
  return !condition.type.empty() || !state.empty() || change ||
         value_of(node.labels, kNvidiaManagerLabel) == "true";
}

Result<NodeLayout> read_node_layout(std::string_view json) {
  NodeLayout layout;
  ASSIGN_OR_RETURN(layout.node, cluster::parse_node(json));
  const auto& node = layout.node;
  layout.label = value_of(node.labels, cluster::kMigConfigLabel);
  layout.label_set_by = owner_of_label(json);
  layout.state = value_of(node.labels, cluster::kMigStateLabel);
  layout.condition = condition_of(node);
  layout.mig_capable = capable(node);
  layout.offers = offers_of(node);
  read_change(layout);
  if (const auto mark = mig::decode_pool_mark(value_of(node.annotations, mig::kMigPoolAnnotation)))
    layout.pool = mark->pool;
  return layout;
}

std::string offers_text(const NodeLayout& layout) {
  std::vector<std::string> parts;
  for (const auto& [resource, amount] : layout.offers) {
    if (amount > 0) parts.push_back(fmt::format("{} {}", resource, amount));
  }
  return parts.empty() ? "nothing of nvidia.com" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string phase_text(const NodeLayout& layout, cluster::WallTime now) {
  if (!layout.change) return {};
  const auto phase = layout.journal ? mig::to_string(layout.journal->phase)
                                    : cluster::to_string(layout.change->phase);
  const auto& deadline = layout.change->deadline;
  if (layout.change->phase == cluster::MigPhase::kFinished) {
    const bool waits =
        layout.node.unschedulable && mig::offers_what_left(*layout.change, layout.node);
    return fmt::format("{}{}", phase,
                       waits ? "; the Node does not tell yet what it offers now" : "");
  }
  // No subtraction for a past time: a time from outside may be centuries away.
  if (deadline <= now) return fmt::format("{}, no time left", phase);
  return fmt::format("{}, {} left", phase,
                     time_text(std::chrono::ceil<std::chrono::seconds>(deadline - now)));
}

std::vector<std::string> holder_texts(const NodeLayout& layout) {
  std::vector<std::string> texts;
  if (!layout.change) return texts;
  for (const auto& pod : layout.change->pods) {
    auto text = fmt::format("{}/{}", pod.ns, pod.name);
    const auto is_it = [&](const cluster::MigDrain::Blocked& one) { return one.pod == pod; };
    if (layout.drain) {
      const auto found = std::ranges::find_if(layout.drain->blocked, is_it);
      if (found != layout.drain->blocked.end()) text += blocked_text(*found, *layout.change);
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string describe(const NodeLayout& layout, cluster::WallTime now) {
  auto text = fmt::format("Node {}\n", layout.node.name);
  text += line("layout", layout.label.empty() ? "none is asked for" : layout.label);
  text += line("state", layout.state.empty() ? "none" : layout.state);
  // While a change is open the condition is of the last one.
  if (!layout.change) text += line("agent", condition_text(layout.condition));
  if (layout.change) {
    text +=
        line("change", fmt::format("to {}: {}", layout.change->layout, phase_text(layout, now)));
  }
  std::string_view head = "held by";
  for (const auto& holder : holder_texts(layout)) {
    text += line(head, holder);
    head = "";
  }
  if (layout.change) text += line("waits", layout.change->waits_for);
  text += line("cordoned", cordon_text(layout.node));
  text += line("pool", layout.pool);
  return text + line("offers", offers_text(layout));
}

}  // namespace tranche::cli
