// Utilisation as the container sees it: its own processes' part in the driver's samples, never more
// than the device's. The driver reports a device's utilisation for all users together.

#include "interpose/exports.h"
#include "interpose/nvml_views.h"

using namespace tranche::interpose;

namespace {

struct ProcessSample {  // nvmlProcessUtilizationSample_t
  unsigned pid;
  unsigned long long time;  // us
  unsigned percents[4];
};
enum Engine : unsigned { kMultiprocessors, kMemory, kEncoder, kDecoder };
struct ProcessSampleV2 {  // nvmlProcessUtilizationInfo_v1_t
  unsigned long long time;
  unsigned pid;
  unsigned percents[6];
};
struct ProcessSamples {  // nvmlProcessesUtilizationInfo_v1_t
  unsigned version;
  unsigned count;
  unsigned long long since;
  ProcessSampleV2* list;
};
struct Utilization {  // nvmlUtilization_t
  unsigned gpu, memory;
};
struct Sample {  // nvmlSample_t
  unsigned long long time;
  union {
    unsigned value;
    unsigned long long room;
  };
};
struct Domain {
  unsigned is_present, percent, thresholds[2];
};
struct Domains {  // nvmlGpuDynamicPstatesInfo_t
  unsigned flags;
  Domain domains[8];  // GPU, memory, video, bus
};
struct GpmSupport {  // nvmlGpmSupport_t
  unsigned version, is_supported;
};

constexpr unsigned long long kRecent = 2'000'000;  // us: twice the driver's longest sample

unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

// The driver's samples of this container's processes.
class OwnSamples {
 public:
  OwnSamples(void* device, const View& view) : scratch_(kMost * sizeof(ProcessSample)) {
    samples_ = scratch_.as<ProcessSample>();
    if (samples_ == nullptr) return;
    unsigned count = kMost;
    const int status = nvml.nvmlDeviceGetProcessUtilization(device, samples_, &count, 0);
    // kNvmlNotFound: no process was active.
    is_told_ = status == kNvmlSuccess || status == kNvmlNotFound;
    if (status != kNvmlSuccess) return;
    count = least(count, kMost);
    for (unsigned i = 0; i < count; ++i) {
      if (samples_[i].time > newest_) newest_ = samples_[i].time;
    }
    count_ = keep_own(view, samples_, count);
  }

  // false: the driver has no such samples.
  bool is_told() const { return is_told_; }
  unsigned long long newest() const { return newest_; }
  // What all of them together used of the engine at `time`, in percent: the last sample of each
  // until then, if recent.
  unsigned percent(Engine engine, unsigned long long time) const {
    unsigned sum = 0;
    for (unsigned i = 0; i < count_; ++i) {
      if (is_recent(samples_[i], time) && is_last(i, time)) sum += samples_[i].percents[engine];
    }
    return least(sum, 100);
  }

 private:
  static constexpr unsigned kMost = 4096;

  static bool is_recent(const ProcessSample& sample, unsigned long long time) {
    return sample.time <= time && time - sample.time < kRecent;
  }
  // Whether it is its process's last sample until `time`.
  bool is_last(unsigned i, unsigned long long time) const {
    for (unsigned j = 0; j < count_; ++j) {
      const ProcessSample& other = samples_[j];
      if (other.pid != samples_[i].pid || other.time > time) continue;
      if (other.time > samples_[i].time || (other.time == samples_[i].time && j < i)) return false;
    }
    return true;
  }

  Scratch scratch_;
  ProcessSample* samples_ = nullptr;
  unsigned count_ = 0;
  unsigned long long newest_ = 0;  // of all processes
  bool is_told_ = false;
};

// Replaces the device's `percent` by the container's own.
int own(const OwnSamples& samples, Engine engine, unsigned& percent) {
  if (percent == 0) return kNvmlSuccess;
  if (!samples.is_told()) return kNvmlNotSupported;
  percent = least(percent, samples.percent(engine, samples.newest()));
  return kNvmlSuccess;
}

// Like the driver, if no process did anything.
int nothing_is_not_found(int status, unsigned count) {
  return status == kNvmlSuccess && count == 0 ? kNvmlNotFound : status;
}

int tell_engine(void* device, void* percent, int status, Engine engine) {
  const View view = status == kNvmlSuccess ? view_of_handle(device) : View();
  if (!view.is_part) return status;
  const Uncancelled uncancelled;
  return own(OwnSamples(device, view), engine, *static_cast<unsigned*>(percent));
}

// For engines that are missing in the driver's process samples: only reports that they are idle.
int tell_idle(void* device, void* percent, int status) {
  if (status != kNvmlSuccess || *static_cast<unsigned*>(percent) == 0) return status;
  return view_of_handle(device).is_part ? kNvmlNotSupported : status;
}

enum class Kind { kOther, kOfProcesses, kOfDevice };
// Which engine a type of nvmlDeviceGetSamples is about.
Kind kind_of(unsigned type, Engine& engine) {
  constexpr unsigned kFirst = 1;  // GPU, memory, encoder, decoder
  constexpr unsigned kJpeg = 8;
  constexpr unsigned kOpticalFlow = 9;
  if (type == kJpeg || type == kOpticalFlow) return Kind::kOfDevice;
  if (type < kFirst || type > kFirst + kDecoder) return Kind::kOther;
  engine = static_cast<Engine>(type - kFirst);
  return Kind::kOfProcesses;
}

}  // namespace

int nvmlDeviceGetUtilizationRates(void* device, void* rates) {
  const int status = nvml.nvmlDeviceGetUtilizationRates(device, rates);
  const View view = status == kNvmlSuccess ? view_of_handle(device) : View();
  if (!view.is_part) return status;
  auto& told = *static_cast<Utilization*>(rates);
  const Uncancelled uncancelled;
  const OwnSamples samples(device, view);
  const int of_gpu = own(samples, kMultiprocessors, told.gpu);
  const int of_memory = own(samples, kMemory, told.memory);
  return of_gpu != kNvmlSuccess ? of_gpu : of_memory;
}

int nvmlDeviceGetEncoderUtilization(void* device, void* percent, void* period) {
  return tell_engine(device, percent, nvml.nvmlDeviceGetEncoderUtilization(device, percent, period),
                     kEncoder);
}
int nvmlDeviceGetDecoderUtilization(void* device, void* percent, void* period) {
  return tell_engine(device, percent, nvml.nvmlDeviceGetDecoderUtilization(device, percent, period),
                     kDecoder);
}
int nvmlDeviceGetJpgUtilization(void* device, void* percent, void* period) {
  return tell_idle(device, percent, nvml.nvmlDeviceGetJpgUtilization(device, percent, period));
}
int nvmlDeviceGetOfaUtilization(void* device, void* percent, void* period) {
  return tell_idle(device, percent, nvml.nvmlDeviceGetOfaUtilization(device, percent, period));
}

int nvmlDeviceGetDynamicPstatesInfo(void* device, void* info) {
  const int status = nvml.nvmlDeviceGetDynamicPstatesInfo(device, info);
  const View view = status == kNvmlSuccess ? view_of_handle(device) : View();
  if (!view.is_part) return status;
  const Uncancelled uncancelled;
  const OwnSamples samples(device, view);
  Domain* domains = static_cast<Domains*>(info)->domains;
  for (unsigned i = 0; i < 8; ++i) {
    const bool is_known = i <= kMemory;  // the GPU and its memory
    if (is_known && own(samples, static_cast<Engine>(i), domains[i].percent) == kNvmlSuccess)
      continue;
    domains[i].is_present = 0;
    domains[i].percent = 0;
  }
  return status;
}

int nvmlDeviceGetSamples(void* device, unsigned type, std::uint64_t since, void* value_type,
                         void* count, void* list) {
  Engine engine = kMultiprocessors;
  const Kind kind = kind_of(type, engine);
  const int status = nvml.nvmlDeviceGetSamples(device, type, since, value_type, count, list);
  if (kind == Kind::kOther || status != kNvmlSuccess || list == nullptr) return status;
  const View view = view_of_handle(device);
  if (!view.is_part) return status;
  const Uncancelled uncancelled;
  const OwnSamples own(device, view);
  if (kind == Kind::kOfDevice || !own.is_told()) return kNvmlNotSupported;
  auto* samples = static_cast<Sample*>(list);
  for (unsigned i = 0; i < *static_cast<unsigned*>(count); ++i) {
    samples[i].value = least(samples[i].value, own.percent(engine, samples[i].time));
  }
  return status;
}

int nvmlDeviceGetProcessUtilization(void* device, void* list, void* count, std::uint64_t since) {
  const int status = keep_own<ProcessSample>(
      nvml.nvmlDeviceGetProcessUtilization(device, list, count, since), device, count, list);
  return count == nullptr ? status : nothing_is_not_found(status, *static_cast<unsigned*>(count));
}

int nvmlDeviceGetProcessesUtilizationInfo(void* device, void* info) {
  const int status = nvml.nvmlDeviceGetProcessesUtilizationInfo(device, info);
  if (status != kNvmlSuccess) return status;
  auto& samples = *static_cast<ProcessSamples*>(info);
  keep_own<ProcessSampleV2>(status, device, &samples.count, samples.list);
  return nothing_is_not_found(status, samples.count);
}

// The GPM metrics cover the whole device, and other tenants' part cannot be subtracted.
int nvmlGpmQueryDeviceSupport(void* device, void* support) {
  const int status = nvml.nvmlGpmQueryDeviceSupport(device, support);
  if (status == kNvmlSuccess && view_of_handle(device).is_part)
    static_cast<GpmSupport*>(support)->is_supported = 0;
  return status;
}
int nvmlGpmSampleGet(void* device, void* sample) {
  if (view_of_handle(device).is_part) return kNvmlNotSupported;
  return nvml.nvmlGpmSampleGet(device, sample);
}
