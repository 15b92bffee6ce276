// nvidia-smi without arguments: the table that everyone knows.

#include <ctime>

#include "fmt/format.h"
#include "sim/smi/smi.h"

namespace tranche::sim::smi {
namespace {

std::string number_or(const std::optional<unsigned int>& value, std::string_view unit) {
  return value ? fmt::format("{}{}", *value, unit) : "N/A";
}

std::string system_line(const char* function) {
  char text[96] = {};
  const unsigned int length = sizeof text;
  return nvml(function, &text[0], length) == NVML_SUCCESS ? std::string(text) : "N/A";
}

std::string cuda_version() {
  int version = 0;
  if (nvml("nvmlSystemGetCudaDriverVersion_v2", &version) != NVML_SUCCESS) return "N/A";
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

void print_head() {
  const std::time_t now = std::time(nullptr);
  char stamp[64] = {};
  std::tm parts = {};
  std::strftime(stamp, sizeof stamp, "%a %b %e %H:%M:%S %Y", ::localtime_r(&now, &parts));
  const std::string driver = system_line("nvmlSystemGetDriverVersion");
  fmt::print("{}\n", stamp);
  fmt::print("+{:-<89}+\n", "");
  fmt::print("| NVIDIA-SMI {:<22} Driver Version: {:<14} CUDA Version: {:<8} |\n",
             driver + " (simulated)", driver, cuda_version());
  fmt::print("|{0:-<41}+{0:-<24}+{0:-<22}|\n", "");
  fmt::print("| GPU  Name                 Persistence-M | Bus-Id          Disp.A | {:<20} |\n",
             "Volatile Uncorr. ECC");
  fmt::print("| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | {:<20} |\n",
             "GPU-Util  Compute M.");
  fmt::print("| {:<39} | {:<22} | {:>20} |\n", "", "", "MIG M.");
  fmt::print("|{0:=<41}+{0:=<24}+{0:=<22}|\n", "");
}

std::string utilization(nvmlDevice_t device) {
  nvmlUtilization_t value = {};
  if (nvml("nvmlDeviceGetUtilizationRates", device, &value) != NVML_SUCCESS) return "N/A";
  return fmt::format("{}%", value.gpu);
}

std::string temperature(nvmlDevice_t device) {
  unsigned int value = 0;
  const unsigned int sensor = 0;
  if (nvml("nvmlDeviceGetTemperature", device, sensor, &value) != NVML_SUCCESS) return "N/A";
  return fmt::format("{}C", value);
}

std::string power(nvmlDevice_t device) {
  const auto draw = device_number("nvmlDeviceGetPowerUsage", device);
  const auto limit = device_number("nvmlDeviceGetEnforcedPowerLimit", device);
  if (!draw || !limit) return "N/A";
  return fmt::format("{}W / {}W", *draw / 1000, *limit / 1000);
}

void print_gpu(const GpuRow& gpu) {
  const nvmlDevice_t device = gpu.device;
  const bool persistent = device_number("nvmlDeviceGetPersistenceMode", device).value_or(0) != 0;
  const auto memory = memory_of(device);
  const auto mode = mig_mode(device);
  unsigned int ecc[2] = {};
  const bool has_ecc = nvml("nvmlDeviceGetEccMode", device, &ecc[0], &ecc[1]) == NVML_SUCCESS;
  fmt::print("| {:>3}  {:<28} {:>4} | {:<16} {:>5} | {:>20} |\n", gpu.index,
             device_text("nvmlDeviceGetName", device).value_or("ERR!").substr(0, 28),
             persistent ? "On" : "Off", bus_id(device), "Off", has_ecc ? "0" : "N/A");
  fmt::print("| N/A  {:>4}   {:>3} {:>23} | {:>22} | {:>7} {:>12} |\n", temperature(device),
             number_or(device_number("nvmlDeviceGetPerformanceState", device), "").insert(0, "P"),
             power(device),
             memory ? fmt::format("{}MiB / {}MiB", memory->used_mib, memory->total_mib) : "N/A",
             utilization(device),
             compute_mode_name(device_number("nvmlDeviceGetComputeMode", device).value_or(9))
                 .substr(0, 12));
  fmt::print("| {:<39} | {:<22} | {:>20} |\n", "", "",
             !mode ? "N/A" : (mode->first ? "Enabled" : "Disabled"));
  fmt::print("+{0:-<41}+{0:-<24}+{0:-<22}+\n", "");
}

void print_mig_devices(const std::vector<GpuRow>& gpus) {
  bool any = false;
  for (const GpuRow& gpu : gpus) {
    unsigned int index = 0;
    for (nvmlDevice_t device : mig_devices(gpu.device)) {
      if (!any) {
        fmt::print("\n+{:-<89}+\n| {:<87} |\n", "", "MIG devices:");
        fmt::print("| {:<4} {:<4} {:<4} {:<4} {:>24} {:>42} |\n", "GPU", "GI", "CI", "MIG",
                   "Memory-Usage", "");
        fmt::print("|{:=<89}|\n", "");
      }
      any = true;
      const auto memory = memory_of(device);
      fmt::print("| {:>3}  {:>3}  {:>3}  {:>3}  {:>24} {:>42} |\n", gpu.index,
                 device_number("nvmlDeviceGetGpuInstanceId", device).value_or(0),
                 device_number("nvmlDeviceGetComputeInstanceId", device).value_or(0), index,
                 memory ? fmt::format("{}MiB / {}MiB", memory->used_mib, memory->total_mib) : "N/A",
                 "");
      ++index;
    }
  }
  if (any) fmt::print("+{:-<89}+\n", "");
}

std::string instance_text(unsigned int id) {
  return id == 0xFFFFFFFFU ? "N/A" : std::to_string(id);
}

void print_processes(const std::vector<GpuRow>& gpus) {
  fmt::print("\n+{:-<89}+\n| {:<87} |\n", "", "Processes:");
  fmt::print("| {:>3} {:>4} {:>4} {:>10} {:>6}   {:<39} {:>13} |\n", "GPU", "GI", "CI", "PID",
             "Type", "Process name", "GPU Memory");
  fmt::print("|{:=<89}|\n", "");
  bool any = false;
  for (const GpuRow& gpu : gpus) {
    for (const auto& [function, type] :
         {std::pair{"nvmlDeviceGetComputeRunningProcesses_v3", "C"},
          std::pair{"nvmlDeviceGetMPSComputeRunningProcesses_v3", "M+C"},
          std::pair{"nvmlDeviceGetGraphicsRunningProcesses_v3", "G"}}) {
      for (const auto& process : processes_of(gpu.device, function)) {
        any = true;
        fmt::print("| {:>3} {:>4} {:>4} {:>10} {:>6}   {:<39} {:>10}MiB |\n", gpu.index,
                   instance_text(process.gpuInstanceId), instance_text(process.computeInstanceId),
                   process.pid, type, process_name(process.pid).substr(0, 39),
                   process.usedGpuMemory >> 20U);
      }
    }
  }
  if (!any) fmt::print("| {:<87} |\n", " No running processes found");
  fmt::print("+{:-<89}+\n", "");
}

}  // namespace

int print_table(const std::vector<GpuRow>& gpus) {
  print_head();
  for (const GpuRow& gpu : gpus) print_gpu(gpu);
  print_mig_devices(gpus);
  print_processes(gpus);
  return 0;
}

}  // namespace tranche::sim::smi
