#pragma once
// Reports in each prepared claim's status.devices what its containers have: the device's UUID,
// their limits, and whether it is ready. For people only: it may be late, and nothing waits for it.

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "agent/holdings/book.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/retrier.h"
#include "cluster/device_status.h"
#include "cluster/objects.h"
#include "dra/health_board.h"

namespace tranche::agent {

struct ClaimStatus {
  cluster::ObjectKey claim;
  std::vector<cluster::DeviceStatus> devices;  // without `since`; empty: the claim has ended here
  bool operator==(const ClaimStatus&) const = default;
};

// By the claim's uid. Claims whose instances are still being made are left out.
std::map<std::string, ClaimStatus> statuses_of(const std::vector<ClaimRecord>& records,
                                               const std::vector<dra::DeviceHealth>& health,
                                               const std::string& driver);

class ClaimStatusWriter {
 public:
  struct Ports {
    cluster::Objects& objects;
    std::string driver;
    const Clock& clock;
    const Log& log;
  };
  explicit ClaimStatusWriter(Ports ports, Backoff backoff = {})
      : ports_(std::move(ports)), retrier_(ports_.log, backoff) {}

  // `statuses`: all prepared claims, by uid. A separate thread writes what differs, and removes the
  // entries of claims that are no longer in it.
  void follow(std::map<std::string, ClaimStatus> statuses);

 private:
  struct Wish {
    ClaimStatus status;
    bool written = false;
  };

  Result<void> write_all(const std::stop_token& stop);
  Result<void> write(const std::string& uid, const ClaimStatus& status, const cluster::Call& call);

  const Ports ports_;
  std::mutex mutex_;
  std::map<std::string, Wish> wishes_;  // by uid; guarded by mutex_
  bool forbidden_ = false;              // guarded by mutex_
  Retrier retrier_;                     // last: its thread uses the others
};

}  // namespace tranche::agent
