#pragma once
// Elects the leader among several controllers: the one whose name a Lease holds. The rules are
// client-go's, so both can compete for one Lease. The holder renews it every `retry`. Another takes
// it when the record has not changed for `duration` by its own clock; clocks of two machines are
// never compared. A holder that could not renew within `renew_deadline`, counted from before the
// request and shorter than `duration`, stops leading. So no two lead at once, however late an
// answer is.
//
// attempt() and release() are called by one thread at a time; the rest is thread-safe.

#include <chrono>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/lease.h"
#include "cluster/objects.h"

namespace tranche::controller {

class Elector {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Options {
    cluster::ObjectKey lease;
    std::string identity;  // not empty; different from every other controller's
    std::chrono::seconds duration{15};
    std::chrono::seconds renew_deadline{10};
    std::chrono::seconds retry{2};
  };

  // The references outlive it.
  Elector(cluster::Objects& objects, Options options, const Clock& clock, const Log& log);

  // Takes or renews the Lease, or reads who holds it. Call it every `retry`. A failure is logged
  // once until its text changes.
  void attempt(const std::stop_token& stop = {});
  // Releases the Lease if held, so that another controller need not wait until it expires.
  void release();

  bool leads() const { return time_left() > std::chrono::milliseconds(0); }
  // How long this process still leads without a renewal; zero when it does not lead.
  std::chrono::milliseconds time_left() const;
  // Whether this process led and no longer does.
  bool lost() const;

 private:
  // A Lease as read, and when its last change was observed.
  struct Observed {
    cluster::Lease lease;
    Time since;
  };

  Result<void> try_once(const std::stop_token& stop);
  Result<void> create(const cluster::Call& call, Time asked);
  Result<void> take(const cluster::Lease& lease, const cluster::Call& call, Time asked);
  cluster::Lease mine(const cluster::Lease* before) const;
  void held_until(std::optional<Time> time);
  void give_up(const std::string& why);

  cluster::Objects& objects_;
  const Options options_;
  const Clock& clock_;
  const Log& log_;
  std::optional<Observed> observed_;
  std::string complaint_;
  std::string leader_;  // the other leader that was logged last
  mutable std::mutex mutex_;
  std::optional<Time> held_until_;  // guarded by mutex_
  bool led_ = false;                // guarded by mutex_
};

}  // namespace tranche::controller
