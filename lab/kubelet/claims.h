#pragma once
// Kubelet's calls to a DRA driver, each on its own and without a record. Which claims a Pod has and
// what its containers get, only a real kubelet knows (tests/cluster).

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace tranche::lab {

struct Claim {
  std::string ns;
  std::string name;
  std::string uid;
};

// The CDI devices of the claim's devices, in their order. An error is the driver's, in its words.
Result<std::vector<std::string>> prepare_claim(const std::filesystem::path& socket,
                                               const Claim& claim);
Result<void> unprepare_claim(const std::filesystem::path& socket, const Claim& claim);

}  // namespace tranche::lab
