#pragma once
// Tracks processes on devices to which no limit applies, and since when NVML has listed them. A
// finding is reported once it is kPatience old, and logged once; forgery is reported at once. A
// tenant can create any number of processes: of those with the same kind of finding the first is
// logged and the others are counted, and kMostOfOne of them are reported.
//
// Not thread-safe.

#include <chrono>
#include <compare>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/log_limiter.h"
#include "limit/arbiter_status.h"

namespace tranche::arbiter {

class Findings {
 public:
  // A process registers when it first uses CUDA, so a process that has just started is not a
  // finding yet.
  static constexpr std::chrono::seconds kPatience{10};
  // The most findings of one kind about one tenant, or one Pod, on one device that are reported.
  static constexpr std::size_t kMostOfOne = 64;

  // Both must outlive it.
  Findings(const Clock& clock, const Log& log) : clock_(clock), told_(clock, log) {}

  // `strays`: all processes that are currently on `device` and should not be; `since` is filled in
  // here. Findings of `device` that are not among them are forgotten.
  void take(const std::string& device, std::vector<limit::Finding> strays);
  // Forgets the findings of all other devices.
  void keep_only(const std::vector<std::string>& devices);

  // The findings that are old enough, ordered by device and pid.
  std::vector<limit::Finding> current() const;

 private:
  struct Key {
    std::string device;
    pid_t pid;
    std::uint64_t start_time;
    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    limit::Finding finding;
    std::chrono::steady_clock::time_point seen;
    bool told = false;
  };

  // A process that has just started may still register. One that forges is already registered.
  bool is_due(const Entry& entry) const {
    const auto kind = entry.finding.kind;
    return kind == limit::Finding::Kind::kForgedCharge ||
           kind == limit::Finding::Kind::kUnderReported || clock_.now() - entry.seen >= kPatience;
  }
  void tell(const limit::Finding& finding);

  const Clock& clock_;
  LogLimiter told_;
  std::map<Key, Entry> entries_;
};

}  // namespace tranche::arbiter
