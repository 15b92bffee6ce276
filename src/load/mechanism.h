#pragma once
// Ways of sharing a GPU that a comparison runs under: whether this machine has them, and what a
// worker has to be started in. Nothing is started or changed here, and a mechanism that cannot be
// seen to be there is not taken to be.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "load/worker_group.h"

namespace tranche::load {

enum class Mechanism : std::uint8_t { kTimeSlicing, kMps, kLimits };

std::string_view name_of(Mechanism mechanism);
// "time-slicing,mps,limits": kInvalidArgument names what it knows.
Result<std::vector<Mechanism>> parse_mechanisms(std::string_view text);

struct MechanismOptions {
  // What makes a process a client of an MPS server. Empty: the control daemon that
  // CUDA_MPS_PIPE_DIRECTORY names (or the default one) must answer, and clients inherit that.
  std::vector<std::string> mps_environment;
  std::string limit_library;  // libtranche-limit.so
  // The arbiter's folder of tenants, in which each role ("latency", "neighbour-1", ...) is one.
  std::string tenants;
};

// kFailedPrecondition with the reason when it is not available for these roles.
Result<void> check(Mechanism mechanism, const MechanismOptions& options, const DeviceInfo& device,
                   const std::vector<std::string>& roles);
Surroundings surroundings_of(Mechanism mechanism, const MechanismOptions& options,
                             const std::string& role);

}  // namespace tranche::load
