#include "cluster/formats/gpu_node.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_value.h"
#include "base/quantity.h"
#include "cluster/fields.h"
#include "cluster/quantities.h"
#include "cluster/to_json.h"

namespace tranche::cluster {
namespace {

// What is null is absent.
bool has_value(const Fields& fields, std::string_view key) {
  const auto found = fields.view().find(key);
  return found && found->kind() != json::Kind::kNull;
}

std::optional<Bytes> maybe_amount(const Fields& fields, std::string_view key) {
  return has_value(fields, key) ? std::optional(Bytes{read_amount(fields, key)}) : std::nullopt;
}

// The elements of a list, each made by `read`.
template <class Read>
auto read_all(const Fields& fields, std::string_view key, const Read& read) {
  std::vector<decltype(read(fields))> all;
  for (const auto& item : fields.list(key)) all.push_back(read(item));
  return all;
}

GpuNodeInstance read_instance(const Fields& item) {
  return {.uuid = item.text("uuid"),
          .profile = item.text("profile"),
          .slot = item.number("slot"),
          .memory = maybe_amount(item, "memory"),
          .unhealthy = item.text("unhealthy")};
}

GpuNodeGpu read_gpu(const Fields& item) {
  GpuNodeGpu gpu{.index = item.number("index"),
                 .uuid = item.text("uuid"),
                 .model = item.text("model"),
                 .pci = item.text("pci"),
                 .memory = maybe_amount(item, "memory"),
                 .mig = item.text("mig"),
                 .nvswitch_links = item.number("nvswitchLinks"),
                 .unhealthy = item.text("unhealthy")};
  if (has_value(item, "instances")) gpu.instances = read_all(item, "instances", read_instance);
  return gpu;
}

GpuNodeLink read_link(const Fields& item) {
  return {.a = item.number("a"),
          .b = item.number("b"),
          .level = item.text("level"),
          .nvlinks = item.number("nvlinks")};
}

GpuNodeDevice read_offered(const Fields& item) {
  return {.uuid = item.text("uuid"),
          .tranches = item.number("tranches"),
          .withheld = item.number("withheld")};
}

GpuNodeResource read_resource(const Fields& item) {
  return {.name = item.text("name"),
          .sharing = item.text("sharing"),
          .tranches = item.number("tranches"),
          .healthy = item.number("healthy"),
          .unhealthy = item.number("unhealthy"),
          .withheld = item.number("withheld"),
          .devices = read_all(item, "devices", read_offered)};
}

GpuNodeWithheld read_withheld(const Fields& item) {
  return {.resource = item.text("resource"),
          .devices =
              item.maybe<std::vector<std::string>>("devices").value_or(std::vector<std::string>()),
          .reason = item.text("reason")};
}

std::optional<GpuNodePart> read_part(const Fields& holding) {
  if (!has_value(holding, "part")) return std::nullopt;
  const auto part = holding.object("part");
  return GpuNodePart{.memory = maybe_amount(part, "memory"),
                     .weight = part.number("weight"),
                     .permille = part.maybe<std::int64_t>("permille"),
                     .borrows_up_to = maybe_amount(part, "borrowsUpTo"),
                     .enforcer = part.text("enforcer")};
}

GpuNodeHolding read_holding(const Fields& item) {
  return {.device = item.text("device"),
          .gpu = item.text("gpu"),
          .part = read_part(item),
          .wire = item.text("wire"),
          .resource = item.text("resource"),
          .id = item.text("id"),
          .claim = item.text("claim"),
          .request = item.text("request"),
          .tenant = item.text("tenant"),
          .ns = item.text("namespace"),
          .pod = item.text("pod"),
          .pod_uid = item.text("podUID"),
          .container = item.text("container"),
          .use = item.text("use"),
          .state = item.text("state")};
}

GpuNodeReason read_reason(const Fields& item) {
  return {.about = item.text("about"), .message = item.text("message")};
}

GpuNodeSummary read_summary(const Fields& item) {
  return {.gpus = item.number("gpus"),
          .healthy_gpus = item.number("healthyGPUs"),
          .model = item.text("model"),
          .tranches = item.number("tranches"),
          .held = item.number("held")};
}

GpuNodeTruncated read_truncated(const Fields& item) {
  return {.holdings = item.number("holdings"),
          .links = item.number("links"),
          .devices = item.number("devices"),
          .withheld = item.number("withheld"),
          .reasons = item.number("reasons"),
          .instances = item.number("instances"),
          .gpus = item.number("gpus"),
          .resources = item.number("resources")};
}

GpuNodeStatus read_status(const Fields& status) {
  return {.agent = status.text("agent"),
          .mode = parse_node_mode(status.text("mode")),
          .driver = status.text("driver"),
          .cuda = status.text("cuda"),
          .summary = read_summary(status.object("summary")),
          .gpus = read_all(status, "gpus", read_gpu),
          .links = read_all(status, "links", read_link),
          .resources = read_all(status, "resources", read_resource),
          .withheld = read_all(status, "withheld", read_withheld),
          .holdings = read_all(status, "holdings", read_holding),
          .reasons = read_all(status, "reasons", read_reason),
          .truncated = read_truncated(status.object("truncated"))};
}

}  // namespace

Result<GpuNode> parse_gpu_node(std::string_view json) {
  return read_object<GpuNode>("GPUNode", json, [](const Fields& top, GpuNode& node) {
    const auto metadata = top.object("metadata");
    node.name = metadata.text("name");
    node.uid = metadata.text("uid");
    node.resource_version = metadata.text("resourceVersion");
    node.owners = read_owners(metadata);
    const auto status = top.object("status");
    if (status.view().kind() == json::Kind::kObject) node.status = read_status(status);
  });
}

}  // namespace tranche::cluster
