#include "tenant/usage.h"

#include <algorithm>
#include <chrono>

#include "base/fs.h"
#include "fmt/format.h"

namespace tranche::tenant {

using namespace limit;

namespace {

constexpr const char* kExtension = ".slots";

std::filesystem::path file_of(const std::filesystem::path& dir, const std::string& tenant) {
  return dir / (tenant + kExtension);
}

std::uint64_t monotonic_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

std::uint64_t beyond(std::uint64_t sum, std::uint64_t known) {
  return sum > known ? sum - known : 0;
}

Result<SealedMemory> new_memory() {
  return SealedMemory::create("tranche-usage", sizeof(wire::UsageFile));
}

// Every word except the generation. Charges first: their memory is free at once.
void make_empty(wire::Slot& slot) {
  for (wire::Word& charged : slot.charged) charged = 0;
  for (wire::DeviceWork& work : slot.work) {
    for (wire::Word* word : {&work.busy_since, &work.asked_ns, &work.ended_ns, &work.measured_ns}) {
      *word = 0;
    }
    work.waiting = 0;
    work.released = 0;
  }
  for (wire::Word* word : {&slot.written, &slot.longest_ns, &slot.refused}) *word = 0;
  wire::Failures& failed = slot.failures;
  for (wire::Word* word : {&failed.refused_asked, &failed.refused_held, &failed.refused_at,
                           &failed.driver_refused, &failed.driver_asked, &failed.driver_at}) {
    *word = 0;
  }
  slot.pid = 0;
  slot.inner_pid = 0;
  for (wire::Byte& byte : slot.deciding) byte = 0;
}

Usage::Failure failure_of(std::uint64_t asked, std::uint64_t held, std::uint64_t at) {
  return {wire::asked_device(asked), wire::asked_bytes(asked), held, at};
}

bool is_empty(const wire::Slot& slot) {
  return slot.generation == 0 && slot.written == 0 &&
         std::ranges::all_of(slot.charged, [](const wire::Word& bytes) { return bytes == 0; });
}

}  // namespace

Usage::Usage(SlotOwners owners, SealedMemory memory, unsigned devices)
    : owners_(std::move(owners)),
      memory_(std::move(memory)),
      devices_(std::min(devices, wire::kMaxDevices)),
      known_(wire::kMaxProcesses),
      may_hand_over_(wire::kMaxProcesses),
      // Generations begin at the present time, so a generation of memory that was lost never fits
      // a slot of this one.
      generations_(wire::kMaxProcesses, monotonic_ns()),
      seen_(wire::kMaxProcesses),
      told_(std::size_t{wire::kMaxProcesses} * devices_) {
  note_slots();
}

Result<Usage> Usage::open(const std::filesystem::path& dir, const std::string& tenant,
                          unsigned devices) {
  ASSIGN_OR_RETURN(auto owners, SlotOwners::open(file_of(dir, tenant)));
  ASSIGN_OR_RETURN(auto memory, new_memory());
  Usage usage(std::move(owners), std::move(memory), devices);
  for (unsigned slot = 0; slot < wire::kMaxProcesses; ++slot) {
    usage.known_[slot] = usage.owners_[slot].has_value();
  }
  usage.may_hand_over_ = usage.known_;
  usage.awaits_file_ = std::ranges::find(usage.known_, true) != usage.known_.end();
  if (!usage.awaits_file_) TRY(usage.owners_.remember(usage.memory_.id()));
  return usage;
}

void Usage::remove(const std::filesystem::path& dir, const std::string& tenant) {
  std::error_code ignored;  // a missing file is no error
  std::filesystem::remove(file_of(dir, tenant), ignored);
}

void Usage::remove_others(const std::filesystem::path& dir, const std::set<std::string>& tenants) {
  for (const auto& name : FsRoot().list(dir).value_or(std::vector<std::string>())) {
    const std::filesystem::path file = name;
    if (file.extension() == kExtension && !tenants.contains(file.stem())) remove(dir, file.stem());
  }
}

// The memory's own header. A tenant may have overwritten it.
void Usage::note_slots() {
  file().magic = wire::kUsageMagic;
  file().version = wire::kVersion;
  file().size = sizeof(wire::UsageFile);
  unsigned slots = 0;
  for (unsigned slot = 0; slot < wire::kMaxProcesses; ++slot) {
    if (owners_[slot]) slots = slot + 1;
  }
  // Slots that were ever taken are still read: they may be in use by a process that does not know
  // its end yet.
  const std::uint32_t before = wire::slots_of(file());
  file().slots = std::max(before, slots);
}

bool Usage::may_hand_over(const ProcessId& process) const {
  const auto slot = owners_.slot_of(process);
  return awaits_file_ && slot && may_hand_over_[*slot];
}

void Usage::came_without(const ProcessId& process) {
  if (const auto slot = owners_.slot_of(process)) may_hand_over_[*slot] = false;
}

bool Usage::somebody_may_hand_over() const {
  return std::ranges::any_of(owners(), [&](const auto& owner) { return may_hand_over(owner); });
}

Result<void> Usage::take_over(ForeignDescriptor memory) {
  ASSIGN_OR_RETURN(auto taken, SealedMemory::take(std::move(memory), *owners_.memory(),
                                                  sizeof(wire::UsageFile)));
  memory_ = std::move(taken);
  awaits_file_ = false;
  const std::uint32_t used = file().slots;  // those above were never written
  for (unsigned slot = 0; slot < wire::kMaxProcesses; ++slot) {
    if (owners_[slot] && known_[slot]) {
      know(slot);
    } else if (owners_[slot] || (slot < used && !is_empty(file().slot[slot]))) {
      clear(slot);
    }
  }
  note_slots();
  return {};
}

// What its process wrote before counts, and is not reported again.
void Usage::know(unsigned slot) {
  const wire::Slot& from = file().slot[slot];
  generations_[slot] = from.generation;
  seen_[slot] = from.written;
  for (unsigned i = 0; i < devices_; ++i) {
    told(slot)[i] = {from.work[i].measured_ns, from.work[i].ended_ns};
  }
}

Result<void> Usage::give_up() {
  TRY(owners_.remember(memory_.id()));
  awaits_file_ = false;
  for (unsigned slot = 0; slot < wire::kMaxProcesses; ++slot) {
    if (owners_[slot]) clear(slot);
  }
  note_slots();
  return {};
}

void Usage::clear(unsigned slot) {
  wire::Slot& to = file().slot[slot];
  make_empty(to);
  to.generation = ++generations_[slot];
  seen_[slot] = 0;
  std::ranges::fill(told(slot), Told{});
}

Result<unsigned> Usage::take(const ProcessId& process) {
  auto slot = owners_.slot_of(process);
  if (!slot) {
    slot = owners_.free_slot();
    if (!slot) {
      return fail(Code::kUnavailable,
                  fmt::format("{} processes of one container use a GPU", wire::kMaxProcesses));
    }
    TRY(give(*slot, process));
  }
  note_slots();
  return *slot;
}

// A free slot.
Result<void> Usage::give(unsigned slot, const ProcessId& process) {
  clear(slot);
  known_[slot] = false;
  may_hand_over_[slot] = false;
  return owners_.set(slot, process);
}

Result<unsigned> Usage::move(const ProcessId& process, unsigned slot) {
  ASSIGN_OR_RETURN(const unsigned before, take(process));
  if (slot == before || slot >= wire::kMaxProcesses || owners_[slot]) return before;
  TRY(give(slot, process));
  clear(before);
  TRY(owners_.set(before, std::nullopt));
  note_slots();
  return slot;
}

Result<bool> Usage::release(const ProcessId& process) {
  const auto slot = owners_.slot_of(process);
  if (!slot) return false;
  // The slot is cleared before it is freed. If the arbiter is killed in between, the next arbiter
  // does both.
  clear(*slot);
  TRY(owners_.set(*slot, std::nullopt));
  return true;
}

// Its process may write `from` meanwhile.
void Usage::fill(const wire::Slot& from, unsigned slot, SlotReading& reading) {
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
void Usage::tell_lost(const wire::Slot& from, unsigned slot, SlotReading& reading) {
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

void Usage::read(unsigned slot, SlotReading& reading) { fill(file().slot[slot], slot, reading); }

void Usage::prefetch(unsigned slot) const {
  // A prefetch of a missing page does nothing.
  const wire::Slot& from = file().slot[slot];
  for (unsigned i = 0; i < devices_; ++i) __builtin_prefetch(&from.work[i]);
  __builtin_prefetch(&from.ring[seen_[slot] % wire::kRing]);
  __builtin_prefetch(&file().spent_ns);
}

Usage::Summary Usage::counts(unsigned slot) const {
  const wire::Slot& from = file().slot[slot];
  const wire::Failures& failed = from.failures;
  return {.refused = from.refused,
          .longest_ns = from.longest_ns,
          .driver_refused = failed.driver_refused,
          .last_refused = failure_of(failed.refused_asked, failed.refused_held, failed.refused_at),
          .last_driver_refused = failure_of(failed.driver_asked, 0, failed.driver_at)};
}

Usage::Summary Usage::summary(unsigned slot) const {
  const wire::Slot& from = file().slot[slot];
  Summary summary = counts(slot);
  for (unsigned i = 0; i < devices_; ++i) {
    summary.charged.push_back(wire::bytes_of(from.charged[i]));
  }
  return summary;
}

std::vector<std::uint64_t> Usage::kept(unsigned slot) const {
  const wire::Slot& from = file().slot[slot];
  std::vector<std::uint64_t> kept;
  for (unsigned i = 0; i < devices_; ++i) {
    const std::uint64_t word = from.charged[i];
    const std::uint64_t released = wire::released_bytes(from.work[i].released);
    kept.push_back(beyond(wire::bytes_of(word), wire::is_forged(word) ? 0 : released));
  }
  return kept;
}

std::uint64_t Usage::kept(unsigned slot, unsigned device) const {
  const wire::Slot& from = file().slot[slot];
  const std::uint64_t word = from.charged[device];
  if (wire::is_forged(word)) return 0;
  return beyond(wire::bytes_of(word), wire::released_bytes(from.work[device].released));
}

// Of all taken slots. A forged word stands for no bytes.
template <class Bytes>
std::uint64_t Usage::sum(unsigned device, Bytes bytes) const {
  std::uint64_t sum = 0;
  for (unsigned slot = 0; slot < wire::kMaxProcesses; ++slot) {
    if (!owners_[slot]) continue;
    const wire::Slot& from = file().slot[slot];
    const std::uint64_t word = from.charged[device];
    if (!wire::is_forged(word)) sum = wire::add(sum, bytes(from, wire::bytes_of(word)));
  }
  return sum;
}

std::uint64_t Usage::charged(unsigned device) const {
  return sum(device, [](const wire::Slot&, std::uint64_t charged) { return charged; });
}

std::uint64_t Usage::released(unsigned device) const {
  return sum(device, [&](const wire::Slot& from, std::uint64_t charged) {
    return std::min(charged, wire::released_bytes(from.work[device].released));
  });
}

std::uint32_t Usage::waiting(unsigned slot, unsigned device) const {
  return file().slot[slot].work[device].waiting;
}

std::uint64_t Usage::spent_ns(unsigned device) const { return file().spent_ns[device]; }

}  // namespace tranche::tenant
