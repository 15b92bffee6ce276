#pragma once
// The arbiter's view of what a tenant's processes hold and do. The processes write the usage file
// (limit/wire.h). Beside it, out of their reach, the arbiter keeps the owners of the slots.
//
// Both are named files in a folder of the arbiter's own, so the next arbiter finds them. The
// arbiter writes the usage file by pwrite alone. It reads each tick's data through a mapping that
// survives a file cut short (tenant/guarded_mapping.h), and by pread after the file was cut. A
// tenant may truncate or fill the file, and only harms itself. The arbiter believes the file only
// as far as NVML agrees (policy.outside).
//
// Files: <dir>/<tenant>.usage (wire::UsageFile) and <dir>/<tenant>.owners (kMaxProcesses records of
// pid and start time, 0: free). The folder lies in a tmpfs, so a reboot removes the files together
// with the processes.
//
// Not thread-safe.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "limit/wire.h"
#include "tenant/guarded_mapping.h"
#include "tenant/process.h"

namespace tranche::tenant {

// The present work of a process: the part of its slot that the arbiter reads each tick.
struct SlotReading {
  unsigned slot = 0;
  std::vector<std::uint64_t> busy_since{};  // ns by device; 0: idle
  std::vector<std::uint32_t> waiting{};     // threads at the gate, by device
  // The intervals since the last reading. Intervals that were overwritten before they were read are
  // merged into one interval per device. It is as long as all of them together, and it ends where
  // the first remaining interval of the device begins.
  std::vector<limit::wire::Interval> intervals{};
  std::uint64_t lost = 0;  // the number of overwritten intervals
  // GPU time by device that the process asked for and has not reported as ended, ns; at most
  // kMostUnfinished.
  std::vector<std::uint64_t> unfinished{};
};
inline constexpr std::uint64_t kMostUnfinished = std::uint64_t{1} << 40U;

class Usage {
 public:
  // Creates files that are missing. kIo; kFailedPrecondition: another release left a usage file of
  // another version, and its tenant still lives. The error says so.
  static Result<Usage> open(const std::filesystem::path& dir, const std::string& tenant,
                            unsigned devices);
  // Removes both files: the tenant is gone.
  static void remove(const std::filesystem::path& dir, const std::string& tenant);

  // The slot of `process`: the one that it has, or a free one, cleared. kUnavailable: no slot is
  // free.
  Result<unsigned> take(const ProcessId& process);
  // Gives `process` the slot `slot` in place of the one that it has, cleared, where that is free.
  // Returns the slot that it has then.
  Result<unsigned> move(const ProcessId& process, unsigned slot);
  // Clears and frees the slot of `process`, which has ended. false: it had no slot. kIo: a write
  // failed, and the process has its slot still.
  Result<bool> release(const ProcessId& process);
  std::vector<ProcessId> owners() const;
  std::uint64_t generation(unsigned slot) const { return generations_[slot]; }

  // Reads the work of the process in `slot`. A file that is too short reads as zeros.
  SlotReading read(unsigned slot);
  // Reads into an earlier reading and reuses its memory.
  void read(unsigned slot, SlotReading& reading);
  // Prefetches the memory that read() will look at.
  void prefetch(unsigned slot) const;
  // Totals of the process in `slot`.
  struct Summary {
    std::vector<std::uint64_t> charged{};  // bytes by device
    std::uint64_t refused = 0;
    std::uint64_t longest_ns = 0;
  };
  Summary summary(unsigned slot) const;
  // The sum of charged bytes over all taken slots.
  std::uint64_t charged(unsigned device);
  std::uint64_t spent_ns(unsigned device) const;
  // The number of threads of the process in `slot` that wait at the gate.
  std::uint32_t waiting(unsigned slot, unsigned device) const;

  // Cuts off data that a process of the tenant wrote beyond the file's end, where it would fill the
  // folder's file system. Returns the bytes cut off, 0 for none.
  Result<std::uint64_t> trim();

  int fd() const { return file_.get(); }

 private:
  Usage(Descriptor file, Descriptor owners_file, unsigned devices,
        std::optional<GuardedMapping> mapping);
  template <class AnySlot>
  void tell_lost(const AnySlot& from, unsigned slot, SlotReading& reading);
  template <class AnySlot>
  void fill(const AnySlot& from, unsigned slot, SlotReading& reading);
  // nullptr: the file must be read by pread.
  const limit::wire::UsageFile* mapped() const;
  Result<void> load_owners();
  Result<void> store_owner(unsigned slot);
  Result<void> clear(unsigned slot);
  Result<void> note_slot(unsigned slot);

  Descriptor file_;
  Descriptor owners_file_;
  std::optional<GuardedMapping> mapping_;  // none: too many mappings existed
  unsigned devices_;
  std::vector<std::optional<ProcessId>> owners_;  // by slot
  std::vector<std::uint64_t> generations_;
  std::vector<std::uint64_t> seen_;  // intervals read, by slot
  // Sums of what was read of a slot's work on each device, by slot and device.
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
