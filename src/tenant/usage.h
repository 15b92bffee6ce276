#pragma once
// What a tenant's processes hold and do, as the arbiter sees it: the usage file (limit/wire.h),
// which they write, and beside it, out of their reach, who has which slot.
//
// Both are named files in a folder of the arbiter's own, so that the next arbiter finds them. The
// usage file is written by pwrite alone, and what is read each tick is read through a mapping that
// bears a file cut short (tenant/guarded_mapping.h), or by pread once it was: a tenant may truncate
// or fill it, and only harms itself. What it says is believed only as far as NVML agrees
// (policy.outside).
//
// Files: <dir>/<tenant>.usage (wire::UsageFile) and <dir>/<tenant>.owners (kMaxProcesses records of
// pid and start time, 0: free). They are gone with a reboot, as the processes are: the folder lies
// in a tmpfs.
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

// What a process is doing: the part of its slot that the arbiter reads each tick.
struct SlotReading {
  unsigned slot = 0;
  std::vector<std::uint64_t> busy_since{};  // ns by device; 0: idle
  std::vector<std::uint32_t> waiting{};     // threads at the gate, by device
  // Since the last reading. Those that were overwritten before they were read are one, of as much
  // as they were together, that ended when the first of those left began.
  std::vector<limit::wire::Interval> intervals{};
  std::uint64_t lost = 0;  // so many
  // Of what it asked for, by device, what has not been told to have ended, ns; kMostUnfinished at
  // most.
  std::vector<std::uint64_t> unfinished{};
};
inline constexpr std::uint64_t kMostUnfinished = std::uint64_t{1} << 40U;

class Usage {
 public:
  // Creates what is not there. kIo; kFailedPrecondition: a usage file of another version, left by
  // another release while its tenant lives: the error says so.
  static Result<Usage> open(const std::filesystem::path& dir, const std::string& tenant,
                            unsigned devices);
  // Takes both files away: the tenant is gone.
  static void remove(const std::filesystem::path& dir, const std::string& tenant);

  // The slot of `process`: the one it has, or a free one, cleared. kUnavailable: all are taken.
  Result<unsigned> take(const ProcessId& process);
  // `process` has ended: what it held is nobody's. false: it had no slot.
  bool release(const ProcessId& process);
  std::vector<ProcessId> owners() const;
  std::uint64_t generation(unsigned slot) const { return generations_[slot]; }

  // What the process in `slot` does. A file that is too short reads as zeros.
  SlotReading read(unsigned slot);
  // The same, into what an earlier reading left: no memory is taken.
  void read(unsigned slot, SlotReading& reading);
  // Asks the processor for what read() will look at.
  void prefetch(unsigned slot) const;
  // What the process in `slot` holds and has seen.
  struct Summary {
    std::vector<std::uint64_t> charged{};  // bytes by device
    std::uint64_t refused = 0;
    std::uint64_t longest_ns = 0;
  };
  Summary summary(unsigned slot) const;
  // Sum of charged bytes over all slots that are taken.
  std::uint64_t charged(unsigned device);
  std::uint64_t spent_ns(unsigned device) const;
  // Threads of the process in `slot` at the gate.
  std::uint32_t waiting(unsigned slot, unsigned device) const;

  // Takes away what a process of the tenant has put behind the file's end, where it would fill the
  // folder's file system; bytes, 0: there was nothing.
  Result<std::uint64_t> trim();

  int fd() const { return file_.get(); }

 private:
  Usage(Descriptor file, Descriptor owners_file, unsigned devices,
        std::optional<GuardedMapping> mapping);
  template <class AnySlot>
  void tell_lost(const AnySlot& from, unsigned slot, SlotReading& reading);
  template <class AnySlot>
  void fill(const AnySlot& from, unsigned slot, SlotReading& reading);
  // nullptr: the file is to be read by pread.
  const limit::wire::UsageFile* mapped() const;
  Result<void> load_owners();
  Result<void> store_owner(unsigned slot);
  Result<void> clear(unsigned slot);

  Descriptor file_;
  Descriptor owners_file_;
  std::optional<GuardedMapping> mapping_;  // none: there were too many
  unsigned devices_;
  std::vector<std::optional<ProcessId>> owners_;  // by slot
  std::vector<std::uint64_t> generations_;
  std::vector<std::uint64_t> seen_;  // intervals read, by slot
  // What was told of a slot's work on each device, by slot and device.
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
