#include <fmt/format.h>

#include <algorithm>

#include "agent/label_sink.h"
#include "cluster/pod.h"

namespace tranche::agent {
namespace {

constexpr const char* kFieldManager = "tranche-labels";

bool same(const cluster::NodeFeature& object, const labels::Labels& labels,
          const std::string& node) {
  return object.labels == labels && object.node == node;
}

}  // namespace

NodeFeatureLabels::NodeFeatureLabels(cluster::Objects& objects, Options options, Bell& changed,
                                     const Log& log)
    : objects_(objects),
      options_(std::move(options)),
      key_{.ns = options_.ns, .name = "nvidia-features-for-" + options_.node_name},
      log_(log),
      retrier_(log, options_.backoff),
      cache_(
          objects,
          {.kind = cluster::kNodeFeature,
           .selection = {.ns = key_.ns, .field_selector = "metadata.name=" + key_.name},
           .kind_may_be_missing = true,
           .backoff = {options_.backoff.first, options_.backoff.longest}},
          [&changed](const cluster::CacheChange&) { changed.ring(); }, log) {}

void NodeFeatureLabels::write(const labels::Labels& labels) {
  if (const auto object = cache_.find(key_)) {
    const auto feature = cluster::parse_node_feature(object->json);
    if (feature && same(*feature, labels, options_.node_name)) {
      retrier_.forget("labels");
      return;
    }
  }
  retrier_.request(
      {.key = "labels",
       .attempt = [this, labels](const std::stop_token& stop) { return apply(labels, stop); },
       .done = {}});
}

Result<void> NodeFeatureLabels::apply(const labels::Labels& labels, const std::stop_token& stop) {
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
      {.json = cluster::to_json(feature), .field_manager = kFieldManager, .force = true},
      {.stop = stop});
  if (applied) {
    log_.info(fmt::format("wrote {} labels to {}", labels.size(), place()));
    return {};
  }
  auto error = std::move(applied).error();
  if (error.code == Code::kNotFound) {
    error.hint = "install node feature discovery, or choose another --label-output (node, file)";
  }
  return std::unexpected(std::move(error));
}

// As NVIDIA's: the controller of this Pod, then the Pod.
Result<std::vector<cluster::OwnerReference>> NodeFeatureLabels::find_owners(
    const std::stop_token& stop) {
  if (options_.pod_name.empty()) {
    return fail(Code::kNotFound, "the agent does not know its Pod",
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
