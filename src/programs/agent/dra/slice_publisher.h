#pragma once
// Keeps this node's ResourceSlices up to date, on its own thread: writes what differs, looks again
// when anybody changed them (kubelet removes all when it starts), and retries while the API server
// is away. Reports fields that the API server dropped, so that the caller publishes what this
// cluster can hold.
//
// The slices stay when it ends: allocated claims need them, and kubelet removes them when the
// driver has been away for 30 s.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/retrier.h"
#include "cluster/client/watch_cache.h"
#include "cluster/objects.h"
#include "dra/publication.h"

namespace tranche::agent {

class SlicePublisher {
 public:
  struct Ports {
    cluster::Objects& objects;
    dra::PoolNames names;
    // The Node, which owns the slices. An error: not known yet.
    std::function<Result<cluster::OwnerReference>()> owner;
    // On the publisher's thread, once for each kind of field that the API server drops.
    std::function<void(dra::Dropped)> dropped;
    const Log& log;
  };
  explicit SlicePublisher(Ports ports, Backoff backoff = {});

  // From now on the slices are those of `pool`. From any thread.
  void publish(dra::Pool pool);

 private:
  void look();
  Result<void> bring_up_to_date(const std::stop_token& stop);
  Result<void> write_what_differs(const std::stop_token& stop);
  Result<std::vector<cluster::ResourceSlice>> slices_there(const cluster::Call& call) const;
  Result<void> write(const dra::SliceWrite& write, const cluster::Call& call);
  void tell(dra::Dropped dropped);

  const Ports ports_;
  const cluster::ListOptions selection_;
  std::mutex mutex_;
  std::optional<dra::Pool> wanted_;  // guarded by mutex_
  dra::Dropped told_;                // reported so far; only on the retrier's thread
  Retrier retrier_;
  cluster::WatchCache slices_;  // last: its thread asks the retrier
};

}  // namespace tranche::agent
