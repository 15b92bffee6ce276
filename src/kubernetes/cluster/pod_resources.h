#pragma once
// Port: which container holds which device ids, and which ids are allocatable, as kubelet itself
// knows it (pod-resources v1). Adapter: kubelet/pod_resources_client.h.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/object.h"

namespace tranche::cluster {

// Ids of one resource held by one container.
struct HeldDevices {
  std::string pod_namespace;
  std::string pod_name;
  std::string container;
  std::string resource;  // "nvidia.com/gpu"
  std::vector<std::string> ids;
  bool operator==(const HeldDevices&) const = default;
};

// A ResourceClaim used by a container.
struct HeldClaim {
  std::string pod_namespace;
  std::string pod_name;
  std::string container;
  ObjectKey claim;
  bool operator==(const HeldClaim&) const = default;
};

// One answer of kubelet.
struct ListedHolders {
  std::vector<HeldDevices> devices;
  // Of any driver. Empty if kubelet does not list claims (its feature gate
  // KubeletPodResourcesDynamicResources is off).
  std::vector<HeldClaim> claims = {};
  std::set<std::string> pods = {};  // the names of all listed Pods
};

// The ids of healthy devices by resource, for every device plugin. A resource without healthy
// devices may be absent.
using AllocatableDevices = std::map<std::string, std::set<std::string>>;

class PodResources {
 public:
  virtual ~PodResources() = default;
  // Whether kubelet can be queried at all. False: its folder is not mounted here, so list() cannot
  // succeed.
  virtual bool is_there() const { return true; }
  // Every container's devices and claims on this node. kUnavailable: kubelet does not serve the
  // socket (or it is not mounted); kTimeout.
  virtual Result<ListedHolders> list() = 0;
  // The entries of kubelet's checkpoint on disk: the containers to which it would give Allocate's
  // answers again. Pod and namespace are not in it (""). Kubelet writes it after calling Allocate,
  // and when a device plugin sends its list; so it may still list containers that are gone, but it
  // never lacks an existing one. Empty if kubelet has none.
  virtual Result<std::vector<HeldDevices>> remembered() = 0;
  // What kubelet can allocate, held or not (GetAllocatableResources, Kubernetes 1.23 and later).
  // kUnavailable and kTimeout: see list(); kFailedPrecondition: this kubelet does not support it.
  virtual Result<AllocatableDevices> allocatable() = 0;
};

}  // namespace tranche::cluster
