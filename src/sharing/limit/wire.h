#pragma once
// The format that the arbiter and the limiter in a container share: the policy page, the usage file
// and the messages of the socket (docs/decisions/0010-limits.md). This header is the format. It
// includes nothing of ours but two enumerations and needs no library at run time, because
// interpose/ is loaded into arbitrary programs.
//
// Writers: only the arbiter writes the policy page, a sealed memfd that the tenant maps read-only.
// The tenant's processes write the usage file, a memfd sealed in size, each its own slot. The
// arbiter clears the slots of dead processes there. Each changing word is one 64-bit or 32-bit
// atomic, and no reader needs two words to agree. So a process may be killed between two writes.
// All values are in bytes and nanoseconds. Times are CLOCK_MONOTONIC, which containers share.
//
// A changed layout gets a new kVersion. A container may keep an older library for its whole life,
// next to a newer arbiter. So the arbiter serves every version that it ever served. The library
// refuses an unknown version: then it allows no more memory and reports that.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "values/enforcement.h"

namespace tranche::limit::wire {

inline constexpr std::uint32_t kPolicyMagic = 0x4C4F5054;  // "TPOL"
inline constexpr std::uint32_t kUsageMagic = 0x47535554;   // "TUSG"
inline constexpr std::uint32_t kHelloMagic = 0x4C485254;   // "TRHL"
inline constexpr std::uint16_t kVersion = 1;

inline constexpr unsigned kMaxDevices = 16;
inline constexpr unsigned kMaxTenants = 16;  // per container: one for each resource
inline constexpr unsigned kMaxProcesses = 1024;
inline constexpr unsigned kRing = 64;
inline constexpr unsigned kDeciders = 40;  // threads of a process
inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// A word of charged bytes. Another process can distinguish a charge in it that may still be
// withdrawn from a final one: the charging thread marks it in the slot (Slot::deciding) or, if it
// has no place there, counts in the upper bits of the word until the charge is granted.
inline constexpr std::uint64_t kUndecided = std::uint64_t{1} << 56U;
constexpr std::uint64_t bytes_of(std::uint64_t charged) { return charged & (kUndecided - 1); }
// More than any process can hold.
inline constexpr std::uint64_t kMostCharged = std::uint64_t{1} << 50U;
// Whether no library writes such a word.
constexpr bool is_forged(std::uint64_t charged) {
  return bytes_of(charged) > kMostCharged || charged >= kUndecided << 7U;
}
// Adds values that tenants may have forged; saturates at the maximum.
constexpr std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  return a + b < a ? kNoLimit : a + b;
}

// Unit for charged bytes that a process exported and released: others may still hold them. They are
// excluded from the comparison with NVML's count (interpose/released.h).
inline constexpr std::uint64_t kReleasedUnit = std::uint64_t{1} << 16U;
constexpr std::uint64_t released_bytes(std::uint32_t units) { return units * kReleasedUnit; }
constexpr std::uint32_t released_units(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(bytes / kReleasedUnit);
}

using Word = std::atomic<std::uint64_t>;
using Half = std::atomic<std::uint32_t>;
using Byte = std::atomic<std::uint8_t>;
static_assert(Word::is_always_lock_free && Half::is_always_lock_free && Byte::is_always_lock_free);
static_assert(sizeof(Enforcement) == sizeof(Half) && sizeof(Priority) == sizeof(Half));
static_assert(static_cast<std::uint32_t>(Enforcement::kOff) == 0 &&
              static_cast<std::uint32_t>(Enforcement::kElastic) == 3 &&
              static_cast<std::uint32_t>(Priority::kLatencyCritical) == 0 &&
              static_cast<std::uint32_t>(Priority::kBestEffort) == 2);

// ---- the policy page: one page for each tenant

struct DevicePolicy {
  unsigned char uuid[16];  // of the GPU, or of the MIG instance; as cuDeviceGetUuid returns it
  Word memory_limit;       // bytes that the tenant may hold; kNoLimit: unlimited
  Word memory_view;        // bytes shown as the device's total: the limit, or the device's own
  Word outside;            // bytes that NVML counts for the tenant beyond its slots
  Word allowed_ns;    // GPU time that the tenant may have asked for since it started; kNoLimit:
                      // unlimited
  Half turn;          // futex: changes when allowed_ns has grown while a thread waited
  Half closed;        // 1: launches wait, regardless of what was allowed
  Half in_flight_ns;  // most GPU time launched and unfinished, or one launch; 0: no bound
  Half readings;      // rises with each NVML reading that `outside` reflects; 0: nobody reads NVML
};

struct PolicyPage {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t device_count;
  std::uint32_t size;
  Half enforcement;  // Enforcement
  Half priority;     // Priority
  Half epoch;        // changes when another arbiter takes over
  Word heartbeat;    // when the arbiter last ran; kept up to date only while `awake` is 1
  Half awake;        // 1: heartbeat is kept up to date
  Half reserved;
  DevicePolicy devices[kMaxDevices];
};
static_assert(sizeof(DevicePolicy) == 64);
static_assert(sizeof(PolicyPage) <= 4096);

// ---- the usage file: one for each tenant; it has no name

// A measured stretch of GPU work: from the begin of the first launch to the end of the last one.
struct Interval {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint32_t device;
  std::uint32_t launches;
  std::uint64_t asked_ns;  // estimate at launch
};

// The work of a process on one device.
struct DeviceWork {
  Word busy_since;  // begin of the oldest running batch; 0: none
  // GPU time that the process asked for (its part of `spent_ns`), and the part of it that was
  // reported as ended. The rest has not ended, or never will: it disappears with the process.
  Word asked_ns;
  Word ended_ns;
  Word measured_ns;  // sum of the lengths of reported stretches
  Half waiting;      // threads waiting at the gate
  Half released;  // charged bytes of the device, in kReleasedUnit, that were exported and released;
                  // always 0 with an older library
};

// An allocation that failed: bytes asked and the device's index in one word, so that they agree.
constexpr std::uint64_t asked_word(unsigned device, std::uint64_t bytes) {
  return std::uint64_t{device} << 56U | (bytes < kUndecided ? bytes : kUndecided - 1);
}
constexpr unsigned asked_device(std::uint64_t word) { return static_cast<unsigned>(word >> 56U); }
constexpr std::uint64_t asked_bytes(std::uint64_t word) { return bytes_of(word); }

// The last failures of a process. They take the place of padding: libraries of earlier releases
// leave them 0, arbiters of earlier releases neither read nor clear them.
struct Failures {
  // The last allocation that the limit refused (Slot::refused counts them): asked_word(); what the
  // tenant held of the device then; and when, 0: none yet.
  Word refused_asked;
  Word refused_held;
  Word refused_at;
  // Allocations within the limit that the driver refused for want of memory: how many, the last
  // one's asked_word(), and when.
  Word driver_refused;
  Word driver_asked;
  Word driver_at;
};

// The slot of one process. It has its own cache lines, so processes never write the same one. At
// each step the arbiter reads the first line, for one device, and the new entries of the ring.
// `charged` is separate, because the tenant's other processes read it at each allocation.
struct alignas(64) Slot {
  Word generation;  // different for each process that uses the slot
  // A ring of intervals. The process writes at `written % kRing`, then raises `written`. A reader
  // that lags more than kRing behind has lost some intervals, and takes their sum from
  // `measured_ns` and `ended_ns`.
  Word written;
  DeviceWork work[kMaxDevices];
  Failures failures;
  alignas(64) Word charged[kMaxDevices];  // bytes, plus kUndecided for each charge not yet granted
  Word longest_ns;                        // longest single launch or graph seen
  Word refused;                           // allocations that the limit refused
  Half pid;                               // the process id that the arbiter and NVML see
  Half inner_pid;                         // the process id that the process itself sees
  // Each is written by only one thread: odd from before it charges until the charge is granted or
  // withdrawn, and two higher after each withdrawn one. (This needs no locked instruction, unlike
  // the count in the word. Libraries of earlier releases leave them 0.)
  Byte deciding[kDeciders];
  alignas(64) Interval ring[kRing];
};

// The layout of version 1, which no release may change.
static_assert(offsetof(Slot, failures) == 656 && offsetof(Slot, charged) == 704);
static_assert(offsetof(Slot, deciding) + kDeciders == offsetof(Slot, ring));
static_assert(offsetof(Slot, ring) == 896 && sizeof(Slot) == 2944);

struct UsageFile {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t reserved;
  std::uint32_t size;
  Half slots;  // no slot at or above this was ever taken
  alignas(64) Word spent_ns[kMaxDevices];
  Slot slot[kMaxProcesses];
};
static_assert(offsetof(UsageFile, slot) % 64 == 0);

// How many slots may be in use. The tenant can write the file, so a wrong number must not lead
// outside it.
inline unsigned slots_of(const UsageFile& usage) {
  const unsigned slots = usage.slots.load(std::memory_order_acquire);
  return slots < kMaxProcesses ? slots : kMaxProcesses;
}

// ---- the socket: SOCK_SEQPACKET, one message per packet, in the machine's byte order

enum class Message : std::uint32_t {
  kHello = 1,  // library: first message; with the descriptor of the previous arbiter's usage file,
               // if it has one, which the new arbiter continues to use
  kWelcome = 2,  // arbiter: reply, with the descriptors of policy page and usage file
  kWaiting = 3,  // library: a thread waits on `device`, or starts latency-critical work there, and
                 // `awake` was 0
  kContext = 4,  // library: a context was created on `device`; the arbiter should read NVML now
};

struct Hello {
  std::uint32_t magic;
  Message kind;
  std::uint16_t version;
  std::uint16_t reserved;
  std::uint32_t slot;        // its slot under an earlier arbiter; kMaxProcesses: none
  std::uint64_t generation;  // of that slot
};

enum class Answer : std::uint32_t {
  kAccepted = 0,
  kFull = 1,            // there are already kMaxProcesses processes
  kVersionUnknown = 2,  // the arbiter does not serve this version
  kNotOurs = 3,         // the arbiter could not identify the peer (no pidfd and no cgroup)
};

struct Welcome {
  std::uint32_t magic;
  Message kind;
  Answer answer;
  std::uint32_t slot;
  std::uint64_t generation;
  std::uint32_t pid;  // of the process, as the arbiter sees it
  std::uint32_t reserved;
};

struct Notice {
  std::uint32_t magic;
  Message kind;
  std::uint32_t device;
  std::uint32_t reserved;
};

}  // namespace tranche::limit::wire
