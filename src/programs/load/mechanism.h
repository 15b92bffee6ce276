#pragma once
// The sharing mechanisms that a comparison runs under: checks whether this machine has one, and
// determines the environment in which its workers start. Nothing here starts or changes anything. A
// mechanism counts as available only if it is detected.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "load/worker_group.h"

namespace tranche::load {

enum class Mechanism : std::uint8_t { kTimeSlicing, kMps, kLimits };

std::string_view name_of(Mechanism mechanism);
// Parses "time-slicing,mps,limits". kInvalidArgument, with the known names: an unknown name.
Result<std::vector<Mechanism>> parse_mechanisms(std::string_view text);

struct MechanismOptions {
  // "NAME=VALUE": the variables that make a process a client of an MPS server. Empty: the control
  // daemon that CUDA_MPS_PIPE_DIRECTORY names (or the default one) must answer; clients inherit
  // that variable.
  std::vector<std::string> mps_environment;
  std::string limit_library;  // libtranche-limit.so
  // The arbiter's folder of tenants. It has a tenant for each role ("latency", "neighbour-1", ...).
  std::string tenants;
};

// kFailedPrecondition, with the reason: the mechanism is not available for these roles.
Result<void> check(Mechanism mechanism, const MechanismOptions& options, const DeviceInfo& device,
                   const std::vector<std::string>& roles);
Surroundings surroundings_of(Mechanism mechanism, const MechanismOptions& options,
                             const std::string& role);

}  // namespace tranche::load
