#pragma once
// The tenants that this container is, and which of them a device of this process belongs to.
//
// /run/tranche/<id>/ is mounted read-only by the grant, one for each tenant, with the arbiter's
// socket in it and what was promised (part_file.h). No such folder: nothing was promised, and
// nothing is limited. Registration happens when a program first uses the driver; while no arbiter
// answers, memory is refused (each call waits for it until kPatience after the first), compute is
// let through, and what was promised is shown. Where there are more tenants than can be kept,
// memory of devices that are not those of the others is refused.

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
  // Whether memory and time are held, or only counted.
  bool is_limited() const {
    return enforcement() == Enforcement::kStrict || enforcement() == Enforcement::kElastic;
  }
  bool is_counted() const { return enforcement() != Enforcement::kOff; }  // at all
};

// A device as this process sees it.
struct Part {
  enum class Rule : std::uint8_t {
    kUnknown,  // some tenant has not registered: the device may be its
    kNone,     // no tenant's
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

// How a device is to be shown.
struct View {
  bool is_part = false;                          // else as it is
  const Part* part = nullptr;                    // where an arbiter has answered
  const char* folder = nullptr;                  // else the tenant's, as this process sees it
  std::uint64_t memory = limit::wire::kNoLimit;  // bytes
};

// Whether anything was promised to this container. Looks once.
bool has_tenants();
// Registers where that is still to be done; `patient`: waits for an arbiter, until kPatience after
// the process first did.
void join(bool patient);
// Looks after the arbiters: registers with the next one where one has gone.
void keep_joined();

// By its number.
const Part& part_numbered(unsigned number);
// The part that is `uuid`, 16 bytes. One object for each, which stays.
const Part& part_of_uuid(const unsigned char* uuid);
// Of the driver's device `ordinal`; the driver is initialised.
const Part& part_of_device(int ordinal);
// As the arbiter says, and until one has answered as the agent wrote it. Registers where that can
// be done at once.
View view_of_uuid(const unsigned char* uuid);
View view_of_device(int ordinal);
// How many the driver has; 0: it does not say.
int device_count();
// Of the calling thread's current context; nullptr and -1: it has none.
const Part* current_part();
int current_device();

// Gives back bytes that were charged to the part (memory.h, pools.h).
void give_back(const Part& part, std::uint64_t bytes);
// Something took device memory that NVML alone sees: the arbiters are asked to look.
void tell_of_memory();

// In a forked child: as if nothing had been asked yet.
void forget_tenants();

}  // namespace tranche::interpose
