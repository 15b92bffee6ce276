#include "usage/node_usage_json.h"

#include <concepts>
#include <type_traits>

#include "usage/json_parts.h"

namespace tranche::usage {
namespace {

constexpr std::string_view kVersion = "usage/v1";

// `value` is a T or a const T.
template <class Value, class T>
concept A = std::same_as<std::remove_const_t<Value>, T>;

}  // namespace

// Found by their arguments, which is why they are in no unnamed namespace.

void visit(auto& field, A<ContainerFigures> auto& value) {
  field("namespace", value.ns);
  field("pod", value.pod);
  field("container", value.container);
  field("resource", value.resource);
  field("mechanism", value.mechanism);
  field("tier", value.tier);
  field("gpu", value.gpu);
  field("device", value.device);
  field("migProfile", value.mig_profile);
  field("gpus", value.gpus);
  field("attributed", value.attributed);
  field("processes", value.processes);
  field("memoryUsed", value.memory_used);
  field("memoryPeak", value.memory_peak);
  field("memoryLimit", value.memory_limit);
  field("computePromised", value.compute_promised);
  field("computeNs", value.compute);
  field("computeEstimatedNs", value.compute_estimated);
  field("computeAskedNs", value.compute_asked);
  field("waitedNs", value.waited);
  field("computeShare", value.compute_share);
  field("waitedShare", value.waited_share);
  field("launches", value.launches);
  field("allocationFailures", value.allocation_failures);
}

void visit(auto& field, A<MemoryAccount> auto& value) {
  field("gpu", value.gpu);
  field("total", value.total);
  field("free", value.free);
  field("reserved", value.reserved);
  field("containers", value.containers);
  field("hostProcesses", value.host_processes);
  field("unknown", value.unknown);
  field("unattributed", value.unattributed);
  field("excess", value.excess);
}

void visit(auto& field, A<InstanceUsage> auto& value) {
  field("uuid", value.uuid);
  field("profile", value.profile);
  field("gpuInstance", value.gpu_instance);
  field("memory", value.memory);
  field("start", value.start);
  field("size", value.size);
}

void visit(auto& field, A<GpuUsage> auto& value) {
  field("index", value.index);
  field("uuid", value.uuid);
  field("model", value.model);
  field("mig", value.mig);
  field("instances", value.instances);
  field("memory", value.memory);
  field("memoryTotal", value.memory_total);
  field("memoryUsed", value.memory_used);
  field("utilization", value.utilization);
  field("temperatureC", value.temperature_c);
  field("powerW", value.power_w);
  field("lastXid", value.last_xid);
}

void visit(auto& field, A<ProcessUsage> auto& value) {
  field("pid", value.pid);
  field("name", value.name);
  field("device", value.device);
  field("owner", value.owner);
  field("namespace", value.ns);
  field("pod", value.pod);
  field("container", value.container);
  field("memory", value.memory);
  field("busy", value.busy);
}

void visit(auto& field, A<TrancheCount> auto& value) {
  field("resource", value.resource);
  field("mechanism", value.mechanism);
  field("advertised", value.advertised);
  field("allocated", value.allocated);
  field("withheld", value.withheld);
}

void visit(auto& field, A<Check> auto& value) {
  field("name", value.name);
  field("works", value.works);
}

void visit(auto& field, A<NodeUsage> auto& value) {
  field("node", value.node);
  field("takenAt", value.taken_at);
  field("agent", value.agent);
  field("driverVersion", value.driver_version);
  field("gpus", value.gpus);
  field("containers", value.containers);
  field("processes", value.processes);
  field("tranches", value.tranches);
  field("checks", value.checks);
  field("ageNs", value.age);
}

json::Value json_of(const NodeUsage& usage) {
  JsonWriter writer;
  writer("version", std::string(kVersion));
  visit(writer, usage);
  return writer.take();
}

std::string to_json(const NodeUsage& usage) { return json_of(usage).text(); }

NodeUsage read_node_usage(const json::Fields& fields) {
  NodeUsage usage;
  if (!check_version(fields, kVersion)) return usage;
  const JsonReader reader(fields, kMostEntries);
  visit(reader, usage);
  return usage;
}

Result<NodeUsage> parse_node_usage(std::string_view json) {
  ASSIGN_OR_RETURN(const auto root, root_of(json, kVersion, kLongestUsage));
  return json::read_fields(root, read_node_usage);
}

}  // namespace tranche::usage
