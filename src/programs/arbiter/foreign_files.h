#pragma once
// Processes that handed over something other than their tenant's usage file (decision 18). Each is
// a finding for kStays, the latest of each tenant.
//
// Not thread-safe.

#include <chrono>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/fs.h"
#include "limit/arbiter_status.h"
#include "tenant/process.h"

namespace tranche::arbiter {

class ForeignFiles {
 public:
  static constexpr std::chrono::minutes kStays{5};

  // `clock` must outlive it. `host`: for /proc.
  ForeignFiles(FsRoot host, const Clock& clock) : host_(std::move(host)), clock_(clock) {}

  // Reads the process's identity at once: it may end at any moment.
  void note(const std::string& tenant, const tenant::ProcessId& process);
  // Adds the findings that have not expired.
  void describe(limit::ArbiterStatus& status) const;

 private:
  struct Entry {
    limit::Finding finding;
    std::chrono::steady_clock::time_point seen;
  };

  FsRoot host_;
  const Clock& clock_;
  std::map<std::string, Entry> entries_;  // by tenant
};

}  // namespace tranche::arbiter
