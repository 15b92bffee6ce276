#include "controller/mig_explainer.h"

#include <algorithm>

#include "cluster/formats/reasons.h"
#include "cluster/snapshot/parts.h"
#include "mig/waiting.h"

namespace tranche::controller {
namespace {

// A batch system may have thousands of waiting Pods that request no GPU.
bool may_ask_for_gpus(const std::string& pod) {
  return pod.find("nvidia.com/") != std::string::npos;
}

Result<Explainer::Notes> explain_mig(const std::vector<cluster::Object>& objects,
                                     const Explainer::ListNodes& list_nodes) {
  std::vector<cluster::SnapshotPod> pods;
  for (const auto& object : objects) {
    ASSIGN_OR_RETURN(auto pod, cluster::parse_snapshot_pod(object.json));
    pods.push_back(std::move(pod));
  }
  Explainer::Notes notes(pods.size());
  if (std::ranges::none_of(pods, mig::waits_for_gpus)) return notes;
  ASSIGN_OR_RETURN(const auto nodes, list_nodes());
  std::ranges::transform(pods, notes.begin(), [&](const auto& pod) {
    return mig::waits_for_gpus(pod) ? mig::explain_waiting(pod, nodes) : std::nullopt;
  });
  return notes;
}

}  // namespace

Explainer mig_explainer() {
  return {.purpose = "telling Pods that wait for GPUs where MIG layouts lack what they ask for",
          .topic = "Pods that wait for GPUs",
          .reason = cluster::reason::kMigLayoutLacks,
          .may_concern = may_ask_for_gpus,
          .explain = explain_mig};
}

}  // namespace tranche::controller
