#pragma once
// Processes on devices that no limit holds, and since when: what the driver told again and again is
// kept until it is old enough to be told to people. Each is logged once.
//
// Not thread-safe.

#include <chrono>
#include <compare>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "limit/arbiter_status.h"

namespace tranche::arbiter {

class Findings {
 public:
  // A process registers when it first uses CUDA, so one that has only begun is no finding.
  static constexpr std::chrono::seconds kPatience{10};

  // Both outlive it.
  Findings(const Clock& clock, const Log& log) : clock_(clock), log_(log) {}

  // Whoever is on `device` now and should not be; `since` is filled in here. Those of it that are
  // not there any more are forgotten.
  void take(const std::string& device, std::vector<limit::Finding> strays);
  // Nobody asks about other devices any more.
  void keep_only(const std::vector<std::string>& devices);

  // Those that are old enough, by device and pid.
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

  bool is_due(const Entry& entry) const { return clock_.now() - entry.seen >= kPatience; }
  void tell(const limit::Finding& finding) const;

  const Clock& clock_;
  const Log& log_;
  std::map<Key, Entry> entries_;
};

}  // namespace tranche::arbiter
