#pragma once
// The kinds of Kubernetes objects that this system reads or writes, and where the API server keeps
// them. Constants: a Kind never changes and is passed by reference.

#include <string>
#include <string_view>

namespace tranche::cluster {

struct Kind {
  std::string_view group;  // empty: the core group
  std::string_view version;
  std::string_view plural;  // "configmaps": in paths and in RBAC rules
  std::string_view kind;    // "ConfigMap"
  bool namespaced = true;

  // "v1", "apps/v1": the field apiVersion.
  std::string api_version() const {
    return group.empty() ? std::string(version) : std::string(group) + '/' + std::string(version);
  }
  // "configmaps", "leases.coordination.k8s.io": as in kubectl.
  std::string resource() const {
    return group.empty() ? std::string(plural) : std::string(plural) + '.' + std::string(group);
  }
  bool operator==(const Kind&) const = default;
};

inline constexpr Kind kNode{"", "v1", "nodes", "Node", false};
inline constexpr Kind kPod{"", "v1", "pods", "Pod", true};
inline constexpr Kind kConfigMap{"", "v1", "configmaps", "ConfigMap", true};
inline constexpr Kind kEvent{"events.k8s.io", "v1", "events", "Event", true};
inline constexpr Kind kLease{"coordination.k8s.io", "v1", "leases", "Lease", true};
// Dynamic Resource Allocation: GA since Kubernetes 1.34, and the only version that 1.36 serves.
inline constexpr Kind kResourceSlice{"resource.k8s.io", "v1", "resourceslices", "ResourceSlice",
                                     false};
inline constexpr Kind kResourceClaim{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim",
                                     true};
inline constexpr Kind kResourceClaimTemplate{"resource.k8s.io", "v1", "resourceclaimtemplates",
                                             "ResourceClaimTemplate", true};
inline constexpr Kind kDeviceClass{"resource.k8s.io", "v1", "deviceclasses", "DeviceClass", false};
inline constexpr Kind kSecret{"", "v1", "secrets", "Secret", true};
inline constexpr Kind kMutatingWebhookConfiguration{"admissionregistration.k8s.io", "v1",
                                                    "mutatingwebhookconfigurations",
                                                    "MutatingWebhookConfiguration", false};
inline constexpr Kind kValidatingWebhookConfiguration{"admissionregistration.k8s.io", "v1",
                                                      "validatingwebhookconfigurations",
                                                      "ValidatingWebhookConfiguration", false};
inline constexpr Kind kResourceQuota{"", "v1", "resourcequotas", "ResourceQuota", true};
// Workloads with a Pod template; DaemonSets below.
inline constexpr Kind kReplicationController{"", "v1", "replicationcontrollers",
                                             "ReplicationController", true};
inline constexpr Kind kDeployment{"apps", "v1", "deployments", "Deployment", true};
inline constexpr Kind kReplicaSet{"apps", "v1", "replicasets", "ReplicaSet", true};
inline constexpr Kind kStatefulSet{"apps", "v1", "statefulsets", "StatefulSet", true};
inline constexpr Kind kJob{"batch", "v1", "jobs", "Job", true};
inline constexpr Kind kCronJob{"batch", "v1", "cronjobs", "CronJob", true};
inline constexpr Kind kDaemonSet{"apps", "v1", "daemonsets", "DaemonSet", true};
inline constexpr Kind kCustomResourceDefinition{
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false};
// Node Feature Discovery's; only served if it is installed.
inline constexpr Kind kNodeFeature{"nfd.k8s-sigs.io", "v1alpha1", "nodefeatures", "NodeFeature",
                                   true};
// The GPU operator's; only served if its CRD is installed.
inline constexpr Kind kClusterPolicy{"nvidia.com", "v1", "clusterpolicies", "ClusterPolicy", false};
// Questions to the API server, which are answered and not kept (Objects::review).
inline constexpr Kind kTokenReview{"authentication.k8s.io", "v1", "tokenreviews", "TokenReview",
                                   false};
inline constexpr Kind kSubjectAccessReview{"authorization.k8s.io", "v1", "subjectaccessreviews",
                                           "SubjectAccessReview", false};
// Ours: a published class of GPU service (gpu_tier.h).
inline constexpr Kind kGpuTier{"tranche.dev", "v1alpha1", "gputiers", "GPUTier", false};
// Ours: what a node's agent knows of its GPUs (gpu_node.h).
inline constexpr Kind kGpuNode{"tranche.dev", "v1alpha1", "gpunodes", "GPUNode", false};

}  // namespace tranche::cluster
