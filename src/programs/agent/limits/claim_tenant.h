#pragma once
// A tenant whose limits are a resource claim's (DRA). What a tenant of the device plugin is
// promised follows from the offer; what a claim's tenant is promised stands in the claim's own
// record (dra/prepared.h). Whose it is, the book of holdings knows.

#include <string>
#include <vector>

#include "offer/offer.h"
#include "values/limits.h"

namespace tranche::agent {

struct ClaimTenant {
  std::string id;
  std::string driver;
  // What it is promised: the claim's part, less what the claim's configuration lowers. No devices:
  // they are not made yet.
  GrantLimits limits;
  // The most that it may be given: all of the claim's part, in the order of `limits`. The scheduler
  // gives the rest of the device to others.
  std::vector<DeviceLimits> most;
  std::vector<offer::Device> devices;  // those of `limits` that the machine has
  // Its containers are clients of MPS: a part of what they were promised stands in their
  // environment, and cannot be raised while they run.
  bool client = false;
  bool by_mps = false;  // MPS shares the compute among them, not the limiter
  bool operator==(const ClaimTenant&) const = default;
};

}  // namespace tranche::agent
