#pragma once
// Port: which container holds which device ids, and which ids kubelet gives out, as kubelet itself
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

// A claim (resource.k8s.io) that a container uses.
struct HeldClaim {
  std::string pod_namespace;
  std::string pod_name;
  std::string container;
  ObjectKey claim;
  bool operator==(const HeldClaim&) const = default;
};

// One answer of kubelet's.
struct ListedHolders {
  std::vector<HeldDevices> devices;
  // Of any driver. Empty where kubelet does not tell (its feature gate
  // KubeletPodResourcesDynamicResources is off).
  std::vector<HeldClaim> claims = {};
  std::set<std::string> pods = {};  // the names of all Pods that it lists
};

// The ids of healthy devices by resource, of every device plugin. A resource of which no device is
// healthy may lack.
using AllocatableDevices = std::map<std::string, std::set<std::string>>;

class PodResources {
 public:
  virtual ~PodResources() = default;
  // Whether this program can ask at all. False: kubelet's folder is not mounted here, so list()
  // will not succeed.
  virtual bool is_there() const { return true; }
  // Every container's devices and claims on this node. kUnavailable: kubelet does not serve the
  // socket (or it is not mounted); kTimeout.
  virtual Result<ListedHolders> list() = 0;
  // What kubelet's checkpoint on disk names: the containers to which it would give again what
  // Allocate has answered. Pod and namespace are not in it (""). Kubelet writes it when it has
  // asked Allocate, and when a device plugin sends its list; so it may still name containers that
  // have gone since, and it never lacks one that has not. Empty if kubelet has none.
  virtual Result<std::vector<HeldDevices>> remembered() = 0;
  // What kubelet gives out, held or not (GetAllocatableResources, Kubernetes 1.23 and later).
  // kUnavailable and kTimeout as list(); kFailedPrecondition: this kubelet does not tell.
  virtual Result<AllocatableDevices> allocatable() = 0;
};

}  // namespace tranche::cluster
