#include "agent/labels/node_feature_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cluster/pod.h"

namespace tranche::agent {
NodeFeatureWriter::NodeFeatureWriter(cluster::Objects& objects, Options options, const Log& log)
    : objects_(objects),
      options_(std::move(options)),
      key_{.ns = options_.ns, .name = "nvidia-features-for-" + options_.node_name},
      log_(log) {}

bool NodeFeatureWriter::says(const cluster::Object& object, const labels::Labels& labels) const {
  const auto feature = cluster::parse_node_feature(object.json);
  return feature && feature->labels == labels && feature->node == options_.node_name;
}

Result<void> NodeFeatureWriter::write(const labels::Labels& labels, const std::stop_token& stop) {
  if (!owners_) {
    auto owners = find_owners(stop);
    if (!owners) {
      log_.warn(fmt::format("{} gets no owner and will outlive the agent's Pod: {}", place(),
                            owners.error().message()));
    }
    owners_ = std::move(owners).value_or(std::vector<cluster::OwnerReference>());
  }
  const cluster::NodeFeature feature = {
      .key = key_, .node = options_.node_name, .owners = *owners_, .labels = labels};
  auto applied = objects_.apply(
      cluster::kNodeFeature, key_,
      {.json = cluster::to_json(feature), .field_manager = kLabelFieldManager, .force = true},
      {.stop = stop});
  if (applied) return {};
  auto error = std::move(applied).error();
  if (error.code == Code::kNotFound) {
    error.hint =
        "install node feature discovery, or choose another place (--label-output of the agent, "
        "--use-node-feature-api=false)";
  }
  return std::unexpected(std::move(error));
}

// The owners are those that NVIDIA's sets: the controller of this Pod, then the Pod.
Result<std::vector<cluster::OwnerReference>> NodeFeatureWriter::find_owners(
    const std::stop_token& stop) {
  if (options_.pod_name.empty()) {
    return fail(Code::kNotFound, "the name of this Pod is not known",
                "set POD_NAME by the downward API (fieldRef metadata.name)");
  }
  ASSIGN_OR_RETURN(
      const auto object,
      objects_.get(cluster::kPod, {.ns = options_.ns, .name = options_.pod_name}, {.stop = stop}));
  ASSIGN_OR_RETURN(const auto pod, cluster::parse_pod(object.json));
  std::vector<cluster::OwnerReference> owners;
  std::ranges::copy_if(pod.owners, std::back_inserter(owners),
                       &cluster::OwnerReference::controller);
  owners.push_back({.api_version = "v1", .kind = "Pod", .name = pod.name, .uid = pod.uid});
  return owners;
}

}  // namespace tranche::agent
