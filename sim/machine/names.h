#pragma once
// NVML's words in a machine file and on the command line: architectures, brands, virtualisation,
// topology levels, error codes. Pure functions over constant tables.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tranche::sim {

std::optional<std::uint32_t> parse_architecture(std::string_view text);     // "ampere"
std::optional<std::uint32_t> parse_brand(std::string_view text);            // "tesla", "nvidia"
std::optional<std::uint32_t> parse_virtualization(std::string_view text);   // "passthrough"
std::optional<std::uint32_t> parse_topology_level(std::string_view text);   // "PIX" ... "SYS"
std::optional<std::uint32_t> parse_recovery_action(std::string_view text);  // "gpu-reset"
// "GPU_IS_LOST" or "NVML_ERROR_GPU_IS_LOST" or "15".
std::optional<std::uint32_t> parse_error(std::string_view text);
std::string error_name(std::uint32_t code);  // "NVML_ERROR_GPU_IS_LOST", "999" for unknown numbers
std::string recovery_action_name(std::uint32_t action);

}  // namespace tranche::sim
