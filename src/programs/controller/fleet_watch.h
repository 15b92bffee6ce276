#pragma once
// The current fleet (admission/fleet_of.h): follows our driver's ResourceSlices and the Nodes.
//
// Kubelet removes a node's slices when it starts, and the driver publishes them again. A model
// therefore stays in the fleet for `model_stays` after its last slice is gone, so that templates do
// not change back and forth; but only while a node that had it is there in mode dra. A node that
// has left the mode gives nothing to claims any more, though its slices stay until its last claim
// has ended. A template that still names a removed model does no harm. `expected` models are in the
// fleet before any node has them, so that Pods can wait for an autoscaler's nodes; not where
// Kubernetes keeps no shares.
//
// Thread-safe. The destructor ends the watches. Works over the port cluster::Objects.

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admission/fleet.h"
#include "base/dra_driver.h"
#include "base/result.h"
#include "cluster/node.h"
#include "cluster/resource_slice.h"
#include "controller/worker.h"
#include "process/change_notifier.h"

namespace tranche::controller {

class FleetWatch {
 public:
  struct Options {
    std::string driver{kDefaultDraDriver};
    std::chrono::seconds model_stays = std::chrono::minutes(5);
    std::vector<admission::DraModel> expected = {};
  };

  FleetWatch(const WorkerContext& context, Options options);
  FleetWatch(const FleetWatch&) = delete;
  FleetWatch& operator=(const FleetWatch&) = delete;

  // kUnavailable: the first lists have not been read yet.
  Result<admission::Fleet> fleet() const;
  std::optional<std::string> trouble() const;
  // Called on a watch's thread when the fleet may have changed. There is one listener; null removes
  // it.
  void listen(std::function<void()> listener) { notifier_.listen(std::move(listener)); }

 private:
  // `gone`: since when no slice has the model; nullopt: one has.
  struct Known {
    admission::DraModel model;
    std::set<std::string> nodes = {};  // whose slices have it, or had it last
    std::optional<std::chrono::steady_clock::time_point> gone = {};
  };
  enum class Standing { kUnknown, kTakesClaims, kHasLeft };  // of a node

  void take_slice(const cluster::CacheChange& change);
  void take_node(const cluster::CacheChange& change);
  Standing standing_of(const std::string& node) const;
  bool stays(const Known& known) const;
  void count_models();
  void count_replicas();

  const WorkerContext context_;
  const Options options_;
  process::ChangeNotifier notifier_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  bool has_slices_ = false;  // a complete list was read
  bool has_nodes_ = false;
  std::map<std::string, cluster::ResourceSlice> slices_;
  std::map<std::string, cluster::Node> nodes_;
  std::map<std::string, Known> models_;  // by product
  std::vector<admission::Replica> replicas_;
  bool whole_alone_ = false;
  // Last: their threads use the others.
  Watch slice_cache_;
  Watch node_cache_;
};

}  // namespace tranche::controller
