#pragma once
// The shared state of a simulated machine: one file, mapped MAP_SHARED by every participating
// process (libnvidia-ml.so.1, libcuda.so.1, tranche-sim). This header is the format.
//
// Lifetime: created once from the machine's YAML by the first opener (simulation.h), then never
// parsed again. A new layout gets a new kVersion; a file of another version is refused, never
// converted: it describes a running machine, not data worth keeping. Removing the file is a reboot.
//
// Threads and processes: scalars that change while the machine runs are atomics and may be read
// without a lock. To change several of them together (MIG instances, memory, process slots, events,
// faults), hold `lock`, a robust process-shared mutex: the kernel passes it on when its owner dies
// at any instruction. For that reason every change ends with one store that publishes it
// (`used`, `process_used`, `sequence`), so that a half-made change is invisible.
//
// Live processes: process slot i belongs to the process that holds a POSIX write lock on byte
// kSlotLockBase + i of "<state>.lock" (liveness.h). The kernel drops it at any death, and F_GETLK
// returns the holder in the caller's pid namespace. `self` in a slot only lets a process recognise
// its own slot (F_GETLK never reports the caller's own locks); no pid read from here is ever
// reported.
//
// The simulated CUDA library uses the same slots: memory taken through it is `Use::memory` (and
// `Use::managed`, which the driver may move to the host to make room), kernels that ran add their
// time to `Use::windows` and `Turns::busy_ns`, contexts count in `Use::contexts`. When they ran is
// decided in `turns`: one timeline (sim/gpu/gpu_time.h) for each GPU or MIG device that was ever
// used, each under its own lock. Locks are taken in this order: `lock`, a timeline's, `clock_lock`.
//
// Time is wall-clock time (counted by CLOCK_MONOTONIC, so that it cannot be set back), or
// `virtual_now` (clock.h).

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "sim/machine/bounds.h"
#include "sim/machine/identity.h"
#include "sim/state/lanes.h"

namespace tranche::sim {

inline constexpr std::uint64_t kMagic = 0x314D49534E415254;  // "TRANSIM1"
inline constexpr std::uint32_t kVersion = 7;

inline constexpr unsigned kMaxProfiles = 18;
inline constexpr unsigned kMaxGpuInstances = 15;
inline constexpr unsigned kMaxComputeInstances = 8;
inline constexpr unsigned kMaxProcesses = 512;
inline constexpr unsigned kMaxUses = 16;
inline constexpr unsigned kMaxWindows = 32;
inline constexpr unsigned kMaxEvents = 256;
inline constexpr unsigned kMaxFaults = 32;
inline constexpr unsigned kMaxMemoryLimits = 128;
inline constexpr unsigned kMaxSharedMemories = 256;
inline constexpr unsigned kMaxSharers = 16;  // processes that hold one shared memory or event
inline constexpr unsigned kMaxSharedEvents = 256;
inline constexpr unsigned kMaxRecordings = 32;  // distinguished recordings of one shared event
inline constexpr unsigned kMaxTimelines = 128;
inline constexpr unsigned kMaxSegments = 4096;
inline constexpr std::int64_t kSlotLockBase = 64;

template <class T>
using Shared = std::atomic<T>;
static_assert(Shared<std::uint32_t>::is_always_lock_free);
static_assert(Shared<std::uint64_t>::is_always_lock_free);

// One MIG profile of a model. Placements are `size` memory slices wide and may begin at the bits
// set in `starts`.
struct Profile {
  char name[24];           // "1g.5gb+me"
  std::uint32_t constant;  // NVML_GPU_INSTANCE_PROFILE_*
  std::uint32_t id;        // what nvidia-smi mig -lgip prints
  std::uint32_t slices;    // compute slices
  std::uint32_t size;      // memory slices
  std::uint32_t starts;
  std::uint32_t max_instances;
  std::uint32_t memory_mib;
  std::uint32_t sm;
  std::uint32_t copy_engines;
  std::uint32_t decoders;
  std::uint32_t encoders;
  std::uint32_t jpeg;
  std::uint32_t ofa;
  std::uint32_t reserved;
};

struct Model {
  char name[96];
  char vbios[32];
  char mig_table[32];  // key in the MIG tables; empty: not MIG-capable
  std::uint64_t memory_bytes;
  std::uint64_t
      reserved_bytes;  // taken by driver and ECC; only NVML's v2 memory call shows it separately
  std::uint64_t idle_bytes;  // "used" on an idle GPU
  std::uint64_t bar1_bytes;
  std::uint64_t context_bytes;  // memory of a CUDA context before its first allocation
  std::uint64_t time_slice_ns;  // for contexts that take turns
  std::uint32_t architecture;   // NVML_DEVICE_ARCH_*
  std::uint32_t brand;          // NVML_BRAND_*
  std::uint32_t cc_major;
  std::uint32_t cc_minor;
  std::uint32_t sm_count;
  std::uint32_t pci_device_id;  // device id << 16 | vendor id
  std::uint32_t pci_subsystem_id;
  std::uint32_t pci_class;  // 0x030200 compute, 0x030000 graphics
  std::uint32_t power_limit_mw;
  std::uint32_t idle_power_mw;
  std::uint32_t clock_sm_mhz;
  std::uint32_t clock_memory_mhz;
  std::uint32_t pcie_generation;
  std::uint32_t pcie_width;
  std::uint32_t sample_period_us;  // of the utilisation samples, 1/6 s to 1 s on hardware
  std::uint32_t ecc;               // 0 not there, 1 on
  std::uint32_t compute_slices;    // of MIG
  std::uint32_t memory_slices;
  std::uint32_t mig_needs_reset;  // changing the MIG mode resets the GPU (Ampere)
  std::uint32_t profile_count;
  Profile profiles[kMaxProfiles];
};

struct ComputeInstance {
  Shared<std::uint32_t> used;
  std::uint32_t generation;  // distinguishes a handle of an earlier instance in this place
  std::uint32_t slices;
  std::uint32_t start;  // within the GPU instance, in compute slices
};

struct GpuInstance {
  Shared<std::uint32_t> used;
  std::uint32_t generation;
  std::uint32_t profile;                          // index in Model::profiles
  std::uint32_t start;                            // memory slice
  ComputeInstance compute[kMaxComputeInstances];  // index = compute instance id
};

enum class Remote : std::uint32_t { kNothing, kGpu, kSwitch };

struct Link {
  std::uint32_t remote;  // Remote
  std::uint32_t index;   // GPU or switch
};

enum class Presence : std::uint32_t {
  kPresent,
  kLost,  // fell off the bus: counted, every call on it answers GPU_IS_LOST
  kGone,  // absent after a driver reload: the count shrinks
};

// nvidia-smi compute-policy --set-timeslice: 0 to 3.
enum class TimeSlice : std::uint32_t { kDefault, kShort, kMedium, kLong };

// How long a GPU or GPU instance was busy until a point in time (sim/gpu/busy_time.h). A change is
// made in the account that is not `active` and published by that one store.
struct BusyAccount {
  std::uint64_t until_ns;    // 0: not begun
  std::uint64_t busy_ns;     // never decreases
  std::uint64_t kernels_ns;  // part of Turns::busy_ns that is in it
};
struct BusyAccounts {
  Shared<std::uint32_t> active;
  std::uint32_t reserved;
  BusyAccount accounts[2];
};

struct Gpu {
  std::uint32_t model;
  std::uint32_t minor;
  char uuid[48];
  char serial[32];
  PciAddress pci;
  std::int32_t numa;  // -1: reported by sysfs
  // Groups for the topology level: same board, PCIe switch, switch group, host bridge. kNone equals
  // nothing.
  std::uint32_t board;
  std::uint32_t pcie_switch;
  std::uint32_t pcie_group;
  std::uint32_t host_bridge;
  std::uint32_t fabric_clique;  // kNone: not on a fabric
  unsigned char fabric_cluster[16];
  Link links[kMaxLinks];
  Shared<std::uint32_t> mig_current;
  Shared<std::uint32_t> mig_pending;
  Shared<std::uint32_t> compute_mode;
  Shared<std::uint32_t> persistence;
  Shared<std::uint32_t> presence;  // Presence
  Shared<std::uint32_t> recovery_action;
  Shared<std::uint32_t> last_xid;
  Shared<std::uint32_t> time_slice;  // TimeSlice
  std::uint32_t no_reset;  // passed through without reset: a MIG mode change stays pending
  // Counters that stand still unless tranche-sim changes them.
  Shared<std::uint32_t> remapped_correctable;  // rows
  Shared<std::uint32_t> remapped_uncorrectable;
  Shared<std::uint32_t> remap_failed;
  Shared<std::uint32_t> pcie_replays;
  std::uint64_t began_ns;                   // when the driver was loaded
  BusyAccounts busy;                        // of the whole GPU
  GpuInstance instances[kMaxGpuInstances];  // index = GPU instance id
  BusyAccounts instance_busy[kMaxGpuInstances];
};

// Time a process kept the GPU busy in one sample window (window index = wall clock / period).
struct Window {
  Shared<std::uint64_t> index;
  Shared<std::uint64_t> busy_ns;
};

enum class UseKind : std::uint32_t { kCompute, kGraphics, kMps };

// A process's use of one GPU or MIG device.
struct Use {
  Shared<std::uint32_t> used;
  std::uint32_t gpu;
  std::uint32_t gpu_instance;      // kNone on a whole GPU
  std::uint32_t compute_instance;  // kNone on a whole GPU
  std::uint32_t kind;              // UseKind
  Shared<std::uint32_t> contexts;
  Shared<std::uint64_t> memory;             // bytes, including contexts, excluding managed memory
  Shared<std::uint64_t> managed;            // bytes of managed memory currently on the GPU
  Shared<std::uint32_t> declared_permille;  // a load that is declared, not run (tranche-sim occupy)
  std::uint32_t reserved;
  Shared<std::uint64_t> declared_since_ns;  // wall clock
  Window windows[kMaxWindows];
};

struct Self {
  std::uint64_t pid_namespace;  // inode
  std::uint64_t start_time;     // clock ticks since boot, /proc/self/stat
  std::uint64_t pid;            // in that namespace
};

struct ProcessSlot {
  Self self;
  Shared<std::uint64_t> holder;  // how often the slot was taken: distinguishes successive holders
  char name[128];                // shown instead of the command line if not empty
  // GPUs whose device nodes NVML has open in this process, as bits.
  Shared<std::uint64_t> open_gpus;
  Use uses[kMaxUses];
};

struct Event {
  Shared<std::uint64_t> sequence;  // written last; 0: never used
  std::uint64_t type;              // NVML event bit
  std::uint64_t data;              // the XID
  std::uint32_t gpu;
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
  std::uint32_t reserved;
};

// kFailDone: the call does its work, but returns a failure.
enum class FaultKind : std::uint32_t { kFail, kDelay, kHang, kFailDone };

struct Fault {
  Shared<std::uint32_t> used;
  std::uint32_t kind;  // FaultKind
  std::uint32_t gpu;   // kNone: any, and calls without a device
  std::uint32_t error;
  std::uint64_t delay_us;
  Shared<std::int64_t> passing;  // calls that pass before it applies
  Shared<std::int64_t> strikes;  // remaining applications; negative: unlimited
  char function[72];             // "nvmlDeviceGetName", "cuMemAlloc", or "*"
};

// A control group's limit on a GPU's memory (sim/gpu/memory_limits.h).
struct MemoryLimit {
  Shared<std::uint32_t> used;
  std::uint32_t gpu;
  Shared<std::uint64_t> soft;  // bytes
  Shared<std::uint64_t> hard;
  char cgroup[512];  // path of its folder
};

// A process that holds a shared memory or event, identified by one use of its slot.
struct Sharer {
  Shared<std::uint32_t> holds;  // number of holds; 0: the entry is free
  std::uint32_t slot;
  std::uint64_t claim;  // ProcessSlot::holder
};

// Physical memory that several processes may hold (sim/gpu/shared_memory.h). It exists as long as a
// live process holds it.
struct SharedMemory {
  Shared<std::uint64_t> serial;  // never reused; 0: the entry is free
  std::uint64_t bytes;
  std::uint32_t gpu;
  std::uint32_t gpu_instance;   // kNone on a whole GPU
  Sharer sharers[kMaxSharers];  // in order of arrival
};

// One recording of a shared event. It is over when its maker reports that, or has died.
struct Recording {
  std::uint64_t number;  // among the event's recordings, from 1; 0: none
  std::uint64_t claim;   // ProcessSlot::holder of its maker
  std::uint32_t slot;
  Shared<std::uint32_t> is_over;
};

// An event that several processes may hold (sim/gpu/shared_events.h). It exists as long as a live
// process holds it.
struct SharedEvent {
  Shared<std::uint64_t> serial;    // never reused; 0: the entry is free
  Shared<std::uint64_t> recorded;  // number of recordings; stored last
  std::uint64_t maker_claim;       // ProcessSlot::holder
  std::uint32_t maker_slot;
  std::uint32_t gpu;
  std::uint32_t gpu_instance;  // kNone on a whole GPU
  std::uint32_t reserved;
  Recording recordings[kMaxRecordings];  // index = number % kMaxRecordings
  Sharer sharers[kMaxSharers];
};

// The time sharing of one GPU or MIG device. There are two `timelines`, so that a change is made in
// the one that is not `active` and published by that one store.
struct Turns {
  Shared<std::uint32_t> used;
  std::uint32_t gpu;
  std::uint32_t gpu_instance;      // kNone on a whole GPU
  std::uint32_t compute_instance;  // kNone on a whole GPU
  pthread_mutex_t lock;
  Shared<std::uint32_t> active;
  std::uint32_t reserved;
  Shared<std::uint64_t> looked_ns;  // CLOCK_MONOTONIC, when live processes were last checked
  Shared<std::uint64_t> busy_ns;    // of kernels, since the first; never decreases
  Timeline timelines[2];
  Segment segments[kMaxSegments];  // index = sequence % kMaxSegments
};

enum class ClockKind : std::uint32_t { kWall, kVirtual };

// What a process wants of the virtual clock. Written only by it; read by processes that want to
// advance time.
struct ClockWish {
  Shared<std::uint64_t> until_ns;  // kRuns, kNoWish, or the awaited time
  Shared<std::uint64_t> since_ns;  // CLOCK_MONOTONIC, when that was written
};
inline constexpr std::uint64_t kRuns = 0;
inline constexpr std::uint64_t kNoWish = ~std::uint64_t{0};

struct State {
  // Header.
  Shared<std::uint64_t> magic;  // stored last when the file is created
  std::uint32_t version;
  std::uint32_t state_size;
  std::uint64_t machine_hash;
  std::int64_t machine_mtime_ns;
  std::uint64_t machine_size;
  pthread_mutex_t lock;

  // The machine.
  char machine[64];
  char product[64];
  char driver_version[32];
  char nvml_version[32];
  char host_driver_version[32];  // of the hypervisor, for vGPU
  char host_driver_branch[32];
  std::uint32_t cuda_version;    // 12080
  std::uint32_t virtualization;  // NVML_GPU_VIRTUALIZATION_MODE_*
  std::uint32_t numa_nodes;
  std::uint32_t topology_all;  // kNone, or the level between any two GPUs
  std::uint32_t model_count;
  std::uint32_t gpu_count;
  std::uint32_t switch_count;
  Shared<std::uint32_t> init_error;  // nvmlReturn_t of nvmlInit, 0: fine
  std::uint32_t yaml_init_error;     // the value that `tranche-sim clear` restores
  std::uint32_t uvm_major;           // of /dev/nvidia-uvm, dynamic on hardware
  std::uint32_t node_mode;           // permissions of the device nodes
  std::uint32_t nodes_share_minor;   // every node has minor 0 (a software mock did that)
  PciAddress switches[kMaxSwitches];
  Model models[kMaxModels];
  Gpu gpus[kMaxGpus];

  // Events and faults.
  Shared<std::uint32_t> event_futex;  // changes with every event
  Shared<std::uint32_t> fault_futex;  // changes with every change of the faults
  Shared<std::uint32_t> fault_count;
  Shared<std::uint32_t> memory_limit_count;
  Shared<std::uint64_t> event_sequence;
  Event events[kMaxEvents];
  Fault faults[kMaxFaults];
  MemoryLimit memory_limits[kMaxMemoryLimits];
  Shared<std::uint64_t> shared_memory_serial;
  SharedMemory shared_memories[kMaxSharedMemories];
  Shared<std::uint64_t> shared_event_serial;
  SharedEvent shared_events[kMaxSharedEvents];

  // Time.
  std::uint32_t clock_kind;  // ClockKind
  std::uint32_t padding3;
  std::int64_t clock_offset_ns;  // wall clock less CLOCK_MONOTONIC when the state was created
  Shared<std::uint64_t> virtual_now_ns;
  Shared<std::uint32_t> clock_futex;  // changes when virtual time moves, or might
  std::uint32_t padding4;
  pthread_mutex_t clock_lock;
  Shared<std::uint64_t> lane_ids;
  ClockWish wishes[kMaxProcesses];  // of those that participate in virtual time
  Turns turns[kMaxTimelines];

  // Separate from the slots, so that a search for processes touches only the pages of existing
  // ones.
  Shared<std::uint32_t> process_used[kMaxProcesses];
  ProcessSlot processes[kMaxProcesses];
};

static_assert(std::is_standard_layout_v<State>);
static_assert(sizeof(Profile) == 80);
static_assert(sizeof(Use) == 56 + 16 * kMaxWindows);
static_assert(sizeof(Lane) == 72);
static_assert(sizeof(Segment) == 48);
static_assert(sizeof(Event) == 40);
static_assert(sizeof(Fault) == 112);
static_assert(sizeof(MemoryLimit) == 536);
static_assert(sizeof(SharedMemory) == 24 + 16 * kMaxSharers);
static_assert(sizeof(SharedEvent) == 40 + 24 * kMaxRecordings + 16 * kMaxSharers);

}  // namespace tranche::sim
