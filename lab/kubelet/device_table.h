#pragma once
// The state of the device manager: per resource its plugin and devices, and the ledger of who holds
// what. One mutex, never held over a call to a plugin; every change wakes wait_for().
//
// As kubelet since 1.26: the stream of a plugin that another one of the same resource replaces
// stays open, what it sends counts as the resource's list, and the end of any such stream makes the
// resource's devices unhealthy and its plugin unusable until one registers again.
//
// A resource whose plugin is gone keeps its devices, all unhealthy, for a grace time (kubelet: five
// minutes) and then vanishes from the node's status. After a restart the resources of the
// checkpoint are known, with no devices, for the same time.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "lab/kubelet/checkpoint.h"
#include "lab/kubelet/endpoint.h"
#include "lab/kubelet/pod_resources_server.h"
#include "lab/kubelet/types.h"

namespace tranche::lab {

class DeviceTable {
 public:
  struct Plugin {
    std::shared_ptr<Endpoint> endpoint;
    PluginOptions options;
  };

  // `clock` measures the grace time.
  DeviceTable(const Clock& clock, std::chrono::nanoseconds grace);

  // Notes a call of Register.
  void record(Registration registration);
  // The plugin's new endpoint; returns those it replaces, for the caller to close and destroy.
  std::vector<std::shared_ptr<Endpoint>> attach(const std::string& resource, Plugin plugin);
  // A list from `sender`; ignored when another endpoint has taken its place.
  void receive(const std::string& resource, const Endpoint* sender, std::vector<Device> devices);
  // The stream of `sender` ended; ignored when another endpoint has taken its place.
  void detach(const std::string& resource, const Endpoint* sender);

  // Forgets everything but the counts and takes over what a former life stored.
  void restore(Checkpoint checkpoint);
  Checkpoint checkpoint() const;
  // Parts with all plugins, those that left by themselves included; their devices become unhealthy.
  std::vector<std::shared_ptr<Endpoint>> release_plugins();

  bool knows(const std::string& resource) const;
  // Empty when no plugin is connected.
  std::optional<Plugin> plugin(const std::string& resource) const;
  Result<Candidates> candidates(const std::string& resource, int count, IdSet reusable) const;

  void add_pod(const Pod& pod);
  void hold(const std::string& pod_uid, const std::string& container, const std::string& resource,
            Holding holding);
  bool remove_pod(const std::string& pod_uid);
  std::optional<Ledger::Entry> find_pod(const std::string& pod_uid) const;

  NodeStatus status() const;
  std::vector<Device> devices(const std::string& resource) const;
  std::vector<Registration> registrations() const;
  PodResourcesServer::Snapshot snapshot() const;

  // Asks `done` after every change until it is true or the time is over; returns its last answer.
  // `done` may call anything here.
  bool wait_for(const std::function<bool()>& done, std::chrono::milliseconds timeout) const;

 private:
  struct Resource {
    Plugin plugin;                                    // without an endpoint when disconnected
    std::vector<std::shared_ptr<Endpoint>> replaced;  // whose streams are still open
    bool stopped = false;  // a replaced plugin's stream ended: the plugin is not asked any more
    std::map<std::string, Device> devices;
    std::chrono::steady_clock::time_point stopped_at;
  };
  struct Counts {
    int registrations = 0;
    int streams_opened = 0;
    int lists_received = 0;
  };

  void stop_locked(Resource& resource);
  void make_unhealthy_locked(Resource& resource);
  bool expired_locked(const Resource& resource) const;
  // Null when unknown or its grace time is over.
  const Resource* find_locked(const std::string& resource) const;
  // Null when `endpoint` is not, or no longer, the resource's.
  Resource* served_by_locked(const std::string& resource, const Endpoint* endpoint);
  // Takes `endpoint` out of the replaced ones. Null when it is not one of them.
  std::shared_ptr<Endpoint> take_replaced_locked(const std::string& resource,
                                                 const Endpoint* endpoint);
  void changed_locked();

  const Clock& clock_;
  const std::chrono::nanoseconds grace_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t version_ = 0;
  std::map<std::string, Resource> resources_;
  std::map<std::string, Counts> counts_;
  std::vector<Registration> registrations_;
  // Endpoints whose stream ended. They end on their own thread, which must not destroy them.
  std::vector<std::shared_ptr<Endpoint>> gone_;
  Ledger ledger_;
};

}  // namespace tranche::lab
