#include "fleet/fleet_json.h"

#include <concepts>
#include <type_traits>

#include "usage/json_parts.h"
#include "usage/node_usage_json.h"

namespace tranche::fleet {
namespace {

constexpr std::size_t kMostEntries = 100'000;  // of a list
constexpr std::string_view kVersion = "fleet/v1";

// `value` is a T or a const T.
template <class Value, class T>
concept A = std::same_as<std::remove_const_t<Value>, T>;

}  // namespace

// Found by their arguments, which is why they are in no unnamed namespace.

void visit(auto& field, A<Capacity> auto& value) {
  field("resource", value.resource);
  field("mechanism", value.mechanism);
  field("tier", value.tier);
  field("advertised", value.advertised);
  field("allocated", value.allocated);
  field("withheld", value.withheld);
  field("free", value.free);
  field("pending", value.pending);
}

void visit(auto& field, A<NamespaceUse> auto& value) {
  field("namespace", value.ns);
  field("resource", value.resource);
  field("tier", value.tier);
  field("allocated", value.allocated);
  field("pending", value.pending);
}

void visit(auto& field, A<Wish> auto& value) {
  field("resource", value.resource);
  field("count", value.count);
}

void visit(auto& field, A<WaitingPod> auto& value) {
  field("namespace", value.ns);
  field("pod", value.pod);
  field("since", value.since);
  field("wants", value.wants);
  field("tier", value.tier);
  field("cause", value.cause);
  field("message", value.message);
  field("node", value.node);
}

// Without `usage`, which has a form of its own.
void visit(auto& field, A<FleetNode> auto& value) {
  field("name", value.name);
  field("reporting", value.reporting);
  field("why", value.why);
  field("closed", value.closed);
}

// Without `nodes`.
void visit(auto& field, A<Fleet> auto& value) {
  field("cluster", value.cluster);
  field("takenAt", value.taken_at);
  field("capacity", value.capacity);
  field("namespaces", value.namespaces);
  field("waiting", value.waiting);
}

namespace {

json::Value json_of(const FleetNode& node) {
  usage::JsonWriter writer;
  visit(writer, node);
  auto json = writer.take();
  json["usage"] = usage::json_of(node.usage);
  return json;
}

Fleet read_fleet(const json::Fields& fields) {
  Fleet fleet;
  if (!usage::check_version(fields, kVersion)) return fleet;
  const usage::JsonReader reader(fields, kMostEntries);
  visit(reader, fleet);
  const auto nodes = fields.list("nodes");
  if (nodes.size() > kMostEntries) {
    fields.refuse("nodes", "has too many entries");
    return fleet;
  }
  for (const auto& item : nodes) {
    auto& node = fleet.nodes.emplace_back();
    const usage::JsonReader parts(item, kMostEntries);
    visit(parts, node);
    node.usage = usage::read_node_usage(item.object("usage"));
  }
  return fleet;
}

}  // namespace

std::string to_json(const Fleet& fleet) {
  usage::JsonWriter writer;
  writer("version", std::string(kVersion));
  visit(writer, fleet);
  auto json = writer.take();
  auto nodes = json::Value::array();
  for (const auto& node : fleet.nodes) nodes.push_back(json_of(node));
  json["nodes"] = std::move(nodes);
  return json.text();
}

Result<Fleet> parse_fleet(std::string_view json) {
  ASSIGN_OR_RETURN(const auto root, usage::root_of(json, kVersion, kLongestFleet));
  return json::read_fields(root, read_fleet);
}

}  // namespace tranche::fleet
