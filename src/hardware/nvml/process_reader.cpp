#include "nvml/process_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "nvml/calls.h"

namespace tranche::nvml {
namespace {

// Written by the task. After a hang the task may still write to it, so it is not read.
struct Processes {
  Return result = kSuccess;
  std::string failure;  // if result is not kSuccess
  std::map<unsigned, gpu::DeviceProcess> processes;
  Sampled sampled{};
};

constexpr std::size_t kFirstRoom = 64;
// A list may outgrow its buffer between two calls, because processes come and go.
constexpr int kAttempts = 4;
// A period is 1/6 s to 1 s, so samples that are nearer together than this are of one period.
constexpr std::uint64_t kShortestPeriod = 100'000;  // us

class ProcessReading {
 public:
  ProcessReading(Calls& call, Processes& answer) : call_(call), answer_(answer) {}

  void read(const std::string& uuid, bool with_samples) {
    const Api& api = call_.api();
    Device device = nullptr;
    const auto& lookup = api.nvmlDeviceGetHandleByUUID;
    if (!succeeded(call_(lookup, uuid.c_str(), &device), lookup.name)) return;
    if (!list(device, api.nvmlDeviceGetComputeRunningProcesses_v3,
              api.nvmlDeviceGetComputeRunningProcesses_v2, Need::kRequired)) {
      return;
    }
    // A driver returns an error if there is no MPS or no graphics.
    if (!list(device, api.nvmlDeviceGetMPSComputeRunningProcesses_v3,
              api.nvmlDeviceGetMPSComputeRunningProcesses_v2, Need::kOptional)) {
      return;
    }
    (void)list(device, api.nvmlDeviceGetGraphicsRunningProcesses_v3,
               api.nvmlDeviceGetGraphicsRunningProcesses_v2, Need::kOptional);
    if (answer_.result == kSuccess && with_samples) sample(device);
  }

 private:
  using ListFunction = Function<Return(Device, unsigned*, ProcessInfo*)>;

  enum class Need { kRequired, kOptional };
  // False: the device is gone, or the list is required and could not be read.
  bool list(Device device, const ListFunction& newer, const ListFunction& older, Need need) {
    const auto& function = newer.pointer != nullptr ? newer : older;
    std::vector<ProcessInfo> infos(kFirstRoom);
    Return result = kInsufficientSize;
    unsigned count = 0;
    for (int i = 0; i < kAttempts && result == kInsufficientSize; ++i) {
      if (count > 0) infos.resize(2 * std::size_t{count});
      count = static_cast<unsigned>(infos.size());
      result = call_(function, device, &count, infos.data());
    }
    if (result == kSuccess) {
      infos.resize(std::min<std::size_t>(count, infos.size()));
      for (const ProcessInfo& info : infos) add(info);
      return true;
    }
    // A list that outgrew each room it was given is there, and was not read.
    const bool unknown = need == Need::kRequired || result == kInsufficientSize || is_gone(result);
    return !unknown || succeeded(result, function.name);
  }

  // Adds nothing if the driver keeps no samples, or if no process was busy.
  void sample(Device device) {
    const auto& function = call_.api().nvmlDeviceGetProcessUtilization;
    std::vector<ProcessUtilizationSample> samples(kFirstRoom);
    Return result = kInsufficientSize;
    unsigned count = 0;
    for (int i = 0; i < kAttempts && result == kInsufficientSize; ++i) {
      if (count > 0) samples.resize(2 * std::size_t{count});
      count = static_cast<unsigned>(samples.size());
      result = call_(function, device, samples.data(), &count, answer_.sampled.until);
    }
    if (result != kSuccess) return;
    samples.resize(std::min<std::size_t>(count, samples.size()));
    std::ranges::sort(samples, {}, &ProcessUtilizationSample::time_stamp);
    const bool is_first = answer_.sampled.until == 0;
    for (auto sample = samples.begin(); sample != samples.end();) {
      const std::uint64_t now = sample->time_stamp;
      const std::uint64_t period = is_first && sample == samples.begin() ? 0 : period_until(now);
      for (; sample != samples.end() && sample->time_stamp == now; ++sample) {
        const auto process = answer_.processes.find(sample->pid);
        if (process == answer_.processes.end() || is_first || sample->sm_util > 100) continue;
        process->second.busy +=
            std::chrono::microseconds(static_cast<std::int64_t>(period * sample->sm_util / 100));
      }
      answer_.sampled.until = std::max(answer_.sampled.until, now);
    }
  }

  // The period that ends at `now`. Drivers keep no samples of idle time, so a gap between two
  // samples may be longer than a period: the shortest gap counts as the period.
  std::uint64_t period_until(std::uint64_t now) {
    Sampled& sampled = answer_.sampled;
    if (now <= sampled.until) return 0;
    const std::uint64_t gap = now - sampled.until;
    if (gap >= kShortestPeriod) sampled.period = std::min(sampled.period, gap);
    return std::min(gap, sampled.period);
  }

  void add(const ProcessInfo& info) {
    auto& process = answer_.processes[info.pid];
    process.pid = static_cast<pid_t>(info.pid);
    if (info.used_memory == kNotAvailable) return;
    process.memory = std::max(process.memory.value_or(Bytes{}), Bytes{info.used_memory});
  }

  bool succeeded(Return result, const char* function) {
    if (result == kSuccess) return true;
    answer_.result = result;
    answer_.failure = call_.describe(function, result);
    return false;
  }

  Calls& call_;
  Processes& answer_;
};

Result<std::vector<gpu::DeviceProcess>> result_of(Processes& answer) {
  if (answer.result != kSuccess) {
    const bool absent = answer.result == kNotFound || answer.result == kInvalidArgument;
    return fail(absent ? Code::kNotFound : Code::kUnavailable, std::move(answer.failure));
  }
  std::vector<gpu::DeviceProcess> processes;
  for (auto& [pid, process] : answer.processes) processes.push_back(process);
  return processes;
}

}  // namespace

bool ProcessReader::samples_are_due() {
  const auto now = std::chrono::steady_clock::now();
  if (samples_read_ && now - *samples_read_ < sample_interval_) return false;
  samples_read_ = now;
  return true;
}

Result<std::vector<gpu::DeviceProcesses>> ProcessReader::read(std::span<const std::string> uuids) {
  ASSIGN_OR_RETURN(const auto session, connection_->session_of_present_driver());
  std::vector<std::shared_ptr<Processes>> answers;
  std::vector<DeadlinePool::Task> tasks;
  const bool with_samples = samples_are_due();
  for (const std::string& uuid : uuids) {
    const auto& answer = answers.emplace_back(std::make_shared<Processes>());
    answer->sampled = sampled_[uuid];
    tasks.push_back({.key = "processes of " + uuid,
                     .work = [session, answer, uuid, with_samples](Progress& progress) {
                       Calls call(session->api(), progress);
                       ProcessReading(call, *answer).read(uuid, with_samples);
                     }});
  }
  const auto outcomes = connection_->pool().run(std::move(tasks));
  std::vector<gpu::DeviceProcesses> devices;
  bool gone = false;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].finished) {
      devices.push_back({uuids[i], fail(Code::kTimeout, outcomes[i].describe_hang(
                                                            connection_->options().deadline))});
      continue;
    }
    gone |= is_driver_gone(answers[i]->result);
    sampled_[uuids[i]] = answers[i]->sampled;
    devices.push_back({uuids[i], result_of(*answers[i])});
  }
  if (gone) connection_->restart();  // so the next read() starts NVML afresh
  return devices;
}

}  // namespace tranche::nvml
