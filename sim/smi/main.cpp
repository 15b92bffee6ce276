// The command line of the nvidia-smi stand-in.

#include <span>

#include "fmt/format.h"
#include "sim/smi/smi.h"

namespace tranche::sim::smi {
namespace {

constexpr const char* kHelp =
    "nvidia-smi (stand-in of the simulated machine)\n\n"
    "  nvidia-smi [-i GPU]                      the table\n"
    "  nvidia-smi -L                            GPUs and MIG devices with their UUIDs\n"
    "  nvidia-smi --query-gpu=FIELD,... --format=csv[,noheader][,nounits] [-i GPU]\n"
    "  nvidia-smi --query-compute-apps=pid,process_name,used_memory,gpu_uuid --format=csv[,...]\n"
    "  nvidia-smi [-i GPU] -c DEFAULT|PROHIBITED|EXCLUSIVE_PROCESS     set the compute mode\n"
    "  nvidia-smi [-i GPU] -mig 0|1             set the MIG mode\n"
    "  nvidia-smi memory-limits --get -n CGROUP [-i GPU]    what a control group may hold, and "
    "does\n"
    "  nvidia-smi memory-limits --set -n CGROUP [--soft-limit MIB|max] [--hard-limit MIB|max] [-i "
    "GPU]\n"
    "  nvidia-smi compute-policy -l [-i GPU]    the time slices of contexts that take turns\n"
    "  nvidia-smi compute-policy --set-timeslice=0..3 [-i GPU]    default, short, medium, long\n"
    "  nvidia-smi topo -m                       how GPUs are connected\n"
    "  nvidia-smi mig -lgip|-lgipp|-lgi|-lci [-i GPU]\n"
    "  nvidia-smi mig -cgi PROFILE[:START],... [-C] [-i GPU]    make GPU instances\n"
    "  nvidia-smi mig -cci [PROFILE,...] [-gi ID,...] [-i GPU]  make compute instances\n"
    "  nvidia-smi mig -dci [-ci ID,...] [-gi ID,...] [-i GPU]   destroy compute instances\n"
    "  nvidia-smi mig -dgi [-gi ID,...] [-i GPU]                destroy GPU instances\n"
    "  nvidia-smi --gpu-reset|-r [-i GPU]       reset GPUs that nobody uses\n"
    "GPU: index, UUID or PCI bus id\n";

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return parts;
}

std::optional<Failure> read_format(std::string_view text, Options& options) {
  bool csv = false;
  for (const std::string& part : split(text)) {
    csv = csv || part == "csv";
    if (part == "noheader") options.header = false;
    if (part == "nounits") options.units = false;
  }
  if (csv) return std::nullopt;
  return Failure{"\"--format=\" must contain \"csv\".", 1};
}

// The value of "--name=value", or of the argument after "--name".
std::optional<std::string_view> value_of(std::span<char*> arguments, std::size_t& at,
                                         std::string_view name) {
  const std::string_view argument = arguments[at];
  if (argument.starts_with(name) && argument.substr(name.size()).starts_with('=')) {
    return argument.substr(name.size() + 1);
  }
  if (argument != name || at + 1 >= arguments.size()) return std::nullopt;
  return arguments[++at];
}

std::string short_flag(std::string_view flag) {
  constexpr std::pair<std::string_view, std::string_view> kLong[] = {
      {"--list-gpu-instance-profiles", "-lgip"},
      {"--list-gpu-instance-possible-placements", "-lgipp"},
      {"--list-gpu-instances", "-lgi"},
      {"--list-compute-instances", "-lci"},
      {"--create-gpu-instance", "-cgi"},
      {"--create-compute-instance", "-cci"},
      {"--destroy-compute-instance", "-dci"},
      {"--destroy-gpu-instance", "-dgi"},
  };
  for (const auto& [name, abbreviation] : kLong) {
    if (flag == name) return std::string(abbreviation);
  }
  return std::string(flag);
}

// An argument after "mig"; false: it is not one of its own.
bool read_mig_argument(std::span<char*> arguments, std::size_t& at, Options& options) {
  const std::string flag = short_flag(arguments[at]);
  if (flag == "-i" || flag == "--id" || !flag.starts_with("-")) return false;
  // Its value is the next argument, if that is no option.
  const auto value = [&] {
    const bool has_value = at + 1 < arguments.size() && arguments[at + 1][0] != '-';
    return has_value ? split(arguments[++at]) : std::vector<std::string>();
  };
  if (flag == "-C" || flag == "--default-compute-instance") {
    options.mig.with_compute = true;
  } else if (flag == "-gi" || flag == "--gpu-instance-id") {
    options.mig.gpu_instances = value();
  } else if (flag == "-ci" || flag == "--compute-instance-id") {
    options.mig.compute_instances = value();
  } else {
    options.command_flag = flag;
    if (flag == "-cgi" || flag == "-cci") options.mig.profiles = value();
  }
  return true;
}

std::optional<Failure> read_argument(std::span<char*> arguments, std::size_t& at,
                                     Options& options) {
  const std::string_view argument = arguments[at];
  if (options.command == "mig" && read_mig_argument(arguments, at, options)) return std::nullopt;
  if (argument == "topo" || argument == "mig" || argument == "compute-policy" ||
      argument == "memory-limits") {
    options.command = argument;
  } else if (const auto cgroup = value_of(arguments, at, "-n")) {
    options.memory_limits.cgroup = *cgroup;
  } else if (const auto name_space = value_of(arguments, at, "--namespace")) {
    options.memory_limits.cgroup = *name_space;
  } else if (const auto soft = value_of(arguments, at, "--soft-limit")) {
    options.memory_limits.soft = *soft;
  } else if (const auto hard = value_of(arguments, at, "--hard-limit")) {
    options.memory_limits.hard = *hard;
  } else if (const auto slice = value_of(arguments, at, "--set-timeslice")) {
    options.time_slice = *slice;
  } else if (!options.command.empty() && argument.starts_with("-") && argument != "-i") {
    options.command_flag = argument;
  } else if (argument == "-r" || argument == "--gpu-reset") {
    options.reset = true;
  } else if (argument == "-L" || argument == "--list-gpus") {
    options.list = true;
  } else if (const auto fields = value_of(arguments, at, "--query-gpu")) {
    options.query_gpu = split(*fields);
  } else if (const auto apps = value_of(arguments, at, "--query-compute-apps")) {
    options.query_apps = split(*apps);
  } else if (const auto format = value_of(arguments, at, "--format")) {
    return read_format(*format, options);
  } else if (const auto id = value_of(arguments, at, "--id")) {
    options.gpu = *id;
  } else if (const auto short_id = value_of(arguments, at, "-i")) {
    options.gpu = *short_id;
  } else if (const auto mode = value_of(arguments, at, "-c")) {
    options.compute_mode = *mode;
  } else if (const auto long_mode = value_of(arguments, at, "--compute-mode")) {
    options.compute_mode = *long_mode;
  } else if (const auto mig = value_of(arguments, at, "-mig")) {
    options.mig_mode = *mig;
  } else {
    return Failure{fmt::format("Invalid combination of input arguments. Please run "
                               "'nvidia-smi -h' for help.\n(stand-in: unknown '{}')",
                               argument),
                   1};
  }
  return std::nullopt;
}

int fail_init(nvmlReturn_t code) {
  if (code == NVML_ERROR_DRIVER_NOT_LOADED || code == NVML_ERROR_FUNCTION_NOT_FOUND) {
    fmt::print(
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure "
        "that the latest NVIDIA driver is installed and running.\n\n");
    return NVML_ERROR_DRIVER_NOT_LOADED;
  }
  fmt::print("Failed to initialize NVML: {}\n", nvml_text(code));
  return code;
}

int run(const Options& options) {
  std::vector<GpuRow> gpus;
  if (const auto failure = find_gpus(options, gpus)) {
    fmt::print("{}\n", failure->message);
    return failure->exit_code;
  }
  if (options.list) return print_list(gpus);
  if (!options.query_gpu.empty()) return print_gpu_query(options, gpus);
  if (!options.query_apps.empty()) return print_app_query(options, gpus);
  if (!options.compute_mode.empty()) return set_compute_mode(options.compute_mode, gpus);
  if (!options.mig_mode.empty()) return set_mig_mode(options.mig_mode, gpus);
  if (options.command == "topo" && options.command_flag == "-m") return print_topology(gpus);
  if (options.command == "compute-policy" && !options.time_slice.empty()) {
    return set_time_slice(options.time_slice, gpus);
  }
  if (options.command == "compute-policy" &&
      (options.command_flag == "-l" || options.command_flag == "--list")) {
    return list_time_slices(gpus);
  }
  if (options.command == "memory-limits" && !options.memory_limits.cgroup.empty()) {
    const auto& wish = options.memory_limits;
    return options.command_flag == "--set" ? set_memory_limits(wish, gpus)
                                           : print_memory_limits(wish, gpus);
  }
  if (options.reset) return reset_gpus(gpus);
  if (options.command == "mig" && is_mig_change(options.command_flag)) {
    return change_mig(options.command_flag, options.mig, gpus);
  }
  if (options.command == "mig") return print_mig(options.command_flag, gpus);
  if (!options.command.empty()) {
    fmt::print("{}", kHelp);
    return 1;
  }
  return print_table(gpus);
}

}  // namespace

int set_compute_mode(const std::string& mode, const std::vector<GpuRow>& gpus) {
  unsigned int wanted = 9;
  if (mode == "0" || mode == "DEFAULT") wanted = 0;
  if (mode == "2" || mode == "PROHIBITED") wanted = 2;
  if (mode == "3" || mode == "EXCLUSIVE_PROCESS") wanted = 3;
  if (wanted == 9) {
    fmt::print("Invalid compute mode '{}'.\n", mode);
    return 1;
  }
  for (const GpuRow& gpu : gpus) {
    const nvmlReturn_t code = nvml("nvmlDeviceSetComputeMode", gpu.device, wanted);
    if (code != NVML_SUCCESS) {
      fmt::print("Unable to set the compute mode for GPU {}: {}\n", bus_id(gpu.device),
                 nvml_text(code));
      return code;
    }
    fmt::print("Set compute mode to {} for GPU {}.\n", mode, bus_id(gpu.device));
  }
  fmt::print("All done.\n");
  return 0;
}

int set_mig_mode(const std::string& mode, const std::vector<GpuRow>& gpus) {
  const bool on = mode == "1" || mode == "ENABLED";
  if (!on && mode != "0" && mode != "DISABLED") {
    fmt::print("Invalid MIG mode '{}'.\n", mode);
    return 1;
  }
  for (const GpuRow& gpu : gpus) {
    nvmlReturn_t status = NVML_SUCCESS;
    const unsigned int wanted = on ? 1 : 0;
    const nvmlReturn_t code = nvml("nvmlDeviceSetMigMode", gpu.device, wanted, &status);
    if (code != NVML_SUCCESS) {
      fmt::print("Unable to {} MIG Mode for GPU {}: {}\n", on ? "enable" : "disable",
                 bus_id(gpu.device), nvml_text(code));
      return code;
    }
    if (status != NVML_SUCCESS) {
      const std::string bus = bus_id(gpu.device);
      fmt::print("Warning: MIG mode is in pending {} state for GPU {}:{}\n",
                 on ? "enable" : "disable", bus, nvml_text(status));
      if (status == NVML_ERROR_IN_USE) {
        fmt::print(
            "{} is currently being used by one or more other processes (e.g. CUDA application or a "
            "monitoring application such as another instance of nvidia-smi). Please first kill all "
            "processes using the device and retry the command or reboot the system to make MIG "
            "mode effective.\n",
            bus);
      } else {
        fmt::print(
            "Reboot the system or try nvidia-smi --gpu-reset to make MIG mode effective on GPU "
            "{}\n",
            bus);
      }
    } else {
      fmt::print("{} MIG Mode for GPU {}\n", on ? "Enabled" : "Disabled", bus_id(gpu.device));
    }
  }
  fmt::print("All done.\n");
  return 0;
}

}  // namespace tranche::sim::smi

int main(int argc, char** argv) {
  using namespace tranche::sim;
  using namespace tranche::sim::smi;
  Options options;
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  for (std::size_t at = 1; at < arguments.size(); ++at) {
    const std::string_view argument = arguments[at];
    if (argument == "-h" || argument == "--help") {
      fmt::print("{}", kHelp);
      return 0;
    }
    if (const auto failure = read_argument(arguments, at, options)) {
      fmt::print("{}\n", failure->message);
      return failure->exit_code;
    }
  }
  const nvmlReturn_t opened = nvml("nvmlInit_v2");
  if (opened != NVML_SUCCESS) return fail_init(opened);
  const int code = run(options);
  nvml("nvmlShutdown");
  return code;
}
