#include "sim/cli/cuda_errors.h"

#include <algorithm>
#include <iterator>

#include "sim/machine/read_number.h"

namespace tranche::sim {
namespace {

struct CudaError {
  std::string_view name;
  std::uint32_t code;
};

constexpr CudaError kCudaErrors[] = {
#define E(name, value, text) {#name, value},
#include "sim/cuda/errors.def"
#undef E
};

}  // namespace

std::optional<std::uint32_t> parse_cuda_error(std::string_view text) {
  if (const auto number = read_number<std::uint32_t>(text)) return number;
  const auto found = std::ranges::find_if(kCudaErrors, [&](const CudaError& error) {
    return error.name == text || error.name == "CUDA_ERROR_" + std::string(text);
  });
  return found == std::end(kCudaErrors) ? std::nullopt : std::optional(found->code);
}

std::string cuda_error_name(std::uint32_t code) {
  const auto found = std::ranges::find(kCudaErrors, code, &CudaError::code);
  return found == std::end(kCudaErrors) ? std::to_string(code) : std::string(found->name);
}

}  // namespace tranche::sim
