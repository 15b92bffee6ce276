// What the environment says of MPS. The simulated control daemon is not there yet: until it is,
// TRANCHE_SIM_MPS_SERVER=<number from 1> makes the process a client of that server.

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "sim/cuda/driver.h"

namespace tranche::sim::cuda {
namespace {

std::uint32_t number_of(const char* name, std::uint32_t otherwise) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

// "0=1G,1=512M": a limit for each device, as CUDA_MPS_PINNED_DEVICE_MEM_LIMIT writes it.
std::vector<std::uint64_t> read_limits(const char* text) {
  std::vector<std::uint64_t> limits;
  while (text != nullptr && *text != '\0') {
    char* end = nullptr;
    const auto ordinal = std::strtoul(text, &end, 10);
    if (*end != '=' || ordinal >= kMaxGpus) return limits;
    const double amount = std::strtod(end + 1, &end);
    const unsigned shift = *end == 'G' ? 30 : 20;
    if (limits.size() <= ordinal) limits.resize(ordinal + 1);
    limits[ordinal] =
        static_cast<std::uint64_t>(amount * static_cast<double>(std::uint64_t{1} << shift));
    while (*end != '\0' && *end != ',') ++end;
    text = *end == ',' ? end + 1 : end;
  }
  return limits;
}

}  // namespace

MpsClient mps_from_environment() {
  MpsClient client;
  client.server = number_of("TRANCHE_SIM_MPS_SERVER", kNoGroup);
  if (client.server == kNoGroup) return client;
  const auto percent = number_of("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", 100);
  client.thread_permille = std::clamp<std::uint32_t>(percent, 1, 100) * 10;
  client.memory_limits = read_limits(std::getenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"));
  return client;
}

}  // namespace tranche::sim::cuda
