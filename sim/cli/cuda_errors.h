#pragma once
// The CUDA driver's error codes by name. Pure functions over a constant table.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tranche::sim {

// "OUT_OF_MEMORY", "CUDA_ERROR_OUT_OF_MEMORY" or "2".
std::optional<std::uint32_t> parse_cuda_error(std::string_view text);
// "CUDA_ERROR_OUT_OF_MEMORY"; "2000" for unknown numbers.
std::string cuda_error_name(std::uint32_t code);

}  // namespace tranche::sim
