#pragma once
// A tenant whose limits come from a resource claim (DRA). A device plugin tenant's promise follows
// from the offer, a claim tenant's stands in the claim's record (dra/prepared.h).

#include <string>
#include <vector>

#include "offer/offer.h"
#include "values/limits.h"

namespace tranche::agent {

struct ClaimTenant {
  std::string id;
  std::string driver;
  // What it is promised: the claim's part, less what the claim's configuration lowers. Without
  // devices while they are not made yet.
  GrantLimits limits;
  // The most that it may get: all of the claim's part, in the order of `limits`. The scheduler
  // gives the rest of the device to others.
  std::vector<DeviceLimits> most;
  std::vector<offer::Device> devices;  // those of `limits` that the machine has
  // Its containers are clients of MPS: part of their limits is in their environment and cannot be
  // raised while they run.
  bool client = false;
  bool by_mps = false;  // MPS shares the compute among them, not the limiter
  bool operator==(const ClaimTenant&) const = default;
};

}  // namespace tranche::agent
