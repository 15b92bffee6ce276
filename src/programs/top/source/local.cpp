#include "top/source/local.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gpu/devices.h"
#include "nvml/connection.h"
#include "nvml/process_reader.h"
#include "nvml/reader.h"
#include "nvml/telemetry_reader.h"

namespace tranche::top {
namespace {

usage::GpuUsage described(const gpu::Gpu& gpu) {
  usage::GpuUsage usage{.index = static_cast<std::uint32_t>(gpu.index),
                        .uuid = gpu.uuid.value,
                        .model = gpu.name,
                        .mig = gpu.mig_enabled()};
  for (const auto& instance : gpu.mig_instances) {
    usage::InstanceUsage part{.uuid = instance.uuid.value,
                              .profile = instance.profile.name,
                              .gpu_instance = static_cast<std::uint32_t>(instance.gpu_instance_id)};
    if (instance.placement) {
      part.start = static_cast<std::uint32_t>(instance.placement->start);
      part.size = static_cast<std::uint32_t>(instance.placement->size);
    }
    usage.instances.push_back(std::move(part));
  }
  return usage;
}

void add_figures(const gpu::FastReading& reading, usage::GpuUsage& gpu) {
  const auto& figures = reading.figures;
  if (figures.memory) {
    gpu.memory_total = figures.memory->total.value;
    gpu.memory_used = figures.memory->used.value;
    gpu.memory = usage::MemoryAccount{.gpu = gpu.uuid,
                                      .total = figures.memory->total.value,
                                      .free = figures.memory->free.value,
                                      .reserved = figures.memory->reserved.value_or(Bytes{}).value};
  }
  if (figures.gpu_percent && !gpu.mig) gpu.utilization = *figures.gpu_percent / 100.0;
  if (figures.temperature_c) gpu.temperature_c = *figures.temperature_c;
  if (figures.power_mw) gpu.power_w = *figures.power_mw / 1000.0;
  for (auto& instance : gpu.instances) {
    const auto found =
        std::ranges::find(reading.instances, instance.uuid, &gpu::FastReading::Instance::uuid);
    if (found != reading.instances.end() && found->figures) {
      instance.memory = found->figures->total.value;
    }
  }
}

bool is_on(const usage::GpuUsage& gpu, const std::string& device) {
  return gpu.uuid == device ||
         std::ranges::find(gpu.instances, device, &usage::InstanceUsage::uuid) !=
             gpu.instances.end();
}

// What the processes hold, and what is left. Without every process's memory the parts are not
// known.
void close_account(const usage::NodeUsage& usage, bool all_read, usage::GpuUsage& gpu) {
  if (!gpu.memory) return;
  auto& account = *gpu.memory;
  std::uint64_t attributed = 0;
  for (const auto& process : usage.processes) {
    if (!is_on(gpu, process.device)) continue;
    all_read = all_read && process.memory.has_value();
    const auto memory = process.memory.value_or(0);
    attributed += memory;
    (process.owner == usage::ProcessOwner::kContainer ? account.containers
     : process.owner == usage::ProcessOwner::kHost    ? account.host_processes
                                                      : account.unknown) += memory;
  }
  const auto used = gpu.memory_used.value_or(0);
  account.unattributed = used - std::min(used, attributed);
  account.excess = attributed - std::min(used, attributed);
  if (!all_read) gpu.memory.reset();
}

// Keeps what a Local reads from.
class OwnedLocal final : public Source {
 public:
  OwnedLocal(const std::string& driver_root, const FsRoot& host)
      : connection_(nvml::Connection::make({.driver_root = driver_root, .host = host})),
        reader_(connection_),
        telemetry_(connection_),
        processes_(connection_),
        local_({reader_, telemetry_, processes_, host, clock_}) {}

  Result<Reading> read(const std::stop_token& stop) override { return local_.read(stop); }
  std::string name() const override { return local_.name(); }

 private:
  SystemClock clock_;
  std::shared_ptr<nvml::Connection> connection_;
  nvml::Reader reader_;
  nvml::TelemetryReader telemetry_;
  nvml::ProcessReader processes_;
  Local local_;
};

}  // namespace

Local::Local(Ports ports) : ports_(std::move(ports)), owners_(ports_.host) {}

Result<void> Local::refresh_machine() {
  const auto now = ports_.clock.now();
  if (machine_ && now - machine_at_ < kReadHardwareEvery) return {};
  auto machine = ports_.reader.read();
  if (!machine) {
    machine_.reset();
    return std::unexpected(std::move(machine).error());
  }
  machine_ = *std::move(machine);
  machine_at_ = now;
  return {};
}

void Local::read_gpus(usage::NodeUsage& usage) {
  for (const auto& gpu : machine_->gpus) usage.gpus.push_back(described(gpu));
  const auto readings = ports_.telemetry.read_fast(gpu::present_gpus(*machine_));
  if (!readings) return;
  for (const auto& reading : *readings) {
    if (!reading) continue;
    const auto found = std::ranges::find(usage.gpus, reading->uuid, &usage::GpuUsage::uuid);
    if (found != usage.gpus.end()) add_figures(*reading, *found);
  }
}

usage::ProcessUsage Local::process_of(const gpu::DeviceProcess& process,
                                      const std::string& device) {
  usage::ProcessUsage result{.pid = process.pid, .device = device};
  if (process.memory) result.memory = process.memory->value;
  if (between_.count() > 0) {
    const auto share = std::chrono::duration<double>(process.busy) / between_;
    result.busy = std::clamp(share, 0.0, 1.0);
  }
  auto [owner, name] = owners_.look(process.pid);
  result.name = std::move(name);
  if (owner.kind == host::Owner::Kind::kContainer) {
    result.owner = usage::ProcessOwner::kContainer;
    result.pod = std::move(owner.pod_uid);
    result.container = owner.container.substr(0, 12);
  } else if (owner.kind == host::Owner::Kind::kHost) {
    result.owner = usage::ProcessOwner::kHost;
  }
  return result;
}

bool Local::read_processes(usage::NodeUsage& usage) {
  const auto now = ports_.clock.now();
  between_ = processes_at_ ? now - *processes_at_ : std::chrono::nanoseconds(0);
  processes_at_ = now;
  const auto answers = ports_.processes.read(gpu::present_devices(*machine_));
  if (!answers) return false;
  bool all = true;
  std::set<pid_t> pids;
  for (const auto& [uuid, processes] : *answers) {
    all = all && processes.has_value();
    if (!processes) continue;
    for (const auto& process : *processes) {
      usage.processes.push_back(process_of(process, uuid));
      pids.insert(process.pid);
    }
  }
  owners_.keep_only(pids);
  return all;
}

Result<Reading> Local::read(const std::stop_token& /*stop*/) {
  TRY(refresh_machine());
  usage::NodeUsage usage{
      .taken_at = std::chrono::floor<std::chrono::milliseconds>(ports_.clock.wall_now()),
      .agent = TRANCHE_VERSION,
      .driver_version = machine_->driver_version};
  read_gpus(usage);
  const bool all = read_processes(usage);
  for (auto& gpu : usage.gpus) close_account(usage, all, gpu);
  usage.checks = {{"driver", all}, {"host-processes", owners_.sees_node()}};
  usage.age = std::chrono::nanoseconds(0);
  return reading_of(std::move(usage));
}

std::unique_ptr<Source> open_local(const std::string& driver_root, const FsRoot& host) {
  return std::make_unique<OwnedLocal>(driver_root, host);
}

}  // namespace tranche::top
