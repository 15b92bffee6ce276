#include "agent/notices/parts.h"

#include "agent/config/cluster_node.h"
#include "agent/grants/grant_store.h"
#include "agent/holdings/book.h"
#include "agent/notices/notices.h"
#include "agent/notices/unplanned_mig.h"
#include "cluster/formats/mig_change.h"

namespace tranche::agent {
namespace {

// nullopt: the Node is not known yet.
std::optional<std::string> mig_config(const NodeView& view) {
  const auto node = view.node();
  if (!node) return std::nullopt;
  const auto label = node->labels.find(cluster::kMigConfigLabel);
  return label == node->labels.end() ? std::string() : label->second;
}

UnplannedMig::MigConfig look_at_label(const AgentContext& context) {
  auto* const cluster = context.outside.cluster;
  if (cluster == nullptr) return {};
  return [&view = cluster->node()] { return mig_config(view); };
}

// Those of containers that kubelet names, where it can be asked. The store keeps a grant for a
// while after its Pod, and nobody can delete that Pod.
Notices::Grants grants_in_use(const AgentContext& context) {
  if (context.grants == nullptr) return {};
  return
      [store = context.grants, &kubelet = context.outside.kubelet, &book = context.outside.book] {
        auto all = store->all();
        return kubelet.is_there() ? in_use(std::move(all), *book.granted()) : all;
      };
}

}  // namespace

Parts notices_parts(const AgentContext& context) {
  Parts parts;
  parts.followers.push_back(std::make_unique<ChangeLog>(context.log));
  parts.followers.push_back(
      std::make_unique<UnplannedMig>(look_at_label(context), context.outside.report, context.log));
  parts.followers.push_back(
      std::make_unique<Notices>(grants_in_use(context), context.outside.tell, context.log));
  return parts;
}

}  // namespace tranche::agent
