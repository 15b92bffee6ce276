#pragma once
// A tenant whose limits are a resource claim's (DRA): what it was given, and which containers are
// its. What a tenant of the device plugin is promised follows from the offer; of a claim's it
// stands in the claim's own record (dra/prepared.h).

#include <string>
#include <vector>

#include "cluster/pod.h"
#include "offer/offer.h"
#include "values/limits.h"

namespace tranche::agent {

// One request of a ResourceClaim.
struct ClaimRequest {
  std::string ns;
  std::string claim;    // the object's name
  std::string request;  // without its subrequest
  bool operator==(const ClaimRequest&) const = default;
};

struct ClaimTenant {
  std::string id;
  std::string driver;
  std::vector<ClaimRequest> requests;  // whose containers it has
  // What it is promised: the claim's part, less what the claim's configuration lowers. No devices:
  // they are not made yet.
  GrantLimits limits;
  // The most that it may be given: all of the claim's part, in the order of `limits`. The scheduler
  // gives the rest of the device to others.
  std::vector<DeviceLimits> most;
  std::vector<offer::Device> devices;  // those of `limits` that the machine has
  // Its containers are clients of MPS: a part of what they were promised stands in their
  // environment, and cannot be raised while they run.
  bool client = false;
  bool by_mps = false;  // MPS shares the compute among them, not the limiter
  bool operator==(const ClaimTenant&) const = default;
};

// What the claims of a node come to.
struct NodeClaims {
  std::vector<ClaimTenant> tenants;
  // Requests with a device that has no limits: their containers were started without the limiter.
  std::vector<ClaimRequest> unlimited = {};
  bool operator==(const NodeClaims&) const = default;
};

// The tenants that a container has by one of its claims.
struct ClaimUse {
  std::string ns;
  std::string pod;
  std::string container;
  // cluster::claim_resource(); of the claim that the scheduler made for extended resources, the
  // resource.
  std::string resource;
  std::vector<std::string> tenants;
  bool unlimited = false;  // one of its devices has no limits; else there are tenants
  bool operator==(const ClaimUse&) const = default;
};

// In the order of the Pods and their containers. A container counts once kubelet has started it:
// whoever makes a Pod may name any claim of the namespace, but kubelet starts it with those alone
// that are reserved for the Pod. Kubelet's pod-resources would not do: it lists all devices of a
// claim for each of its containers, whichever request these name.
std::vector<ClaimUse> claim_uses(const std::vector<cluster::Pod>& pods, const NodeClaims& claims);

}  // namespace tranche::agent
