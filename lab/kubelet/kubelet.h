#pragma once
// A stand-in for kubelet's device manager (1.36), for the demo and for tests: a small program that
// speaks only gRPC to device plugins and knows nothing else of them. It is not kubelet: it starts
// no containers and talks to no API server; "admit" reports what kubelet would have done.
//
// As in kubelet: at start it removes everything except folders and its checkpoint from
// <root>/device-plugins (plugin sockets too), then serves kubelet.sock there and
// <root>/pod-resources/kubelet.sock. Register dials the plugin at once and answers when the plugin
// has reported its options. When a plugin's stream ends its devices are unhealthy, and removed
// after a grace time. Answers of Allocate are checkpointed and never asked for again; the
// checkpoint is also written with each list of devices. The difference: ids are chosen and sent in
// ascending order (kubelet: at random).
//
// Thread-safe. Stop may come at any time and ends all calls to plugins; the destructor stops.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "lab/kubelet/types.h"

namespace tranche::lab {

// What Register does to a plugin, for tests of the plugin.
enum class RegisterFault {
  kNone,
  kHang,   // no answer while this lasts
  kError,  // an error at once
};

class Kubelet {
 public:
  struct Options {
    // Kubelet's root, /var/lib/kubelet on a real node. At most 80 characters: sockets live below.
    std::filesystem::path root;
    // How long a resource outlives its plugin.
    std::chrono::milliseconds grace = std::chrono::minutes(5);
    // How long Register waits for the plugin's socket to answer.
    std::chrono::milliseconds dial_timeout = std::chrono::seconds(10);
  };

  // Both references must outlive the object. `clock` measures `grace` and stamps registrations.
  Kubelet(Options options, const Clock& clock, const Log& log);
  ~Kubelet();
  Kubelet(const Kubelet&) = delete;
  Kubelet& operator=(const Kubelet&) = delete;

  // Errors: a folder or socket that cannot be made; kFailedPrecondition when it runs already.
  Result<void> start();
  // Kubelet is away: no sockets, no connections. What it held stays readable here.
  void stop();
  Result<void> restart();
  void set_fault(RegisterFault fault);
  // As a kubelet without its Pods since its start: pod-resources lists none, though they run and
  // the checkpoint names them.
  void set_api_server_away(bool away);

  NodeStatus status() const;
  // 0 for a resource that is not there.
  int capacity(const std::string& resource) const;
  int allocatable(const std::string& resource) const;
  // By id.
  std::vector<Device> devices(const std::string& resource) const;
  // All since construction, restarts included.
  std::vector<Registration> registrations() const;

  PodStatus admit(const Pod& pod);
  // `pod_uid`: Pod::uid, or "<namespace>/<name>" for a pod without.
  Result<void> remove(const std::string& pod_uid);
  Result<ContainerHoldings> restart_container(const std::string& pod_uid,
                                              const std::string& container);

  // One call to the plugin of `resource`, with any ids, without a record.
  Result<Answer> allocate_raw(const std::string& resource, const Ids& ids);
  Result<Ids> preferred_raw(const std::string& resource, const Ids& available,
                            const Ids& must_include, int count);

  // Waits until `done` holds, asked after every change; false when the time is over first.
  bool wait_for(const std::function<bool()>& done, std::chrono::milliseconds timeout) const;
  bool wait_allocatable(const std::string& resource, int count,
                        std::chrono::milliseconds timeout) const;

  // <root>/device-plugins/kubelet.sock and <root>/pod-resources/kubelet.sock.
  std::filesystem::path registration_socket() const;
  std::filesystem::path pod_resources_socket() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tranche::lab
