#pragma once
// What a container asks of NVIDIA's container runtime, read from its OCI bundle (config.json).
// Pure.
//
// NVIDIA's rules: the names of the bind mounts of /dev/null below /var/run/nvidia-container-devices
// are the wanted devices, when there are any; else NVIDIA_VISIBLE_DEVICES is. Unset, empty or
// `void`: the container is none of ours. `none`: the driver without a GPU.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "nlohmann/json_fwd.hpp"

namespace tranche::lab {

using Json = nlohmann::ordered_json;

inline constexpr const char* kListFolder = "/var/run/nvidia-container-devices";

struct Request {
  bool all = false;
  std::vector<std::string> devices;  // UUIDs, indices, gpu:mig pairs; empty with !all: no GPU
  bool compute = true;               // NVIDIA_DRIVER_CAPABILITIES
  bool utility = true;
  bool operator==(const Request&) const = default;
};

// nullopt: the container does not ask. kInvalidArgument: `spec` is no OCI specification, or a
// capability that NVIDIA does not have is asked for.
Result<std::optional<Request>> read_request(const Json& spec);

}  // namespace tranche::lab
