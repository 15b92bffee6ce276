#include "agent/node/node_view.h"

#include <fmt/format.h>

namespace tranche::agent {

NodeView::NodeView(cluster::Objects& objects, std::string name, process::ChangeNotifier& changed,
                   const Log& log, Backoff backoff)
    : name_(std::move(name)),
      cache_(
          objects,
          {.kind = cluster::kNode,
           .selection = {.field_selector = "metadata.name=" + name_},
           .backoff = backoff},
          [&changed](const cluster::CacheChange&) { changed.notify(); }, log) {}

std::optional<cluster::Node> NodeView::node() const {
  const auto object = cache_.find({.ns = "", .name = name_});
  if (!object) return std::nullopt;
  auto node = cluster::parse_node(object->json);
  return node ? std::optional(*std::move(node)) : std::nullopt;
}

Result<cluster::Node> NodeView::known() const {
  if (auto found = node()) return *std::move(found);
  if (synced()) {
    return fail(Code::kUnavailable, fmt::format("the cluster has no node {}", name_),
                "set NODE_NAME by the downward API (fieldRef spec.nodeName)");
  }
  return std::unexpected(
      failure().value_or(Error{Code::kUnavailable, "the API server has not answered yet"}));
}

}  // namespace tranche::agent
