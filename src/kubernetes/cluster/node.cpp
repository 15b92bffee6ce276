#include "cluster/node.h"

#include "cluster/fields.h"

namespace tranche::cluster {

Result<Node> parse_node(std::string_view json) {
  return read_object<Node>("Node", json, [](const Fields& top, Node& node) {
    const auto metadata = top.object("metadata");
    node.name = metadata.text("name");
    node.uid = metadata.text("uid");
    node.resource_version = metadata.text("resourceVersion");
    node.labels = metadata.map("labels");
    node.annotations = metadata.map("annotations");
    const auto spec = top.object("spec");
    node.unschedulable = spec.boolean("unschedulable");
    for (const auto& taint : spec.list("taints")) {
      node.taints.push_back({taint.text("key"), taint.text("value"), taint.text("effect")});
    }
    const auto status = top.object("status");
    node.capacity = status.map("capacity");
    node.allocatable = status.map("allocatable");
    for (const auto& condition : status.list("conditions")) {
      node.conditions.push_back({condition.text("type"), condition.text("status"),
                                 condition.text("reason"), condition.text("message")});
    }
  });
}

}  // namespace tranche::cluster
