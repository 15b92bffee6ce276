#pragma once
// The status of this node's arbiter while it runs: a killed arbiter leaves its file behind.
//
// Used by one thread.

#include <filesystem>

#include "base/clock.h"
#include "limit/status_reader.h"

namespace tranche::agent {

class LivingArbiter {
 public:
  // `dir`: the arbiter's --state-dir; empty: none is known here. `clock` outlives it.
  LivingArbiter(const std::filesystem::path& dir, const Clock& clock);

  // Looks again. False: none runs here.
  bool refresh();
  // Empty while none runs, and if its status cannot be read (FindingReporter logs why).
  const limit::ArbiterStatus& status() const { return status_.status(); }

 private:
  std::filesystem::path alive_;  // empty: none is known here
  const Clock& clock_;
  limit::StatusReader status_;
};

}  // namespace tranche::agent
