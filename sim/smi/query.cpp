// nvidia-smi --query-gpu, --query-compute-apps, -L.

#include "fmt/format.h"
#include "sim/smi/smi.h"

namespace tranche::sim::smi {
namespace {

constexpr const char* kNotAvailable = "[N/A]";

struct Value {
  std::string text = kNotAvailable;
  std::string_view unit;
};

struct Field {
  std::string_view name;
  std::string_view alias;
  std::string_view title_unit;  // in the header, as "memory.used [MiB]"
  Value (*read)(const GpuRow&);
};

Value text(const char* function, const GpuRow& gpu) {
  return {device_text(function, gpu.device).value_or(kNotAvailable)};
}

Value number(const char* function, const GpuRow& gpu, std::string_view unit = "") {
  const auto value = device_number(function, gpu.device);
  if (!value) return {};
  return {std::to_string(*value), unit};
}

Value system_text(const char* function) {
  char out[96] = {};
  const unsigned int length = sizeof out;
  if (nvml(function, &out[0], length) != NVML_SUCCESS) return {};
  return {out};
}

Value memory(const GpuRow& gpu, unsigned long long Memory::* part) {
  const auto value = memory_of(gpu.device);
  if (!value) return {};
  return {std::to_string((*value).*part), " MiB"};
}

Value utilization(const GpuRow& gpu, unsigned int nvmlUtilization_t::* part) {
  nvmlUtilization_t value = {};
  if (nvml("nvmlDeviceGetUtilizationRates", gpu.device, &value) != NVML_SUCCESS) return {};
  return {std::to_string(value.*part), " %"};
}

Value watts(const char* function, const GpuRow& gpu) {
  const auto value = device_number(function, gpu.device);
  if (!value) return {};
  return {fmt::format("{:.2f}", *value / 1000.0), " W"};
}

Value clock(const char* function, const GpuRow& gpu, unsigned int type) {
  unsigned int value = 0;
  if (nvml(function, gpu.device, type, &value) != NVML_SUCCESS) return {};
  return {std::to_string(value), " MHz"};
}

Value capability(const GpuRow& gpu) {
  int major = 0;
  int minor = 0;
  if (nvml("nvmlDeviceGetCudaComputeCapability", gpu.device, &major, &minor) != NVML_SUCCESS) {
    return {};
  }
  return {fmt::format("{}.{}", major, minor)};
}

Value mig(const GpuRow& gpu, bool pending) {
  const auto mode = mig_mode(gpu.device);
  if (!mode) return {};
  return {(pending ? mode->second : mode->first) ? "Enabled" : "Disabled"};
}

Value temperature(const GpuRow& gpu) {
  unsigned int value = 0;
  const unsigned int sensor = 0;
  if (nvml("nvmlDeviceGetTemperature", gpu.device, sensor, &value) != NVML_SUCCESS) return {};
  return {std::to_string(value)};
}

Value memory_temperature(const GpuRow& gpu) {
  nvmlFieldValue_t field = {};
  field.fieldId = NVML_FI_DEV_MEMORY_TEMP;
  if (nvml("nvmlDeviceGetFieldValues", gpu.device, 1, &field) != NVML_SUCCESS ||
      field.nvmlReturn != NVML_SUCCESS) {
    return {};
  }
  return {std::to_string(field.value.uiVal)};
}

Value switched(const char* function, const GpuRow& gpu) {
  const auto value = device_number(function, gpu.device);
  if (!value) return {};
  return {*value != 0 ? "Enabled" : "Disabled"};
}

Value gpu_count() {
  unsigned int count = 0;
  if (nvml("nvmlDeviceGetCount_v2", &count) != NVML_SUCCESS) return {};
  return {std::to_string(count)};
}

constexpr unsigned int kSmClock = 1;
constexpr unsigned int kMemoryClock = 2;

const Field kFields[] = {
    {"name", "gpu_name", "", [](const GpuRow& g) { return text("nvmlDeviceGetName", g); }},
    {"uuid", "gpu_uuid", "", [](const GpuRow& g) { return text("nvmlDeviceGetUUID", g); }},
    {"index", "", "", [](const GpuRow& g) { return Value{std::to_string(g.index)}; }},
    {"count", "", "", [](const GpuRow&) { return gpu_count(); }},
    {"serial", "gpu_serial", "", [](const GpuRow& g) { return text("nvmlDeviceGetSerial", g); }},
    {"vbios_version", "", "", [](const GpuRow& g) { return text("nvmlDeviceGetVbiosVersion", g); }},
    {"driver_version", "", "",
     [](const GpuRow&) { return system_text("nvmlSystemGetDriverVersion"); }},
    {"pci.bus_id", "gpu_bus_id", "", [](const GpuRow& g) { return Value{bus_id(g.device)}; }},
    {"compute_cap", "", "", capability},
    {"memory.total", "", "MiB", [](const GpuRow& g) { return memory(g, &Memory::total_mib); }},
    {"memory.used", "", "MiB", [](const GpuRow& g) { return memory(g, &Memory::used_mib); }},
    {"memory.free", "", "MiB", [](const GpuRow& g) { return memory(g, &Memory::free_mib); }},
    {"memory.reserved", "", "MiB",
     [](const GpuRow& g) { return memory(g, &Memory::reserved_mib); }},
    {"utilization.gpu", "", "%",
     [](const GpuRow& g) { return utilization(g, &nvmlUtilization_t::gpu); }},
    {"utilization.memory", "", "%",
     [](const GpuRow& g) { return utilization(g, &nvmlUtilization_t::memory); }},
    {"mig.mode.current", "", "", [](const GpuRow& g) { return mig(g, false); }},
    {"mig.mode.pending", "", "", [](const GpuRow& g) { return mig(g, true); }},
    {"compute_mode", "", "",
     [](const GpuRow& g) {
       const auto mode = device_number("nvmlDeviceGetComputeMode", g.device);
       return mode ? Value{compute_mode_name(*mode)} : Value{};
     }},
    {"persistence_mode", "", "",
     [](const GpuRow& g) { return switched("nvmlDeviceGetPersistenceMode", g); }},
    {"temperature.gpu", "", "", temperature},
    {"temperature.memory", "", "", memory_temperature},
    {"power.draw", "", "W", [](const GpuRow& g) { return watts("nvmlDeviceGetPowerUsage", g); }},
    {"power.limit", "", "W",
     [](const GpuRow& g) { return watts("nvmlDeviceGetEnforcedPowerLimit", g); }},
    {"pstate", "", "",
     [](const GpuRow& g) {
       const auto state = device_number("nvmlDeviceGetPerformanceState", g.device);
       return state ? Value{fmt::format("P{}", *state)} : Value{};
     }},
    {"clocks.sm", "clocks.current.sm", "MHz",
     [](const GpuRow& g) { return clock("nvmlDeviceGetClockInfo", g, kSmClock); }},
    {"clocks.mem", "clocks.current.memory", "MHz",
     [](const GpuRow& g) { return clock("nvmlDeviceGetClockInfo", g, kMemoryClock); }},
    {"clocks.max.sm", "", "MHz",
     [](const GpuRow& g) { return clock("nvmlDeviceGetMaxClockInfo", g, kSmClock); }},
    {"clocks.max.memory", "clocks.max.mem", "MHz",
     [](const GpuRow& g) { return clock("nvmlDeviceGetMaxClockInfo", g, kMemoryClock); }},
    {"pcie.link.gen.current", "", "",
     [](const GpuRow& g) { return number("nvmlDeviceGetCurrPcieLinkGeneration", g); }},
    {"pcie.link.width.current", "", "",
     [](const GpuRow& g) { return number("nvmlDeviceGetCurrPcieLinkWidth", g); }},
};

const Field* find_field(std::string_view name) {
  for (const Field& field : kFields) {
    if (name == field.name || (!field.alias.empty() && name == field.alias)) return &field;
  }
  return nullptr;
}

std::string title(std::string_view name, std::string_view unit, bool units) {
  return unit.empty() || !units ? std::string(name) : fmt::format("{} [{}]", name, unit);
}

int unknown_field(const std::string& name) {
  fmt::print(stderr, "Field \"{}\" is not a valid field to query.\n", name);
  return NVML_ERROR_INVALID_ARGUMENT;
}

struct App {
  nvmlProcessInfo_v2_t process;
  std::string gpu_uuid;
  std::string gpu_bus_id;
  std::string gpu_name;
};

std::optional<Value> app_value(std::string_view field, const App& app) {
  if (field == "pid") return Value{std::to_string(app.process.pid)};
  if (field == "process_name" || field == "name") return Value{process_name(app.process.pid)};
  if (field == "used_memory" || field == "used_gpu_memory") {
    return Value{std::to_string(app.process.usedGpuMemory >> 20U), " MiB"};
  }
  if (field == "gpu_uuid") return Value{app.gpu_uuid};
  if (field == "gpu_bus_id") return Value{app.gpu_bus_id};
  if (field == "gpu_name") return Value{app.gpu_name};
  return std::nullopt;
}

void add_apps(const GpuRow& gpu, nvmlDevice_t device, std::vector<App>& apps) {
  for (const char* function :
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3"}) {
    for (const auto& process : processes_of(device, function)) {
      apps.push_back({process, device_text("nvmlDeviceGetUUID", device).value_or(kNotAvailable),
                      bus_id(gpu.device),
                      device_text("nvmlDeviceGetName", gpu.device).value_or(kNotAvailable)});
    }
  }
}

void print_row(const std::vector<Value>& values, bool units) {
  std::string line;
  for (const Value& value : values) {
    line += fmt::format("{}{}{}", line.empty() ? "" : ", ", value.text, units ? value.unit : "");
  }
  fmt::print("{}\n", line);
}

}  // namespace

int print_gpu_query(const Options& options, const std::vector<GpuRow>& gpus) {
  std::vector<const Field*> fields;
  std::vector<Value> titles;
  for (const std::string& name : options.query_gpu) {
    const Field* field = find_field(name);
    if (field == nullptr) return unknown_field(name);
    fields.push_back(field);
    titles.push_back({title(name, field->title_unit, true)});
  }
  if (options.header) print_row(titles, false);
  for (const GpuRow& gpu : gpus) {
    std::vector<Value> row;
    for (const Field* field : fields) row.push_back(field->read(gpu));
    print_row(row, options.units);
  }
  return 0;
}

int print_app_query(const Options& options, const std::vector<GpuRow>& gpus) {
  std::vector<Value> titles;
  for (const std::string& name : options.query_apps) {
    if (!app_value(name, {})) return unknown_field(name);
    const bool memory = name == "used_memory" || name == "used_gpu_memory";
    titles.push_back({title(name, memory ? "MiB" : "", true)});
  }
  if (options.header) print_row(titles, false);
  std::vector<App> apps;
  for (const GpuRow& gpu : gpus) add_apps(gpu, gpu.device, apps);
  for (const App& app : apps) {
    std::vector<Value> row;
    for (const std::string& name : options.query_apps) row.push_back(*app_value(name, app));
    print_row(row, options.units);
  }
  return 0;
}

int print_list(const std::vector<GpuRow>& gpus) {
  for (const GpuRow& gpu : gpus) {
    fmt::print("GPU {}: {} (UUID: {})\n", gpu.index,
               device_text("nvmlDeviceGetName", gpu.device).value_or(kNotAvailable),
               device_text("nvmlDeviceGetUUID", gpu.device).value_or(kNotAvailable));
    unsigned int index = 0;
    for (nvmlDevice_t mig_device : mig_devices(gpu.device)) {
      const std::string name = device_text("nvmlDeviceGetName", mig_device).value_or("");
      fmt::print("  MIG {:<15} Device {:>2}: (UUID: {})\n", name.substr(name.rfind(' ') + 1), index,
                 device_text("nvmlDeviceGetUUID", mig_device).value_or(kNotAvailable));
      ++index;
    }
  }
  return 0;
}

}  // namespace tranche::sim::smi
