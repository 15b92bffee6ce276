#pragma once
// The simulated nvidia-smi: the queries and commands used by people's scripts and our scenarios,
// answered through libnvidia-ml.so.1, which it loads like the real one (except for compute-policy,
// which NVML does not support: the real one asks the driver itself, this one the machine's state).
// The output format is the real one's; the code is our own. One thread, one run.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/nvml/abi.h"

namespace tranche::sim {
struct Gpu;
struct State;
}  // namespace tranche::sim

namespace tranche::sim::smi {

using namespace abi;  // NOLINT(google-build-using-namespace): NVML's names are the point here

// A function of the library; nullptr if it lacks it.
void* find_function(const char* name);

// Calls NVML function `name`. The argument types are used as given: they must match the
// declaration.
template <class... Arguments>
nvmlReturn_t nvml(const char* name, Arguments... arguments) {
  void* function = find_function(name);
  if (function == nullptr) return NVML_ERROR_FUNCTION_NOT_FOUND;
  return reinterpret_cast<nvmlReturn_t (*)(Arguments...)>(function)(arguments...);  // NOLINT
}

std::string nvml_text(nvmlReturn_t code);

// A text or a number from one of NVML's getters; nullopt if it fails.
std::optional<std::string> device_text(const char* function, nvmlDevice_t device);
std::optional<unsigned int> device_number(const char* function, nvmlDevice_t device);

struct GpuRow {
  unsigned int index = 0;
  nvmlDevice_t device = nullptr;
};

// nvidia-smi memory-limits: limits in MiB, or "max".
struct MemoryLimitWish {
  std::string cgroup;
  std::string soft;
  std::string hard;
};

// nvidia-smi mig -cgi and similar.
struct MigWish {
  std::vector<std::string> profiles;  // numbers or names, "9:4" with a placement
  std::vector<std::string> gpu_instances;
  std::vector<std::string> compute_instances;
  bool with_compute = false;  // -C
};

struct Options {
  std::string gpu;  // -i: index, UUID or PCI address; empty: all
  bool list = false;
  std::vector<std::string> query_gpu;
  std::vector<std::string> query_apps;
  bool header = true;
  bool units = true;
  std::string compute_mode;
  std::string mig_mode;
  std::string time_slice;
  MemoryLimitWish memory_limits;
  MigWish mig;
  bool reset = false;
  std::string command;       // "topo", "mig", "compute-policy", "memory-limits"
  std::string command_flag;  // "-m", "-lgip", ...
};

// The GPUs of `options.gpu`, or a message and the exit code.
struct Failure {
  std::string message;
  int exit_code = 0;
};
std::optional<Failure> find_gpus(const Options& options, std::vector<GpuRow>& out);

// Each prints and returns the exit code.
int print_list(const std::vector<GpuRow>& gpus);
int print_table(const std::vector<GpuRow>& gpus);
int print_gpu_query(const Options& options, const std::vector<GpuRow>& gpus);
int print_app_query(const Options& options, const std::vector<GpuRow>& gpus);
int print_topology(const std::vector<GpuRow>& gpus);
int print_mig(const std::string& flag, const std::vector<GpuRow>& gpus);
bool is_mig_change(const std::string& flag);
int change_mig(const std::string& flag, const MigWish& wish, const std::vector<GpuRow>& all);
int reset_gpus(const std::vector<GpuRow>& rows);
int set_compute_mode(const std::string& mode, const std::vector<GpuRow>& gpus);
int set_mig_mode(const std::string& mode, const std::vector<GpuRow>& gpus);
int print_memory_limits(const MemoryLimitWish& wish, const std::vector<GpuRow>& gpus);
int set_memory_limits(const MemoryLimitWish& wish, const std::vector<GpuRow>& gpus);
int list_time_slices(const std::vector<GpuRow>& gpus);
int set_time_slice(const std::string& wanted, const std::vector<GpuRow>& gpus);

// Shared helpers.
// The GPU in the machine's state; nullptr: there is none with this UUID.
Gpu* find_gpu(State& state, nvmlDevice_t device);
struct Memory {
  unsigned long long total_mib = 0;
  unsigned long long used_mib = 0;
  unsigned long long free_mib = 0;
  unsigned long long reserved_mib = 0;
};
std::optional<Memory> memory_of(nvmlDevice_t device);
std::vector<nvmlProcessInfo_v2_t> processes_of(nvmlDevice_t device, const char* function);
std::string process_name(unsigned int pid);
std::string bus_id(nvmlDevice_t device);
std::string compute_mode_name(unsigned int mode);
// nullopt: the GPU has no MIG.
std::optional<std::pair<bool, bool>> mig_mode(nvmlDevice_t device);
std::vector<nvmlDevice_t> mig_devices(nvmlDevice_t device);

}  // namespace tranche::sim::smi
