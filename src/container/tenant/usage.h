#pragma once
// The arbiter's view of what a tenant's processes hold and do. The processes write the usage memory
// (limit/wire.h). Which process has which slot is kept out of their reach (tenant/slot_owners.h).
//
// The memory is sealed in size and has no name, so the worst that a tenant can do is write nonsense
// into it, and the arbiter believes it only as far as NVML agrees (policy.outside). It lives as
// long as a process of the tenant has mapped it. The next arbiter gets it back from these
// processes: until one hands it over, awaits_file() is true, and nothing is charged here. It is
// accepted only if it is the memory that the previous arbiter recorded. After give_up() new memory
// takes its place, and each process reports its charges again when it registers (decision 18).
//
// File: <dir>/<tenant>.slots. The folder is on a tmpfs, so a reboot removes the file together with
// the processes.
//
// Not thread-safe.

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "limit/wire.h"
#include "tenant/process.h"
#include "tenant/sealed_memory.h"
#include "tenant/slot_owners.h"

namespace tranche::tenant {

// A process's current work: the part of its slot that the arbiter reads each tick.
struct SlotReading {
  unsigned slot = 0;
  std::vector<std::uint64_t> busy_since{};  // ns by device; 0: idle
  std::vector<std::uint32_t> waiting{};     // threads at the gate, by device
  // The intervals since the last reading. Intervals that were overwritten before they were read are
  // merged into one interval per device. It is as long as all of them together, and ends where the
  // first remaining interval of the device begins.
  std::vector<limit::wire::Interval> intervals{};
  std::uint64_t lost = 0;  // the number of overwritten intervals
  // GPU time by device that the process asked for and has not reported as ended, ns; at most
  // kMostUnfinished.
  std::vector<std::uint64_t> unfinished{};
};
inline constexpr std::uint64_t kMostUnfinished = std::uint64_t{1} << 40U;

class Usage {
 public:
  // Creates what is missing. kIo.
  static Result<Usage> open(const std::filesystem::path& dir, const std::string& tenant,
                            unsigned devices);
  // Removes its file: the tenant is gone.
  static void remove(const std::filesystem::path& dir, const std::string& tenant);
  // Removes the files of all tenants except these: they disappeared while no arbiter ran, or were
  // never served. What cannot be removed stays until the next call.
  static void remove_others(const std::filesystem::path& dir, const std::set<std::string>& tenants);

  // Whether processes of the previous arbiter hold memory that none has handed over yet.
  bool awaits_file() const { return awaits_file_; }
  // Whether `process` had a slot when this arbiter started, so it may hand the memory over.
  bool may_hand_over(const ProcessId& process) const;
  bool somebody_may_hand_over() const;
  // `process` has nothing to hand over.
  void came_without(const ProcessId& process);
  // Continues with the previous arbiter's memory. kInvalidArgument: this is not it. kIo.
  Result<void> take_over(ForeignDescriptor memory);
  // Continues with new memory, in which nothing is charged yet. kIo.
  Result<void> give_up();

  // The slot of `process`: its current one, or a free one, cleared. kUnavailable: no slot is
  // free.
  Result<unsigned> take(const ProcessId& process);
  // Moves `process` from its current slot to `slot`, cleared, if that is free. Returns its slot
  // afterwards.
  Result<unsigned> move(const ProcessId& process, unsigned slot);
  // Clears and frees the slot of `process`, which has ended. false: it had no slot. kIo: this could
  // not be recorded, and the process still has its slot.
  Result<bool> release(const ProcessId& process);
  std::vector<ProcessId> owners() const { return owners_.all(); }
  std::uint64_t generation(unsigned slot) const { return generations_[slot]; }

  // Reads the work of the process in `slot`.
  SlotReading read(unsigned slot);
  // Reads into an earlier reading, reusing its memory.
  void read(unsigned slot, SlotReading& reading);
  // Prefetches the memory that read() needs.
  void prefetch(unsigned slot) const;
  // An allocation that failed, by its process's own account: any value is possible.
  struct Failure {
    unsigned device = 0;      // index in the tenant's limits; may be too large
    std::uint64_t asked = 0;  // bytes; 0: not known
    std::uint64_t held = 0;   // bytes that the tenant held of the device then; 0: not known
    std::uint64_t at = 0;     // CLOCK_MONOTONIC ns; 0: there was none
    bool operator==(const Failure&) const = default;
  };
  // Totals of the process in `slot`.
  struct Summary {
    std::vector<std::uint64_t> charged{};  // bytes by device
    std::uint64_t refused = 0;
    std::uint64_t longest_ns = 0;
    std::uint64_t driver_refused = 0;
    Failure last_refused{};         // by the limit
    Failure last_driver_refused{};  // by the driver
  };
  Summary summary(unsigned slot) const;
  Summary counts(unsigned slot) const;  // the same without `charged`
  // Its charges less what it has released, bytes by device: NVML should count this much.
  std::vector<std::uint64_t> kept(unsigned slot) const;
  std::uint64_t kept(unsigned slot, unsigned device) const;  // 0 for a forged charge
  // The sum of charged bytes over all taken slots, excluding forged words.
  std::uint64_t charged(unsigned device) const;
  // The part of charged() that kept() leaves out.
  std::uint64_t released(unsigned device) const;
  std::uint64_t spent_ns(unsigned device) const;
  // The number of threads of the process in `slot` waiting at the gate.
  std::uint32_t waiting(unsigned slot, unsigned device) const;

  // The memory's descriptor, to be sent to the tenant's processes.
  int fd() const { return memory_.fd(); }

 private:
  Usage(SlotOwners owners, SealedMemory memory, unsigned devices);
  limit::wire::UsageFile& file() const {
    return *static_cast<limit::wire::UsageFile*>(memory_.data());
  }
  template <class Bytes>
  std::uint64_t sum(unsigned device, Bytes bytes) const;
  void note_slots();
  void know(unsigned slot);
  void clear(unsigned slot);
  Result<void> give(unsigned slot, const ProcessId& process);
  void fill(const limit::wire::Slot& from, unsigned slot, SlotReading& reading);
  void tell_lost(const limit::wire::Slot& from, unsigned slot, SlotReading& reading);

  SlotOwners owners_;
  SealedMemory memory_;
  unsigned devices_;
  bool awaits_file_ = false;
  std::vector<bool> known_;          // by slot: its owner had it when this arbiter started
  std::vector<bool> may_hand_over_;  // by slot
  std::vector<std::uint64_t> generations_;
  std::vector<std::uint64_t> seen_;  // intervals read, by slot
  // Sums of a slot's reported work, by slot and device.
  struct Told {
    std::uint64_t measured = 0;
    std::uint64_t asked = 0;
  };
  std::span<Told> told(unsigned slot) {
    return std::span(told_).subspan(std::size_t{slot} * devices_, devices_);
  }
  std::vector<Told> told_;
};

}  // namespace tranche::tenant
