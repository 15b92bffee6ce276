#pragma once
// Elects the leader among several controllers: the one whose name a Lease holds. The rules are
// client-go's, so that the two can take turns. The holder renews the Lease every `retry`. Another
// takes it when the Lease's record has not changed for `duration` by its own clock; clocks of two
// machines are never compared. A holder that could not renew for `renew_deadline` leads no more.
// This is shorter than `duration` and counts from before the request. So no two lead at once,
// however long an answer takes.
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

  // Takes or renews the Lease, or sees who holds it. Called every `retry`. A failure is logged once
  // until its text changes.
  void attempt(const std::stop_token& stop = {});
  // Releases the Lease if it is held, so that another controller need not wait until it runs out.
  void release();

  bool leads() const { return time_left() > std::chrono::milliseconds(0); }
  // How long this process leads without another renewal; zero when it does not lead.
  std::chrono::milliseconds time_left() const;
  // This process led once and does not any more.
  bool lost() const;

 private:
  // A Lease as read, and when its last change was seen.
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
