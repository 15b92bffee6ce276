#pragma once
// Means of what the parts of a GPU did between two readings, from GPM's counters (Hopper and
// later).
//
// A GpmTracker belongs to one GPU. It keeps the newest sample of the GPU and of each GPU instance;
// each reading takes another one and compares. Samples are NVML's memory: they are freed with the
// tracker, or with the Session if that ends first. Not thread-safe; after a hang its task may still
// use it, so it is then left to the task.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "gpu/telemetry.h"
#include "nvml/connection.h"
#include "nvml/figure_calls.h"

namespace tranche::nvml {

// Means between two samples of one device. Absent: what the driver does not tell, and values that
// cannot be.
gpu::Activity activity_between(FigureCalls& call, GpmSample first, GpmSample second);

// A sample's memory.
class GpmBuffer {
 public:
  GpmBuffer() = default;
  ~GpmBuffer();
  GpmBuffer(const GpmBuffer&) = delete;
  GpmBuffer& operator=(const GpmBuffer&) = delete;

  // Allocates it if it is not there; false: NVML gives none.
  bool provide(FigureCalls& call, const std::shared_ptr<Session>& session);
  GpmSample sample() const { return sample_; }
  void swap(GpmBuffer& other) noexcept {
    session_.swap(other.session_);
    std::swap(sample_, other.sample_);
  }

 private:
  std::weak_ptr<Session> session_;
  GpmSample sample_ = nullptr;
};

class GpmTracker {
 public:
  explicit GpmTracker(const std::shared_ptr<Session>& session) : session_(session) {}

  // Whether samples of another session are kept here, which no longer mean anything.
  bool is_of(const std::shared_ptr<Session>& session) const { return session_.lock() == session; }

  // Nothing the first time, and where the GPU has no such counters.
  gpu::Activity of_gpu(FigureCalls& call, const std::shared_ptr<Session>& session, Device device);

  // Between begin_instances() and end_instances(): of each GPU instance once, whichever of its
  // compute instances `mig` is. An instance that was made anew begins anew.
  void begin_instances() { seen_.clear(); }
  gpu::Activity of_instance(FigureCalls& call, const std::shared_ptr<Session>& session,
                            Device device, Device mig);
  // Forgets the instances that were not asked for.
  void end_instances();

 private:
  // What distinguishes a GPU instance from one that had its id before, as far as NVML tells.
  struct Identity {
    GpuInstance handle = nullptr;
    std::uint32_t profile = 0;
    std::uint32_t start = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Track {
    Identity identity;
    GpmBuffer newest;
    GpmBuffer next;
    bool has_newest = false;
  };
  template <class Take>
  gpu::Activity advance(FigureCalls& call, const std::shared_ptr<Session>& session, Track& track,
                        Take take);
  bool is_supported(FigureCalls& call, Device device);
  static Identity identity_of(FigureCalls& call, Device device, unsigned id);

  std::weak_ptr<Session> session_;
  std::optional<bool> supported_;
  Track gpu_;
  std::map<unsigned, Track> instances_;     // by GPU instance id
  std::map<unsigned, gpu::Activity> seen_;  // of this reading
};

}  // namespace tranche::nvml
