#include "tenant/slot_owners.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace tranche::tenant {

using limit::wire::kMaxProcesses;

namespace {

struct Header {
  std::uint64_t magic;
  std::uint64_t version;
  MemoryId memory;
};
static_assert(sizeof(Header) == 32);
constexpr std::uint64_t kMagic = 0x53524E574F525454;  // "TTROWNRS"
constexpr std::uint64_t kVersion = 1;

struct Record {
  std::uint64_t start_time;
  std::int32_t pid;  // 0: free
  std::uint32_t reserved;
};
static_assert(sizeof(Record) == 16);

off_t place_of(unsigned slot) { return static_cast<off_t>(sizeof(Header) + slot * sizeof(Record)); }

Result<void> write_at(int fd, const auto& value, off_t at) {
  const auto n = pwrite(fd, &value, sizeof(value), at);
  if (n == static_cast<ssize_t>(sizeof(value))) return {};
  return std::unexpected(errno_error(n < 0 ? errno : ENOSPC, "write of a tenant's processes"));
}

}  // namespace

Result<SlotOwners> SlotOwners::open(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return std::unexpected(errno_error(errno, "open " + path.string()));
  SlotOwners owners(std::move(file));
  if (auto loaded = owners.load(); !loaded) {
    return std::unexpected(std::move(loaded).error().with_context(path.string()));
  }
  return owners;
}

Result<void> SlotOwners::load() {
  struct {
    Header header;
    Record records[kMaxProcesses];
  } file{};
  const auto n = pread(file_.get(), &file, sizeof(file), 0);
  if (n < 0) return std::unexpected(errno_error(errno, "read"));
  if (file.header.magic != kMagic || file.header.version != kVersion) {
    if (ftruncate(file_.get(), 0) != 0) return std::unexpected(errno_error(errno, "empty it"));
    return {};
  }
  memory_ = file.header.memory;
  for (unsigned slot = 0; slot < kMaxProcesses; ++slot) {
    const Record& record = file.records[slot];
    if (record.pid != 0) owners_[slot] = {record.pid, record.start_time};
  }
  return {};
}

std::optional<unsigned> SlotOwners::slot_of(const ProcessId& process) const {
  const auto entry =
      std::ranges::find_if(owners_, [&](const auto& owner) { return owner && *owner == process; });
  if (entry == owners_.end()) return std::nullopt;
  return static_cast<unsigned>(entry - owners_.begin());
}

std::optional<unsigned> SlotOwners::free_slot() const {
  const auto entry = std::ranges::find_if(owners_, [](const auto& owner) { return !owner; });
  if (entry == owners_.end()) return std::nullopt;
  return static_cast<unsigned>(entry - owners_.begin());
}

std::vector<ProcessId> SlotOwners::all() const {
  std::vector<ProcessId> result;
  for (const auto& owner : owners_) {
    if (owner) result.push_back(*owner);
  }
  return result;
}

Result<void> SlotOwners::set(unsigned slot, std::optional<ProcessId> owner) {
  Record record{};
  if (owner) record = {owner->start_time, owner->pid, 0};
  TRY(write_at(file_.get(), record, place_of(slot)));
  owners_[slot] = owner;
  return {};
}

Result<void> SlotOwners::remember(const MemoryId& memory) {
  TRY(write_at(file_.get(), Header{kMagic, kVersion, memory}, 0));
  memory_ = memory;
  return {};
}

}  // namespace tranche::tenant
