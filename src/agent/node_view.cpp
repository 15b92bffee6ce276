#include "agent/node_view.h"

namespace tranche::agent {

NodeView::NodeView(cluster::Objects& objects, std::string name, Bell& changed, const Log& log,
                   cluster::WatchCache::Backoff backoff)
    : name_(std::move(name)),
      cache_(
          objects,
          {.kind = cluster::kNode,
           .selection = {.field_selector = "metadata.name=" + name_},
           .backoff = backoff},
          [&changed](const cluster::CacheChange&) { changed.ring(); }, log) {}

std::optional<cluster::Node> NodeView::node() const {
  const auto object = cache_.find({.ns = "", .name = name_});
  if (!object) return std::nullopt;
  auto node = cluster::parse_node(object->json);
  return node ? std::optional(*std::move(node)) : std::nullopt;
}

}  // namespace tranche::agent
