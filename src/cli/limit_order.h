#pragma once
// The order in a Node's annotation (cluster/limit_settings.h) as the operator's command reads and
// writes it, and the agent's answer beside it.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/limit_settings.h"
#include "cluster/node.h"
#include "cluster/objects.h"

namespace tranche::cli {

using LimitSettings = std::vector<cluster::LimitSetting>;

Result<cluster::Node> find_node(cluster::Objects& objects, const std::string& name,
                                const cluster::Call& call);

// kFailedPrecondition: the annotation cannot be read; the hint says how to remove it.
Result<LimitSettings> settings_of(const cluster::Node& node);

// What the agent says; one that cannot be read says nothing.
std::vector<cluster::LimitOutcome> outcomes_of(const cluster::Node& node);
// Of exactly this setting; nullopt: nothing yet.
std::optional<cluster::LimitOutcome> answer_to(const cluster::LimitSetting& setting,
                                               const cluster::Node& node);

// The same; nothing yet is said to be waited for.
cluster::LimitOutcome answer_or_none(const cluster::LimitSetting& setting,
                                     const cluster::Node& node);

// Takes out, and returns, the settings of Pods that are gone from the node or have ended for good:
// nothing can come of them any more.
Result<LimitSettings> take_gone(LimitSettings& settings, const std::string& node,
                                cluster::Objects& objects, const cluster::Call& call);

// Makes `change` (null: none) of what is set on the node now, and writes it unless somebody else
// wrote meanwhile: then again. Settings of Pods that are gone leave on the way, and are returned.
// kFailedPrecondition: so much cannot be set of one node, or others write there all the time.
using LimitChange = std::function<void(LimitSettings& settings, const cluster::Node& node)>;
Result<LimitSettings> write_order(cluster::Objects& objects, const std::string& node,
                                  const cluster::Call& call, const LimitChange& change);

}  // namespace tranche::cli
