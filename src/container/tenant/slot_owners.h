#pragma once
// Which process has which slot of a tenant's usage memory, and which memory that is: what the next
// arbiter needs to know. A file that only arbiters can reach.
//
// Layout of the file: a header (16 bytes of magic and version, device and inode of the memory),
// then kMaxProcesses records of pid and start time (pid 0: the slot is free). It is on a tmpfs, so
// a reboot removes it together with the processes. A file in another layout belongs to another
// release; its processes register again.
//
// Not thread-safe.

#include <array>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "limit/wire.h"
#include "tenant/process.h"
#include "tenant/sealed_memory.h"

namespace tranche::tenant {

class SlotOwners {
 public:
  // Creates the file if it is missing. kIo.
  static Result<SlotOwners> open(const std::filesystem::path& path);

  const std::optional<ProcessId>& operator[](unsigned slot) const { return owners_[slot]; }
  std::optional<unsigned> slot_of(const ProcessId& process) const;
  std::optional<unsigned> free_slot() const;
  std::vector<ProcessId> all() const;
  Result<void> set(unsigned slot, std::optional<ProcessId> owner);

  // The memory that the slots are in; nullopt: none was recorded.
  const std::optional<MemoryId>& memory() const { return memory_; }
  Result<void> remember(const MemoryId& memory);

 private:
  explicit SlotOwners(Descriptor file)
      : file_(std::move(file)), owners_(limit::wire::kMaxProcesses) {}
  Result<void> load();

  Descriptor file_;
  std::vector<std::optional<ProcessId>> owners_;
  std::optional<MemoryId> memory_;
};

}  // namespace tranche::tenant
