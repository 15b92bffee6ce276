#pragma once
// The tenants of this container, and which of them a device of this process belongs to.
//
// The grant mounts /run/tranche/<id>/ read-only, one for each tenant, with the arbiter's socket and
// the promised part (part_file.h) in it. No such folder: nothing was promised, and nothing is
// limited. Registration happens when a program first uses the driver. While no arbiter answers,
// memory is refused (each call waits for it until kPatience after the first), compute passes, and
// the promised part is shown. If there are more tenants than can be kept, memory of devices that
// belong to none of the kept ones is refused.

#include <cstdint>

#include "interpose/ledger.h"
#include "interpose/lock.h"
#include "interpose/session.h"

namespace tranche::interpose {

inline constexpr const char* kTenantsFolder = "/run/tranche";
inline constexpr unsigned kMaxParts = limit::wire::kMaxTenants * limit::wire::kMaxDevices;
inline constexpr std::uint64_t kPatience = 5'000'000'000;  // ns

struct Tenant {
  Lock lock;  // of the session
  Session session;
  bool is_open = false;  // has pages

  const limit::wire::PolicyPage& policy() const { return session.policy(); }
  Enforcement enforcement() const {
    return static_cast<Enforcement>(policy().enforcement.load(std::memory_order_relaxed));
  }
  // Whether memory and time are limited, not only counted.
  bool is_limited() const {
    return enforcement() == Enforcement::kStrict || enforcement() == Enforcement::kElastic;
  }
  bool is_counted() const { return enforcement() != Enforcement::kOff; }  // at all
};

// A device as this process sees it.
struct Part {
  enum class Rule : std::uint8_t {
    kUnknown,  // some tenant has not registered: the device may belong to it
    kNone,     // belongs to no tenant
    kTenant,
  };
  Rule rule = Rule::kUnknown;
  unsigned device = 0;  // index in the tenant's pages
  unsigned number = 0;  // among all parts, below kMaxParts
  Tenant* tenant = nullptr;

  Ledger ledger() const {
    return {tenant->policy(), tenant->session.usage(), tenant->session.slot()};
  }
  const limit::wire::DevicePolicy& policy() const { return tenant->policy().devices[device]; }
  limit::wire::Slot& slot() const { return tenant->session.usage().slot[tenant->session.slot()]; }
};

// How to show a device.
struct View {
  bool is_part = false;                          // else unchanged
  const Part* part = nullptr;                    // if an arbiter has answered
  const char* folder = nullptr;                  // else the tenant's, as this process sees it
  std::uint64_t memory = limit::wire::kNoLimit;  // bytes
};

// Whether anything was promised to this container. Checked only once.
bool has_tenants();
// Registers if not done yet. kForArbiter: waits for one, until kPatience after the process's first
// attempt.
enum class Wait { kNot, kForArbiter };
void join(Wait wait);
// Checks the arbiters: registers with the next one where one is gone.
void keep_joined();

// By its number.
const Part& part_numbered(unsigned number);
// The part with `uuid`, 16 bytes. One permanent object for each.
const Part& part_of_uuid(const unsigned char* uuid);
// The part of the driver's device `ordinal`; the driver must be initialised.
const Part& part_of_device(int ordinal);
// From the arbiter or, until one has answered, from the agent's file. Registers if that is possible
// at once.
View view_of_uuid(const unsigned char* uuid);
View view_of_device(int ordinal);
// How many devices the driver has; 0: not reported.
int device_count();
// The part of the calling thread's current context; nullptr and -1: it has none.
const Part* current_part();
int current_device();

// Releases bytes charged to the part (memory.h, pools.h).
void give_back(const Part& part, std::uint64_t bytes);
// Memory was taken that only NVML sees: asks the arbiters to check.
void tell_of_memory();

// In a forked child: resets to the initial state.
void forget_tenants();

}  // namespace tranche::interpose
