#pragma once
// The devices of a daemon or a server, in the CUDA order of its environment.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/gpu/uses.h"

namespace tranche::sim::mps {

// The UUID of the GPU or the MIG device.
std::string uuid_of(const State& state, const UseTarget& device);
// `name` is an ordinal or a UUID. nullopt: there is no such device.
std::optional<std::uint32_t> ordinal_of(const State& state, const std::vector<UseTarget>& devices,
                                        std::string_view name);
// The output of device_query: the header, and a line per device.
std::string device_table(const State& state, const std::vector<UseTarget>& devices);

}  // namespace tranche::sim::mps
