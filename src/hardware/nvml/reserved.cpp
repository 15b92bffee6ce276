#include "nvml/reserved.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace tranche::nvml {
namespace {

// Drivers keep 0.4 % (H200) to 6.4 % (a vGPU) of the memory. More than an eighth is no estimate: a
// process ended meanwhile, or is not listed.
constexpr std::uint64_t kMost = 8;
constexpr std::uint64_t kGuess = 32;  // one 32nd
constexpr std::size_t kMostProcesses = 512;

using ListFunction = Function<Return(Device, unsigned*, ProcessInfo*)>;

// False: the list, or the memory of a process in it, is unknown.
bool add_processes(Calls& call, Device device, const ListFunction& newer, const ListFunction& older,
                   std::map<unsigned, std::uint64_t>& held) {
  const auto& function = newer.pointer != nullptr ? newer : older;
  std::vector<ProcessInfo> infos(kMostProcesses);
  auto count = static_cast<unsigned>(infos.size());
  if (call(function, device, &count, infos.data()) != kSuccess) return false;
  infos.resize(std::min<std::size_t>(count, infos.size()));
  for (const ProcessInfo& info : infos) {
    if (info.used_memory == kNotAvailable) return false;
    auto& memory = held[info.pid];
    memory = std::max(memory, info.used_memory);
  }
  return true;
}

// Used memory that belongs to none of the processes; nullopt: unknown.
std::optional<Bytes> used_by_none(Calls& call, Device device, const Memory& memory) {
  const Api& api = call.api();
  std::map<unsigned, std::uint64_t> held;
  if (!add_processes(call, device, api.nvmlDeviceGetComputeRunningProcesses_v3,
                     api.nvmlDeviceGetComputeRunningProcesses_v2, held)) {
    return std::nullopt;
  }
  // A driver returns an error if there is no MPS or no graphics.
  add_processes(call, device, api.nvmlDeviceGetMPSComputeRunningProcesses_v3,
                api.nvmlDeviceGetMPSComputeRunningProcesses_v2, held);
  add_processes(call, device, api.nvmlDeviceGetGraphicsRunningProcesses_v3,
                api.nvmlDeviceGetGraphicsRunningProcesses_v2, held);
  std::uint64_t used = memory.total - std::min(memory.total, memory.free);
  for (const auto& [pid, bytes] : held) used -= std::min(used, bytes);
  if (used > memory.total / kMost) return std::nullopt;
  return Bytes{used};
}

}  // namespace

Reserved read_reserved(Calls& call, Device device, const Memory& memory) {
  MemoryV2 newer = {.version = version_word<MemoryV2>(2)};
  const Return result = call(call.api().nvmlDeviceGetMemoryInfo_v2, device, &newer);
  if (result == kSuccess) return {.memory = {newer.reserved + kUsedByNobody.value}};
  const auto found = used_by_none(call, device, memory);
  const std::uint64_t kept = found.value_or(Bytes{memory.total / kGuess}).value;
  return {.memory = {kept + kUsedByNobody.value}, .result = result, .guessed = !found};
}

}  // namespace tranche::nvml
