#include "interpose/tenants.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <atomic>
#include <new>

#include "interpose/driver.h"
#include "interpose/fork.h"
#include "interpose/granted.h"
#include "interpose/part_file.h"
#include "interpose/system.h"
#include "interpose/uncancelled.h"

namespace tranche::interpose {

using namespace limit;

namespace {

constexpr int kAnswer = 1000;                         // ms that an arbiter may take
constexpr std::uint64_t kBetweenTries = 100'000'000;  // ns
constexpr unsigned kMaxOrdinals = 64;

// An object without a constructor at load: this library is in programs that never use a GPU.
template <class T>
struct ManualLifetime {
  alignas(T) unsigned char bytes[sizeof(T)];
  T& get() { return *reinterpret_cast<T*>(bytes); }
};

Lock looking;
std::atomic<bool> has_looked;
unsigned tenant_count;
bool is_one_missing;  // a tenant without a possible registration
ManualLifetime<Tenant> tenants[wire::kMaxTenants];
constexpr const char* kSocket = "/arbiter.sock";
char folders[wire::kMaxTenants][108 - 13];   // the room in sun_path
std::atomic<Session::Outcome> last_outcome;  // of a tenant that did not register
std::atomic<std::uint64_t> first_try;
std::atomic<std::uint64_t> last_try;

// For devices that are unknown yet, and those that belong to no tenant.
constinit Part unknown{};
constinit Part none{Part::Rule::kNone};
Part parts[kMaxParts];
std::atomic<const Part*> by_ordinal[kMaxOrdinals];
std::atomic<int> devices;  // 0: not asked yet

Tenant& tenant(unsigned i) { return tenants[i].get(); }

void add(const char* folder) {
  for (unsigned i = 0; i < tenant_count; ++i) {
    if (strcmp(folders[i], folder) == 0) return;  // two mounts, one on the other
  }
  if (strlen(folder) >= sizeof(folders[0]) || tenant_count == wire::kMaxTenants) {
    is_one_missing = true;
    return;
  }
  strcpy(folders[tenant_count], folder);
  new (&tenant(tenant_count)) Tenant();
  ++tenant_count;
}

// Every folder, if no grant mounts the library. false: they are unreadable.
bool add_all_folders() {
  DIR* folder = opendir(kTenantsFolder);
  // Only a missing folder says that nothing was promised; after other errors (no descriptors) it is
  // looked for again.
  if (folder == nullptr) return errno == ENOENT || errno == ENOTDIR;
  while (const dirent* entry = readdir(folder)) {
    char path[sizeof(folders[0])];
    if (entry->d_name[0] == '.') continue;
    const int length = snprintf(path, sizeof(path), "%s/%s", kTenantsFolder, entry->d_name);
    if (static_cast<size_t>(length) < sizeof(path)) {
      add(path);
    } else {
      is_one_missing = true;
    }
  }
  closedir(folder);
  return true;
}

bool add_folders() {
  switch (find_granted(add)) {
    case Grant::kMounted:
      if (tenant_count != 0) return true;
      static unsigned once;
      say("what this container was promised is not mounted any more under /run/tranche: GPU memory "
          "is refused",
          &once);
      is_one_missing = true;
      return true;
    case Grant::kNotMounted:
      return add_all_folders();
    case Grant::kUnreadable:
      break;
  }
  return false;
}

void look() {
  const Undisturbed undisturbed;
  const Guard guard(looking);
  if (has_looked.load(std::memory_order_relaxed)) return;
  watch_for_forks();
  note_stderr();
  if (!add_folders()) {
    static unsigned once;
    say("/run/tranche cannot be read: GPU memory is refused until it can", &once);
    return;
  }
  if (is_one_missing && tenant_count != 0) {
    static unsigned once;
    say("more than 16 tenants under /run/tranche, one for each resource with limits: GPU memory of "
        "those beyond is refused (ask for fewer resources in one container, or set enforcement: "
        "off for some)",
        &once);
  }
  has_looked.store(true, std::memory_order_release);
}

bool open(unsigned i, int timeout) {
  Tenant& t = tenant(i);
  const Undisturbed undisturbed;
  const Guard guard(t.lock);
  if (t.is_open) return true;
  char path[108];
  snprintf(path, sizeof(path), "%s%s", folders[i], kSocket);
  const Session::Outcome outcome = t.session.open(path, timeout);
  if (outcome != Session::Outcome::kRegistered) {
    last_outcome.store(outcome, std::memory_order_relaxed);
    return false;
  }
  const wire::PolicyPage& page = t.policy();
  const unsigned count =
      page.device_count < wire::kMaxDevices ? page.device_count : wire::kMaxDevices;
  for (unsigned d = 0; d < count; ++d) {
    parts[i * wire::kMaxDevices + d] = {Part::Rule::kTenant, d, i * wire::kMaxDevices + d, &t};
  }
  // After the parts: a thread that sees the tenant open reads them without the lock.
  __atomic_store_n(&t.is_open, true, __ATOMIC_RELEASE);
  return true;
}

bool is_open(unsigned i) { return __atomic_load_n(&tenant(i).is_open, __ATOMIC_ACQUIRE); }

// All that can be.
bool all_open() {
  if (!has_looked.load(std::memory_order_acquire)) return false;
  for (unsigned i = 0; i < tenant_count; ++i) {
    if (!is_open(i)) return false;
  }
  return true;
}

// Why GPU memory is refused.
const char* reason(Session::Outcome outcome) {
  switch (outcome) {
    case Session::Outcome::kDenied:
      return "GPU memory is refused: the arbiter's socket under /run/tranche may not be connected "
             "to (SELinux or seccomp of this container?)";
    case Session::Outcome::kRefused:
      return "GPU memory is refused: the arbiter does not take this process (the library is of "
             "another release, so restart the Pod; or 1024 processes of this container use GPUs)";
    case Session::Outcome::kNoMemory:
      return "GPU memory is refused: no memory to map the arbiter's pages";
    default:
      return "no arbiter answers under /run/tranche: GPU memory is refused until one does (is the "
             "Pod of Tranche's arbiter on this node running?)";
  }
}

bool uuid_of(int ordinal, unsigned char* uuid) {
  return driver.cuDeviceGetUuid_v2(uuid, ordinal) == kSuccess ||
         driver.cuDeviceGetUuid(uuid, ordinal) == kSuccess;
}

// The view of a tenant's part.
View view_of(const Part& part) {
  if (!part.tenant->is_limited()) return {};
  return {true, &part, nullptr, part.policy().memory_view.load(std::memory_order_relaxed)};
}

std::uint64_t patience_left() {
  std::uint64_t never = 0;
  const std::uint64_t now = now_ns();
  first_try.compare_exchange_strong(never, now);
  const std::uint64_t began = first_try.load();
  return now - began < kPatience ? kPatience - (now - began) : 0;
}

}  // namespace

bool has_tenants() {
  begin_anew_if_forked();
  if (!has_looked.load(std::memory_order_acquire)) look();
  return tenant_count != 0 || is_one_missing || !has_looked.load(std::memory_order_acquire);
}

void join(Wait wait) {
  if (!has_tenants() || all_open()) return;
  // Callers that do not wait do not ask each time: without an arbiter, launches come here.
  const std::uint64_t last = last_try.load(std::memory_order_relaxed);
  // Neither do those that have waited long enough: a hanging arbiter makes each try take its full
  // time.
  const bool may_wait = wait == Wait::kForArbiter && patience_left() != 0;
  if (!may_wait && last != 0 && now_ns() - last < kBetweenTries) return;
  for (;;) {
    last_try.store(now_ns(), std::memory_order_relaxed);
    for (unsigned i = 0; has_tenants() && i < tenant_count; ++i) {
      if (!is_open(i)) open(i, kAnswer);
    }
    last_try.store(now_ns(), std::memory_order_relaxed);
    if (all_open()) return;
    if (patience_left() == 0) break;
    if (wait == Wait::kNot) return;
    nap_ns(20'000'000);
  }
  static unsigned once;
  say(reason(last_outcome.load(std::memory_order_relaxed)), &once);
}

void keep_joined() {
  if (!has_tenants()) return;
  for (unsigned i = 0; i < tenant_count; ++i) {
    if (!is_open(i)) {
      open(i, kAnswer);
      continue;
    }
    const Guard guard(tenant(i).lock);
    tenant(i).session.refresh(kAnswer);
  }
}

const Part& part_numbered(unsigned number) { return parts[number]; }

const Part& part_of_uuid(const unsigned char* uuid) {
  for (unsigned i = 0; i < tenant_count; ++i) {
    if (!is_open(i)) continue;
    for (unsigned d = 0; d < wire::kMaxDevices; ++d) {
      const Part& part = parts[i * wire::kMaxDevices + d];
      if (part.rule == Part::Rule::kTenant && memcmp(part.policy().uuid, uuid, 16) == 0)
        return part;
    }
  }
  return all_open() && !is_one_missing ? none : unknown;
}

const Part& part_of_device(int ordinal) {
  const bool is_kept = ordinal >= 0 && static_cast<unsigned>(ordinal) < kMaxOrdinals;
  if (is_kept) {
    const Part* known = by_ordinal[ordinal].load(std::memory_order_acquire);
    if (known != nullptr) return *known;
  }
  if (!has_tenants()) return none;
  join(Wait::kNot);
  unsigned char uuid[16] = {};
  if (!uuid_of(ordinal, uuid)) return unknown;
  const Part& part = part_of_uuid(uuid);
  if (is_kept && part.rule != Part::Rule::kUnknown) {
    by_ordinal[ordinal].store(&part, std::memory_order_release);
  }
  return part;
}

View view_of_uuid(const unsigned char* uuid) {
  if (!has_tenants()) return {};
  join(Wait::kNot);
  const Part& part = part_of_uuid(uuid);
  if (part.rule == Part::Rule::kTenant) return view_of(part);
  const Uncancelled uncancelled;
  for (unsigned i = 0; part.rule == Part::Rule::kUnknown && i < tenant_count; ++i) {
    View view{.is_part = true, .folder = folders[i]};
    if (is_open(i) || read_promise(folders[i], uuid, view.memory) != Promise::kPart) continue;
    return view;
  }
  return {};
}

View view_of_device(int ordinal) {
  const Part& part = part_of_device(ordinal);
  if (part.rule == Part::Rule::kTenant) return view_of(part);
  unsigned char uuid[16] = {};
  if (part.rule == Part::Rule::kNone || !uuid_of(ordinal, uuid)) return {};
  return view_of_uuid(uuid);
}

int device_count() {
  int count = devices.load(std::memory_order_relaxed);
  if (count != 0) return count;
  if (driver.cuDeviceGetCount(&count) != kSuccess) return 0;
  devices.store(count, std::memory_order_relaxed);
  return count;
}

int current_device() {
  // With one device there is no need to ask which it is, if there is a context at all: without one
  // the driver refuses.
  const int count = device_count();
  if (count == 0) return -1;
  int ordinal = 0;
  return count == 1 || driver.cuCtxGetDevice(&ordinal) == kSuccess ? ordinal : -1;
}

const Part* current_part() {
  const int ordinal = current_device();
  return ordinal < 0 ? nullptr : &part_of_device(ordinal);
}

void give_back(const Part& part, std::uint64_t bytes) {
  if (part.rule == Part::Rule::kTenant) part.ledger().release(part.device, bytes);
}

void tell_of_memory() {
  for (unsigned i = 0; has_tenants() && i < tenant_count; ++i) {
    if (!is_open(i)) continue;
    const Undisturbed undisturbed;
    const Guard guard(tenant(i).lock);
    tenant(i).session.notify(wire::Message::kContext, 0);
  }
}

void forget_tenants() {
  for (auto& known : by_ordinal) known.store(nullptr, std::memory_order_relaxed);
  for (unsigned i = 0; i < tenant_count; ++i) {
    // The registration is the parent's: the connection is closed here, the pages are left alone.
    tenant(i).session.~Session();
  }
  for (Part& part : parts) part = Part();
  tenant_count = 0;
  is_one_missing = false;
  devices.store(0, std::memory_order_relaxed);
  first_try.store(0, std::memory_order_relaxed);
  last_try.store(0, std::memory_order_relaxed);
  looking.reset();
  has_looked.store(false, std::memory_order_relaxed);
}

}  // namespace tranche::interpose
