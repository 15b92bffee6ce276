#include "tenant/usage.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>

#include "fmt/format.h"

namespace tranche::tenant {

using namespace limit;

namespace {

// One record of <tenant>.owners.
struct OwnerRecord {
  std::uint64_t start_time;
  std::int32_t pid;  // 0: free
  std::uint32_t reserved;
};
static_assert(sizeof(OwnerRecord) == 16);

Result<Descriptor> open_file(const std::filesystem::path& path) {
  Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.is_open()) return std::unexpected(errno_error(errno, "open " + path.string()));
  return fd;
}

std::int64_t owner_place(unsigned slot) {
  return static_cast<std::int64_t>(slot * sizeof(OwnerRecord));
}

std::int64_t place_of(unsigned slot) {
  return static_cast<std::int64_t>(offsetof(wire::UsageFile, slot) + slot * sizeof(wire::Slot));
}

// Reads zeros where the file ends early.
template <class T>
T read_at(int fd, std::int64_t at) {
  T value{};
  auto* bytes = reinterpret_cast<char*>(&value);
  for (std::size_t done = 0; done < sizeof(T);) {
    const auto n = pread(fd, bytes + done, sizeof(T) - done, at + static_cast<std::int64_t>(done));
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return value;
}

Result<void> write_at(int fd, const void* data, std::size_t size, std::int64_t at) {
  const auto n = pwrite(fd, data, size, at);
  if (n != static_cast<std::int64_t>(size)) {
    return std::unexpected(errno_error(n < 0 ? errno : ENOSPC, "write of a tenant's usage"));
  }
  return {};
}

// The same layout as wire::Slot without atomics, which cannot be read through files.
struct PlainWork {
  std::uint64_t busy_since;
  std::uint64_t asked_ns;
  std::uint64_t ended_ns;
  std::uint64_t measured_ns;
  std::uint32_t waiting;
  std::uint32_t reserved;
};
struct alignas(64) SlotHead {
  std::uint64_t generation;
  std::uint64_t written;
  PlainWork work[wire::kMaxDevices];
  alignas(64) std::uint64_t charged[wire::kMaxDevices];
  std::uint64_t longest_ns;
  std::uint64_t refused;
  std::uint32_t pid;
  std::uint32_t inner_pid;
};
struct PlainSlot : SlotHead {
  wire::Interval ring[wire::kRing];
};
static_assert(offsetof(SlotHead, refused) == offsetof(wire::Slot, refused));
static_assert(sizeof(PlainWork) == sizeof(wire::DeviceWork));
static_assert(sizeof(SlotHead) == offsetof(wire::Slot, ring));
static_assert(sizeof(PlainSlot) == sizeof(SlotHead) + sizeof(wire::Slot::ring));

std::uint64_t monotonic_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

std::uint64_t beyond(std::uint64_t sum, std::uint64_t known) {
  return sum > known ? sum - known : 0;
}

struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t reserved;
  std::uint32_t size;
  std::uint32_t slots;
};
static_assert(offsetof(wire::UsageFile, slots) == offsetof(Header, slots));

}  // namespace

Usage::Usage(Descriptor file, Descriptor owners_file, unsigned devices,
             std::optional<GuardedMapping> mapping)
    : file_(std::move(file)),
      owners_file_(std::move(owners_file)),
      mapping_(std::move(mapping)),
      devices_(std::min(devices, wire::kMaxDevices)),
      owners_(wire::kMaxProcesses),
      // Generations begin at the present time, so a generation from a file that was lost never fits
      // a slot of this one.
      generations_(wire::kMaxProcesses, monotonic_ns()),
      seen_(wire::kMaxProcesses),
      told_(std::size_t{wire::kMaxProcesses} * devices_) {}

Result<Usage> Usage::open(const std::filesystem::path& dir, const std::string& tenant,
                          unsigned devices) {
  const auto path = dir / (tenant + ".usage");
  ASSIGN_OR_RETURN(Descriptor file, open_file(path));
  ASSIGN_OR_RETURN(Descriptor owners, open_file(dir / (tenant + ".owners")));
  auto header = read_at<Header>(file.get(), 0);
  if (header.magic == wire::kUsageMagic && header.version != wire::kVersion) {
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: layout {} of another release; this one knows {}", path.string(),
                            header.version, wire::kVersion),
                "it goes with its container: delete the Pod, or go back to that release");
  }
  if (ftruncate(file.get(), sizeof(wire::UsageFile)) != 0) {
    return std::unexpected(errno_error(errno, "size of " + path.string()));
  }
  auto mapped = GuardedMapping::map(file.get(), sizeof(wire::UsageFile));
  std::optional<GuardedMapping> mapping;
  if (mapped) mapping = *std::move(mapped);
  Usage usage(std::move(file), std::move(owners), devices, std::move(mapping));
  TRY(usage.load_owners());
  header = {wire::kUsageMagic, wire::kVersion, 0, sizeof(wire::UsageFile), header.slots};
  TRY(write_at(usage.fd(), &header, sizeof(header), 0));
  return usage;
}

void Usage::remove(const std::filesystem::path& dir, const std::string& tenant) {
  std::error_code ignored;  // a missing file is no error
  std::filesystem::remove(dir / (tenant + ".usage"), ignored);
  std::filesystem::remove(dir / (tenant + ".owners"), ignored);
}

Result<void> Usage::load_owners() {
  for (unsigned slot = 0; slot < wire::kMaxProcesses; ++slot) {
    const auto record = read_at<OwnerRecord>(owners_file_.get(), owner_place(slot));
    if (record.pid == 0) continue;
    owners_[slot] = {record.pid, record.start_time};
    const auto plain = read_at<PlainSlot>(fd(), place_of(slot));
    generations_[slot] = plain.generation;
    seen_[slot] = plain.written;
    for (unsigned i = 0; i < devices_; ++i) {
      told(slot)[i] = {plain.work[i].measured_ns, plain.work[i].ended_ns};
    }
  }
  return {};
}

Result<void> Usage::store_owner(unsigned slot) {
  OwnerRecord record{};
  if (owners_[slot]) record = {owners_[slot]->start_time, owners_[slot]->pid, 0};
  return write_at(owners_file_.get(), &record, sizeof(record), owner_place(slot));
}

Result<void> Usage::clear(unsigned slot) {
  PlainSlot plain{};
  plain.generation = ++generations_[slot];
  seen_[slot] = 0;
  std::ranges::fill(told(slot), Told{});
  return write_at(fd(), &plain, sizeof(plain), place_of(slot));
}

Result<unsigned> Usage::take(const ProcessId& process) {
  const auto holds = [&](const auto& owner) { return owner && *owner == process; };
  auto entry = std::ranges::find_if(owners_, holds);
  if (entry == owners_.end()) {
    entry = std::ranges::find_if(owners_, [](const auto& owner) { return !owner; });
    if (entry == owners_.end()) {
      return fail(Code::kUnavailable,
                  fmt::format("{} processes of one container use a GPU", wire::kMaxProcesses));
    }
    const auto slot = static_cast<unsigned>(entry - owners_.begin());
    TRY(clear(slot));
    *entry = process;
    if (auto stored = store_owner(slot); !stored) {
      entry->reset();  // who is refused must not keep a slot
      return std::unexpected(std::move(stored).error());
    }
  }
  const auto slot = static_cast<unsigned>(entry - owners_.begin());
  TRY(note_slot(slot));
  return slot;
}

// Raises the number of slots that readers look at.
Result<void> Usage::note_slot(unsigned slot) {
  const auto slots = std::max(read_at<Header>(fd(), 0).slots, slot + 1);
  const std::uint32_t bounded = std::min(slots, wire::kMaxProcesses);
  return write_at(fd(), &bounded, sizeof(bounded), offsetof(wire::UsageFile, slots));
}

Result<unsigned> Usage::move(const ProcessId& process, unsigned slot) {
  ASSIGN_OR_RETURN(const unsigned before, take(process));
  if (slot == before || slot >= wire::kMaxProcesses || owners_[slot]) return before;
  TRY(clear(slot));
  owners_[slot] = process;
  TRY(store_owner(slot));
  TRY(note_slot(slot));
  TRY(clear(before));
  owners_[before].reset();
  TRY(store_owner(before));
  return slot;
}

Result<bool> Usage::release(const ProcessId& process) {
  const auto holds = [&](const auto& owner) { return owner && *owner == process; };
  const auto entry = std::ranges::find_if(owners_, holds);
  if (entry == owners_.end()) return false;
  const auto slot = static_cast<unsigned>(entry - owners_.begin());
  // The slot is cleared before it is freed. If the arbiter is killed in between, the next arbiter
  // does both.
  TRY(clear(slot));
  entry->reset();
  if (auto stored = store_owner(slot); !stored) {
    *entry = process;
    return std::unexpected(std::move(stored).error());
  }
  return true;
}

Result<std::uint64_t> Usage::trim() {
  constexpr std::uint64_t kUnit = 512;        // unit of st_blocks
  constexpr std::uint64_t kRoom = 4U << 20U;  // more than a file system's largest page
  constexpr auto kSize = sizeof(wire::UsageFile);
  struct stat status{};
  if (fstat(fd(), &status) != 0) return std::unexpected(errno_error(errno, "a tenant's usage"));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  // Blocks beyond the end of the file do not show in its size.
  const std::uint64_t stored = static_cast<std::uint64_t>(status.st_blocks) * kUnit;
  const std::uint64_t beyond_size = beyond(size, kSize);
  const std::uint64_t more = std::max(beyond_size, stored > kSize + kRoom ? stored - kSize : 0);
  if (more == 0) return 0;
  if (ftruncate(fd(), kSize) != 0) {
    return std::unexpected(errno_error(errno, "cut a tenant's usage"));
  }
  return more;
}

std::vector<ProcessId> Usage::owners() const {
  std::vector<ProcessId> result;
  for (const auto& owner : owners_) {
    if (owner) result.push_back(*owner);
  }
  return result;
}

const wire::UsageFile* Usage::mapped() const {
  if (!mapping_ || mapping_->is_torn()) return nullptr;
  return static_cast<const wire::UsageFile*>(mapping_->data());
}

// `AnySlot`: a wire::Slot, which its process may write meanwhile, or a PlainSlot.
template <class AnySlot>
void Usage::fill(const AnySlot& from, unsigned slot, SlotReading& reading) {
  reading.slot = slot;
  reading.busy_since.resize(devices_);
  reading.waiting.resize(devices_);
  for (unsigned i = 0; i < devices_; ++i) {
    reading.busy_since[i] = from.work[i].busy_since;
    reading.waiting[i] = from.work[i].waiting;
  }
  reading.intervals.clear();
  reading.lost = 0;
  std::uint64_t& seen = seen_[slot];
  const std::uint64_t written = from.written;
  if (written < seen) seen = written;  // the process set it back; begin there
  if (written - seen > wire::kRing) {
    reading.lost = written - seen - wire::kRing;
    seen = written - wire::kRing;
  }
  for (; seen < written; ++seen) {
    const wire::Interval interval = from.ring[seen % wire::kRing];
    if (interval.device >= devices_) continue;
    reading.intervals.push_back(interval);
    Told& sums = told(slot)[interval.device];
    sums.measured += interval.end - interval.begin;
    sums.asked += interval.asked_ns;
  }
  if (reading.lost != 0) tell_lost(from, slot, reading);
  reading.unfinished.clear();
  for (unsigned i = 0; i < devices_; ++i) {
    reading.unfinished.push_back(
        std::min(beyond(from.work[i].asked_ns, told(slot)[i].asked), kMostUnfinished));
  }
}

// The process raises the sums after it writes the intervals. So the sums of what was read may be
// ahead of the slot's sums.
template <class AnySlot>
void Usage::tell_lost(const AnySlot& from, unsigned slot, SlotReading& reading) {
  for (unsigned i = 0; i < devices_; ++i) {
    Told& sums = told(slot)[i];
    const std::uint64_t measured = beyond(from.work[i].measured_ns, sums.measured);
    const std::uint64_t asked = beyond(from.work[i].ended_ns, sums.asked);
    const auto first = std::ranges::find(reading.intervals, i, &wire::Interval::device);
    if (first == reading.intervals.end() || measured > first->begin) continue;
    if (measured == 0 && asked == 0) continue;
    sums.measured += measured;
    sums.asked += asked;
    const std::uint64_t end = first->begin;
    reading.intervals.insert(first, {end - measured, end, i, 0, asked});
  }
}

SlotReading Usage::read(unsigned slot) {
  SlotReading reading;
  read(slot, reading);
  return reading;
}

void Usage::read(unsigned slot, SlotReading& reading) {
  if (const auto* file = mapped(); file != nullptr) {
    fill(file->slot[slot], slot, reading);
  } else {
    fill(read_at<PlainSlot>(fd(), place_of(slot)), slot, reading);
  }
}

void Usage::prefetch(unsigned slot) const {
  const auto* file = mapped();
  if (file == nullptr) return;
  // A prefetch of a missing page does nothing.
  const wire::Slot& from = file->slot[slot];
  for (unsigned i = 0; i < devices_; ++i) __builtin_prefetch(&from.work[i]);
  __builtin_prefetch(&from.ring[seen_[slot] % wire::kRing]);
  __builtin_prefetch(&file->spent_ns);
}

Usage::Summary Usage::summary(unsigned slot) const {
  const auto head = read_at<SlotHead>(fd(), place_of(slot));
  return {{head.charged, head.charged + devices_}, head.refused, head.longest_ns};
}

std::uint64_t Usage::charged(unsigned device) {
  std::uint64_t sum = 0;
  for (unsigned slot = 0; slot < owners_.size(); ++slot) {
    if (!owners_[slot]) continue;
    sum += read_at<std::uint64_t>(
        fd(), place_of(slot) + static_cast<std::int64_t>(offsetof(SlotHead, charged) +
                                                         device * sizeof(std::uint64_t)));
  }
  return sum;
}

std::uint32_t Usage::waiting(unsigned slot, unsigned device) const {
  if (const auto* file = mapped(); file != nullptr) return file->slot[slot].work[device].waiting;
  return read_at<std::uint32_t>(
      fd(), place_of(slot) +
                static_cast<std::int64_t>(offsetof(SlotHead, work) + device * sizeof(PlainWork) +
                                          offsetof(PlainWork, waiting)));
}

std::uint64_t Usage::spent_ns(unsigned device) const {
  if (const auto* file = mapped(); file != nullptr) return file->spent_ns[device];
  return read_at<std::uint64_t>(fd(),
                                static_cast<std::int64_t>(offsetof(wire::UsageFile, spent_ns) +
                                                          device * sizeof(std::uint64_t)));
}

}  // namespace tranche::tenant
