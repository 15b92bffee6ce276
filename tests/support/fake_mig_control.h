#pragma once
// A gpu::MigControl over GPUs that a test describes (tests/support/fake_mig_gpu.h), with the
// adapter's promises (tests/contract runs the same cases on both), and a gpu::GpuReset over the
// same GPUs. Thread-safe. Calls are recorded, and any of them can fail.

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gpu/mig_control.h"
#include "support/fake_mig_gpu.h"

namespace tranche::test {

// The result of a call. "Done": the hardware did it nevertheless.
enum class MigFault {
  kFails,
  kFailsDone,
  kTimesOut,
  kTimesOutDone,
  kKilled,  // throws Killed: this process ends there
  kKilledDone,
};
struct Killed {};

class FakeMigControl final : public gpu::MigControl {
 public:
  void add(const gpu::GpuUuid& uuid, FakeMigGpu gpu) {
    const std::scoped_lock lock(mutex_);
    gpus_.insert_or_assign(uuid, std::move(gpu));
  }

  Result<gpu::MigState> read(const gpu::GpuUuid& uuid) override {
    return call<gpu::MigState>("read", uuid, [](FakeMigGpu& gpu) { return gpu.read(); });
  }
  Result<Activation> set_mode(const gpu::GpuUuid& uuid, bool enabled) override {
    return call<Activation>(enabled ? "set_mode on" : "set_mode off", uuid,
                            [&](FakeMigGpu& gpu) { return gpu.set_mode(enabled); });
  }
  Result<int> create_gpu_instance(const gpu::GpuUuid& uuid, int profile_id, int start) override {
    return call<int>(
        "create_gpu_instance " + std::to_string(profile_id) + "@" + std::to_string(start), uuid,
        [&](FakeMigGpu& gpu) { return gpu.create(profile_id, start, ++made_); });
  }
  Result<int> create_compute_instance(const gpu::GpuUuid& uuid, int gpu_instance, int slices,
                                      int start) override {
    return call<int>(
        "create_compute_instance " + std::to_string(slices) + " in " + std::to_string(gpu_instance),
        uuid, [&](FakeMigGpu& gpu) { return gpu.create_in(gpu_instance, slices, start); });
  }
  Result<void> destroy_compute_instance(const gpu::GpuUuid& uuid, int gpu_instance,
                                        int compute_instance) override {
    return call<void>("destroy_compute_instance " + std::to_string(compute_instance) + " in " +
                          std::to_string(gpu_instance),
                      uuid,
                      [&](FakeMigGpu& gpu) { return gpu.destroy(gpu_instance, compute_instance); });
  }
  Result<void> destroy_gpu_instance(const gpu::GpuUuid& uuid, int gpu_instance) override {
    return call<void>("destroy_gpu_instance " + std::to_string(gpu_instance), uuid,
                      [&](FakeMigGpu& gpu) { return gpu.destroy(gpu_instance); });
  }

  // A process uses the GPU itself, or one of its compute instances, until release().
  void hold(const gpu::GpuUuid& uuid) {
    const std::scoped_lock lock(mutex_);
    gpus_.at(uuid).held = true;
  }
  void hold(const gpu::GpuUuid& uuid, int gpu_instance, int compute_instance) {
    const std::scoped_lock lock(mutex_);
    gpus_.at(uuid).users.insert({gpu_instance, compute_instance});
  }
  void release(const gpu::GpuUuid& uuid) {
    const std::scoped_lock lock(mutex_);
    gpus_.at(uuid).held = false;
    gpus_.at(uuid).users.clear();
  }

  // Call number `n` from now on, counted from 1 over all GPUs and functions, GpuReset's too, ends
  // like this. Once.
  void fault_at(int n, MigFault fault) {
    const std::scoped_lock lock(mutex_);
    faults_[calls_.size() + static_cast<std::size_t>(n)] = fault;
  }
  // Every call whose text (calls()) begins with it fails with `error`, until heal().
  void fail_calls(std::string beginning, Error error) {
    const std::scoped_lock lock(mutex_);
    failing_.insert_or_assign(std::move(beginning), std::move(error));
  }
  void heal() {
    const std::scoped_lock lock(mutex_);
    failing_.clear();
    faults_.clear();
  }

  // Another program's action on the node.
  void set_state(const gpu::GpuUuid& uuid, gpu::MigState state) {
    const std::scoped_lock lock(mutex_);
    gpus_.at(uuid).state = std::move(state);
  }
  // As after a reboot: instances are gone; the mode stays where it needs a reset (Ampere keeps it),
  // and is off elsewhere.
  void reboot() {
    const std::scoped_lock lock(mutex_);
    for (auto& [uuid, gpu] : gpus_) gpu.reboot();
  }

  gpu::MigState state(const gpu::GpuUuid& uuid) const {
    const std::scoped_lock lock(mutex_);
    return gpus_.at(uuid).state;
  }
  // The number of this GPU instance among all ever made: one that was destroyed and made again has
  // another number. 0: it existed from the beginning.
  int made(const gpu::GpuUuid& uuid, int gpu_instance) const {
    const std::scoped_lock lock(mutex_);
    const auto& made = gpus_.at(uuid).made;
    const auto found = made.find(gpu_instance);
    return found == made.end() ? 0 : found->second;
  }
  // "set_mode on GPU-...", "create_gpu_instance 9@4 GPU-...", "create_compute_instance 3 in 2
  // GPU-...", "reset GPU-...", in order.
  std::vector<std::string> calls() const {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }

 private:
  friend class FakeGpuReset;

  template <class Value, class Work>
  Result<Value> call(const std::string& text, const gpu::GpuUuid& uuid, Work work) {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(text + " " + uuid.value);
    for (const auto& [beginning, error] : failing_) {
      if (calls_.back().starts_with(beginning)) return std::unexpected(error);
    }
    const auto found = gpus_.find(uuid);
    if (found == gpus_.end()) return fail(Code::kNotFound, "no GPU " + uuid.value);
    const auto fault = faults_.extract(calls_.size());
    if (fault.empty()) return work(found->second);
    const MigFault kind = fault.mapped();
    if (is_done(kind)) {
      // What the hardware refuses fails for that reason.
      if (auto result = work(found->second); !result) return result;
    }
    return end<Value>(kind, text);
  }

  static bool is_done(MigFault fault) {
    return fault == MigFault::kFailsDone || fault == MigFault::kTimesOutDone ||
           fault == MigFault::kKilledDone;
  }

  template <class Value>
  static Result<Value> end(MigFault fault, const std::string& text) {
    if (fault == MigFault::kKilled || fault == MigFault::kKilledDone) throw Killed();
    if (fault == MigFault::kTimesOut || fault == MigFault::kTimesOutDone) {
      return fail(Code::kTimeout, text + " has not returned");
    }
    return fail(Code::kUnavailable, text + ": Unknown Error");
  }

  Result<void> reset(const gpu::PciAddress& pci) {
    return call<void>("reset", uuid_at(pci), [](FakeMigGpu& gpu) { return gpu.reset(); });
  }

  gpu::GpuUuid uuid_at(const gpu::PciAddress& pci) const {
    const std::scoped_lock lock(mutex_);
    for (const auto& [uuid, gpu] : gpus_) {
      if (gpu.pci == pci) return uuid;
    }
    return {};
  }

  mutable std::mutex mutex_;
  std::map<gpu::GpuUuid, FakeMigGpu> gpus_;
  std::map<std::string, Error> failing_;
  std::map<std::size_t, MigFault> faults_;
  std::vector<std::string> calls_;
  int made_ = 0;
};

class FakeGpuReset final : public gpu::GpuReset {
 public:
  explicit FakeGpuReset(FakeMigControl& control) : control_(control) {}
  Result<void> reset(const gpu::PciAddress& gpu) override { return control_.reset(gpu); }

 private:
  FakeMigControl& control_;
};

}  // namespace tranche::test
