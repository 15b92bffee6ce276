#pragma once
// An operator's order of limits is an annotation of the Node, and the agent's answer is another
// annotation (cluster/formats/limit_settings.h). `tranche limit` reads both and writes the order.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/formats/limit_settings.h"
#include "cluster/node.h"
#include "cluster/objects.h"

namespace tranche::cli {

using LimitSettings = std::vector<cluster::LimitSetting>;

Result<cluster::Node> find_node(cluster::Objects& objects, const std::string& name,
                                const cluster::Call& call);

// kFailedPrecondition: the annotation cannot be read; the hint says how to remove it.
Result<LimitSettings> settings_of(const cluster::Node& node);

// The agent's answers to settings of operators (or `by` whom); empty if unreadable.
std::vector<cluster::LimitOutcome> outcomes_of(
    const cluster::Node& node, cluster::LimitOutcome::By by = cluster::LimitOutcome::By::kOperator);
// The agent's answer to exactly this setting; nullopt: not answered yet.
std::optional<cluster::LimitOutcome> answer_to(const cluster::LimitSetting& setting,
                                               const cluster::Node& node);

// Like answer_to(), with state "waiting" instead of nullopt.
cluster::LimitOutcome answer_or_none(const cluster::LimitSetting& setting,
                                     const cluster::Node& node);

// Removes the settings of Pods that have left the node or have ended for good, and returns them:
// they can have no effect any more.
Result<LimitSettings> take_gone(LimitSettings& settings, const std::string& node,
                                cluster::Objects& objects, const cluster::Call& call);

// Applies `change` (null: none) to the node's order and writes it back. If another program wrote in
// between, it reads and tries again. It also removes the settings of Pods that are gone, and
// returns them. kFailedPrecondition: the order is too large for an annotation, or other programs
// keep writing it.
using LimitChange = std::function<void(LimitSettings& settings, const cluster::Node& node)>;
Result<LimitSettings> write_order(cluster::Objects& objects, const std::string& node,
                                  const cluster::Call& call, const LimitChange& change);

}  // namespace tranche::cli
