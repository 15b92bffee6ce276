#pragma once
// The values of the kubelet stand-in: devices as a plugin lists them, pods as they are admitted,
// and what a container is given. Plain data; the device plugin messages (kubelet/proto) stay in the
// .cpp files that speak gRPC.

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tranche::lab {

using Ids = std::vector<std::string>;

struct Device {
  std::string id;
  bool healthy = true;
  std::vector<std::int64_t> numa_nodes = {};

  bool operator==(const Device&) const = default;
};

struct Mount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;

  bool operator==(const Mount&) const = default;
};

struct DeviceNode {
  std::string container_path;
  std::string host_path;
  std::string permissions;

  bool operator==(const DeviceNode&) const = default;
};

// A plugin's answer to Allocate for one container.
struct Answer {
  std::map<std::string, std::string> envs;
  std::vector<Mount> mounts;
  std::vector<DeviceNode> devices;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;

  bool operator==(const Answer&) const = default;
};

struct PluginOptions {
  bool pre_start_required = false;
  bool preferred_allocation = false;
};

struct Container {
  std::string name;
  // Extended resource -> count.
  std::map<std::string, int> limits = {};
};

struct Pod {
  std::string name;
  std::vector<Container> containers;
  std::vector<Container> init_containers = {};
  std::string pod_namespace = "default";
  // The pod's key; "<namespace>/<name>" when empty.
  std::string uid = {};
};

// What a container holds of one resource.
struct Holding {
  Ids ids;
  Answer answer;

  bool operator==(const Holding&) const = default;
};

// Resource -> holding.
using ContainerHoldings = std::map<std::string, Holding>;

struct PodStatus {
  // "Running", or "Failed" as kubelet rejects a pod, or "Pending" when a container cannot start
  // yet.
  std::string phase;
  std::string reason = {};
  std::string message = {};
  std::map<std::string, ContainerHoldings> containers = {};
};

// One call of Register, accepted or not.
struct Registration {
  std::string resource;
  std::string endpoint;
  std::string version;
  PluginOptions options;
  std::chrono::system_clock::time_point time;
  // Empty when accepted.
  std::string error;
};

struct ResourceStatus {
  int capacity = 0;     // all devices
  int allocatable = 0;  // the healthy ones
  int allocated = 0;    // held by pods
  bool connected = false;
  int registrations = 0;
  int streams_opened = 0;
  int lists_received = 0;
};

// Resource -> status: what kubelet writes into the node's status, and what a test wants to count.
using NodeStatus = std::map<std::string, ResourceStatus>;

}  // namespace tranche::lab
