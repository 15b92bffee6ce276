#pragma once
// The format that the arbiter and the limiter in a container share: the policy page, the usage file
// and the messages of the socket (docs/decisions/0010-limits.md). This header is the format. It
// includes nothing of ours but two enumerations and needs no library at run time, because
// interpose/ is loaded into programs that we know nothing about.
//
// Writers: only the arbiter writes the policy page, a sealed memfd that the tenant maps for
// reading. The tenant's processes write the usage file, a memfd sealed in size, each its own slot.
// The arbiter clears the slots of dead processes there. Each changing word is one 64-bit or 32-bit
// atomic, and no reader needs two words to agree. So a process may be killed between two writes.
// All values are in bytes and nanoseconds. Times are of CLOCK_MONOTONIC, which containers share.
//
// A changed layout is a new kVersion. A container may keep an older library for as long as it
// lives, beside a newer arbiter. So the arbiter serves each version that it ever served. The
// library refuses a version that it does not know: then it allows no more memory and says so.

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
inline constexpr unsigned kMaxTenants = 16;  // of one container, which has one for each resource
inline constexpr unsigned kMaxProcesses = 1024;
inline constexpr unsigned kRing = 64;
inline constexpr unsigned kDeciders = 40;  // threads of a process
inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// A word of charged bytes. Another process can tell a charge in it that may be withdrawn from one
// that stays: its thread says so in the slot (Slot::deciding), or, where it has no place there,
// counts in the upper bits of the word until the charge is granted.
inline constexpr std::uint64_t kUndecided = std::uint64_t{1} << 56U;
constexpr std::uint64_t bytes_of(std::uint64_t charged) { return charged & (kUndecided - 1); }
// More than any process can hold.
inline constexpr std::uint64_t kMostCharged = std::uint64_t{1} << 50U;
// A word that no library writes.
constexpr bool is_forged(std::uint64_t charged) {
  return bytes_of(charged) > kMostCharged || charged >= kUndecided << 7U;
}
// A sum of what tenants may have written: it stays at the maximum.
constexpr std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  return a + b < a ? kNoLimit : a + b;
}

// Charged bytes that a process exported and let go, in units: others may hold them still. What NVML
// counts is compared without them (interpose/let_go.h).
inline constexpr std::uint64_t kLetGoUnit = std::uint64_t{1} << 16U;
constexpr std::uint64_t let_go_bytes(std::uint32_t units) { return units * kLetGoUnit; }
constexpr std::uint32_t let_go_units(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(bytes / kLetGoUnit);
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
  Word memory_limit;       // bytes that the tenant may hold; kNoLimit
  Word memory_view;        // bytes shown as the device's total: the limit, or the device's own
  Word outside;            // bytes that NVML counts for the tenant beyond its slots
  Word allowed_ns;         // GPU time that the tenant may have asked for since it began; kNoLimit
  Half turn;               // futex: changes when allowed_ns has grown while a thread waited
  Half closed;             // 1: launches wait, whatever was allowed
  Half in_flight_ns;       // most GPU time launched and unfinished, or one launch; 0: no bound
  Half readings;           // of NVML that `outside` follows, counted; 0 always: of an older arbiter
};

struct PolicyPage {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t device_count;
  std::uint32_t size;
  Half enforcement;  // Enforcement
  Half priority;     // Priority
  Half epoch;        // of the arbiter; another value: another arbiter has taken over
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
  Word busy_since;  // begin of the oldest batch that runs and has not ended; 0: none
  // GPU time that the process asked for (its part of `spent_ns`), and the part of it that was
  // reported as ended. The rest has not ended, or never will: it goes away with the process.
  Word asked_ns;
  Word ended_ns;
  Word measured_ns;  // sum of the lengths of reported stretches
  Half waiting;      // threads that wait at the gate
  Half let_go;       // of the device's charged bytes, in kLetGoUnit; 0 always: of an older library
};

// The slot of one process. It has cache lines of its own, so processes never write the same one. At
// each step the arbiter reads the first line, for one device, and the new entries of the ring.
// `charged` lies apart, because the tenant's other processes read it with each allocation.
struct alignas(64) Slot {
  Word generation;  // a different value for each process that has the slot
  // A ring of intervals. The process writes at `written % kRing`, then raises `written`. A reader
  // that lags more than kRing behind has lost some intervals, and takes their sum from
  // `measured_ns` and `ended_ns`.
  Word written;
  DeviceWork work[kMaxDevices];
  alignas(64) Word charged[kMaxDevices];  // bytes, and kUndecided for each charge not yet granted
  Word longest_ns;                        // longest single launch or graph seen
  Word refused;                           // allocations that the limit refused
  Half pid;                               // the process id that the arbiter and NVML see
  Half inner_pid;                         // the process id that the process itself sees
  // Each is written by one thread alone: odd from before it charges until that is granted or
  // withdrawn, and higher by two after each that was withdrawn. (This takes no locked instruction,
  // which the count in the word does. Libraries of earlier releases leave them 0.)
  Byte deciding[kDeciders];
  alignas(64) Interval ring[kRing];
};

static_assert(offsetof(Slot, deciding) + kDeciders == offsetof(Slot, ring));

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

// How many slots may be in use. The file is the tenant's to write: a wrong number must not lead out
// of it.
inline unsigned slots_of(const UsageFile& usage) {
  const unsigned slots = usage.slots.load(std::memory_order_acquire);
  return slots < kMaxProcesses ? slots : kMaxProcesses;
}

// ---- the socket: SOCK_SEQPACKET, one message per packet, in the machine's byte order

enum class Message : std::uint32_t {
  kHello = 1,    // library: first message; with the descriptor of the usage file of the arbiter
                 // before, if it has that, which the next one goes on with
  kWelcome = 2,  // arbiter: answer, with the descriptors of policy page and usage file
  kWaiting = 3,  // library: a thread waits on `device`, or begins to work there as
                 // latency-critical, and `awake` was 0
  kContext = 4,  // library: a context was made on `device`; the arbiter should read NVML now
};

struct Hello {
  std::uint32_t magic;
  Message kind;
  std::uint16_t version;
  std::uint16_t reserved;
  std::uint32_t slot;        // the slot that it had under an earlier arbiter; kMaxProcesses: none
  std::uint64_t generation;  // of that slot
};

enum class Answer : std::uint32_t {
  kAccepted = 0,
  kFull = 1,            // kMaxProcesses processes already
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
