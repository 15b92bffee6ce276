#include "agent/node/node_writer.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_value.h"

namespace tranche::agent {
namespace {

json::Value json_of(const NodeWriter::Values& values) {
  auto object = json::Value::object();
  for (const auto& [name, value] : values) {
    object[name] = value ? json::Value(*value) : json::Value();
  }
  return object;
}

}  // namespace

NodeWriter::NodeWriter(cluster::Objects& objects, std::string node, std::string what,
                       const Clock& clock, const Log& log, std::chrono::seconds pause)
    : objects_(objects),
      node_(std::move(node)),
      what_(std::move(what)),
      clock_(clock),
      log_(log),
      pause_(pause) {}

bool NodeWriter::write(const Change& change, const cluster::Call& call) {
  if (clock_.now() < not_before_) return false;
  json::Value metadata;
  if (!change.labels.empty()) metadata["labels"] = json_of(change.labels);
  if (!change.annotations.empty()) metadata["annotations"] = json_of(change.annotations);
  if (!change.resource_version.empty()) metadata["resourceVersion"] = change.resource_version;
  const json::Value patch = {{"metadata", std::move(metadata)}};
  const auto patched = objects_.patch(cluster::kNode, {.ns = "", .name = node_},
                                      {.json = patch.text(), .subresource = "status"}, call);
  if (patched) {
    complaint_.clear();
    return true;
  }
  const bool is_newer = patched.error().code == Code::kFailedPrecondition;
  if (is_newer && !change.resource_version.empty()) return false;
  not_before_ = clock_.now() + pause_;
  auto message = patched.error().message();
  if (std::exchange(complaint_, message) != message) {
    log_.warn(fmt::format("{}: {}; it is tried again", what_, message));
  }
  return false;
}

}  // namespace tranche::agent
