#pragma once
// A Pod, or the Pod template inside a workload, as far as shares of GPUs are concerned: its place
// in the object, and views of what a rewrite may change. The object's text must outlive it.

#include <string>
#include <string_view>
#include <vector>

#include "admission/share.h"
#include "base/json.h"
#include "base/result.h"

namespace tranche::admission {

struct ContainerClaim {  // an element of a container's resources.claims
  std::string name;
  std::string request;
  json::View view;
};

struct Container {
  std::string name;
  std::string pointer;   // "/spec/template/spec/initContainers/0"
  json::View resources;  // null where absent
  std::vector<ContainerClaim> claims;
};

struct PodClaim {  // an element of spec.resourceClaims
  std::string name;
  std::string template_name;  // empty if not made from a template
  json::View view;
};

struct PodParts {
  std::string pointer;  // "", "/spec/template"
  json::View metadata;  // null where absent
  json::View annotations;
  json::View resource_claims;
  Annotations annotation;
  bool is_bound = false;  // spec.nodeName is set
  bool is_fixed = false;  // a Pod or a Job: immutable once created
  std::vector<PodClaim> claims;
  std::vector<Container> containers;  // init containers first
};

// Pod, ReplicationController (v1), Deployment, ReplicaSet, StatefulSet, DaemonSet (apps), Job,
// CronJob (batch), of any version.
//     kUnsupported      another kind
//     kInvalidArgument  a field that is read has another type than in Kubernetes
Result<PodParts> read_pod(json::View object);

}  // namespace tranche::admission
