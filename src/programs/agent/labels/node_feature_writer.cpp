#include "agent/labels/node_feature_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cluster/client/modify.h"
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
  auto written =
      put({.key = key_, .node = options_.node_name, .owners = *owners_, .labels = labels}, stop);
  if (written) return {};
  auto error = std::move(written).error();
  if (error.code == Code::kNotFound) {
    error.hint =
        "install node feature discovery, or choose another place (--label-output of the agent, "
        "--use-node-feature-api=false)";
  }
  return std::unexpected(std::move(error));
}

// Uses only get, create and update, which NVIDIA's chart grants its feature discovery, so that an
// existing role suffices (docs/decisions/0028-node-features.md).
Result<void> NodeFeatureWriter::put(const cluster::NodeFeature& feature,
                                    const std::stop_token& stop) {
  const cluster::Call call = {.stop = stop, .field_manager = kLabelFieldManager};
  const auto change = [&feature](const cluster::Object& now) {
    return cluster::with_feature(now.json, feature);
  };
  const auto update = [&] {
    return cluster::modify(objects_, cluster::kNodeFeature, key_, change, call);
  };
  auto written = update();
  if (!written && written.error().code == Code::kNotFound) {
    written = objects_.create(cluster::kNodeFeature, key_.ns, cluster::to_json(feature), call);
    // Somebody else made it meanwhile.
    if (!written && written.error().code == Code::kAlreadyExists) written = update();
  }
  if (!written) return std::unexpected(std::move(written).error());
  return {};
}

// The owners, as NVIDIA's sets them: the controller of this Pod, then the Pod.
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
