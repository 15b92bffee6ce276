#pragma once
// A Pod (v1): where it runs, why not, and what it requests.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/metadata.h"

namespace tranche::cluster {

// One of a container's claims (resources.claims).
struct ContainerClaim {
  std::string claim;         // its name in the Pod: PodClaim::name
  std::string request = {};  // empty: all of the claim's requests
  bool operator==(const ContainerClaim&) const = default;
};

// A claim of a Pod (spec.resourceClaims).
struct PodClaim {
  std::string name;                 // within the Pod
  std::string object = {};          // the ResourceClaim's name; empty: not created yet
  std::string claim_template = {};  // empty: the Pod names a claim, which others may use too
  bool operator==(const PodClaim&) const = default;
};

// What a container gets from ExtendedClaim instead of a requested resource.
struct ExtendedUse {
  std::string container;
  std::string resource;  // "nvidia.com/gpu"
  std::string request;   // of the claim
  bool operator==(const ExtendedUse&) const = default;
};

// The claim that the scheduler creates for extended resources backed by a DeviceClass
// (status.extendedResourceClaimStatus).
struct ExtendedClaim {
  std::string object;  // the ResourceClaim's name; empty: there is none
  std::vector<ExtendedUse> uses = {};
  bool operator==(const ExtendedClaim&) const = default;
};

struct PodContainer {
  std::string name;
  bool init = false;
  bool sidecar = false;  // an init container with restartPolicy Always
  // Extended resources only ("nvidia.com/gpu", not cpu, memory, hugepages-*): requests, else
  // limits, as the API server defaults them. At most kMost, so that sums fit.
  static constexpr std::int64_t kMost = 1'000'000'000'000;
  std::map<std::string, std::int64_t> requests;
  std::vector<ContainerClaim> claims = {};
  bool operator==(const PodContainer&) const = default;
};

struct Pod {
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
  StringMap labels;
  StringMap annotations;
  std::vector<OwnerReference> owners;
  bool deleting = false;    // metadata.deletionTimestamp is set
  std::string node;         // spec.nodeName; empty: not scheduled
  StringMap node_selector;  // spec.nodeSelector
  std::string scheduler;
  bool ready = false;   // the condition Ready is True
  std::string phase;    // "Pending", ...
  std::string reason;   // status.reason: "UnexpectedAdmissionError"
  std::string message;  // status.message
  // From the condition PodScheduled while it is False: why the scheduler cannot place it.
  std::string unschedulable;
  std::vector<PodContainer> containers;
  // From status: the runtime's id ("3f2a...", without its scheme) -> the container's name.
  StringMap container_ids;
  std::string priority_class;  // spec.priorityClassName; empty: none
  std::vector<PodClaim> claims = {};
  ExtendedClaim extended = {};

  bool operator==(const Pod&) const = default;
};

Result<Pod> parse_pod(std::string_view json);

// What the scheduler counts for the Pod of each extended resource: all containers and sidecars, or
// an init container with the sidecars started before it, whichever is more.
// Source: PodRequests of k8s.io/component-helpers/resource.
std::map<std::string, std::int64_t> requests_of(const Pod& pod);

// Whether its phase is Succeeded or Failed: none of its containers is started again.
bool has_ended(const Pod& pod);

// Whether it is a static Pod, which kubelet runs from its own file: the API server shows a mirror,
// and deleting that ends nothing.
bool is_mirror(const Pod& pod);
// The id in the node's control group names: its uid, or for a static Pod the hash of its
// file.
const std::string& uid_on_node(const Pod& pod);

}  // namespace tranche::cluster
