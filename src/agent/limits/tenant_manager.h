#pragma once
// The agent's side of the limits: what a limited grant needs on the host (library, preload file,
// tenants' files) is there before Allocate is answered, follows the configuration while containers
// run, and goes when nobody holds the grant any more. Enforcing is the arbiter's and the library's
// (docs/decisions/0010-limits.md).
//
// Thread-safe. gRPC threads store grants: each writes the files of its own tenant, which nobody
// else knows before its grant is recorded, and waits for no other thread's disk. What the agent's
// loop (prepare, follow), the timer (prune) and the settings (settle) do to the files of tenants
// that are known, they do in turn: who is later sees what was written and writes what is promised
// now, so an older promise never overwrites a newer one.
//
// Rejected: a lock for each tenant with a version of what was decided. It would be held over the
// same files, and a setting is checked against what all tenants of a device have, so the three
// would wait for each other as before. Nobody of them answers a pod.

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/limits/limit_hook.h"
#include "agent/limits/limit_library.h"
#include "agent/limits/limit_setting_rules.h"
#include "agent/limits/tenant_store.h"
#include "agent/plugins/grant_store.h"
#include "base/log.h"
#include "cluster/pod_resources.h"
#include "offer/grant_maker.h"
#include "offer/limits.h"
#include "offer/offer.h"

namespace tranche::agent {

class TenantManager {
 public:
  struct Options {
    std::filesystem::path library;    // of this release; "none": nothing can be limited here
    std::filesystem::path state_dir;  // absolute, and on the host the same path as here
    std::filesystem::path cdi_root = "/var/run/cdi";
  };

  // `grants` and `log` outlive it.
  TenantManager(Options options, GrantStore& grants, const Log& log);

  // Where limited containers mount from, put in place; to be called again at any time. Errors: the
  // library is missing, the state folder cannot be used.
  Result<offer::LimitMounts> prepare();
  // The runtime's hook, put in place; after prepare(), and to be called again at any time. Errors:
  // the program is missing, the state folder or that of CDI specifications cannot be written.
  Result<void> prepare_hook();

  // Records a grant, and before that what its tenant was promised.
  Result<void> store(const offer::Grant& grant);

  // Gives every tenant what the offer now promises it. Tenants whose tranches are no longer offered
  // keep what they have; those of a resource without limits are no longer held to any.
  void follow(const offer::Offer& offer);

  // What is set for containers that run, by tenant, from now on: over what the offer
  // promises. Of a tenant's settings the first that can be kept holds, else the promise. Until the
  // first call tenants that were set before this agent began keep what they have. Answers, by
  // tenant, of each setting that was tried why it is refused, and at the end what holds.
  struct Setting {
    cluster::LimitSetting values;
    Raising raising = Raising::kAllowed;
  };
  using Settings = std::map<std::string, std::vector<Setting>>;
  using Answers = std::map<std::string, std::vector<Result<limit::TenantLimits>>>;
  // `pod_classes`: the priorityClassName of the Pod that each tenant belongs to.
  Answers settle(Settings settings, std::map<std::string, std::string> pod_classes = {});
  // Whether the offer gives Pods classes by their PriorityClass.
  bool maps_classes() const;

  // Who is a tenant now, in the order in which it was granted.
  struct Tenant {
    std::string id;
    std::string resource;
    std::vector<std::string> ids;
  };
  std::vector<Tenant> known_tenants() const;

  // Drops grants that nobody holds (GrantStore::prune), the tenants they were, tenants that no
  // grant knows and no holder could be, and libraries that no grant mounts.
  void prune(std::span<const cluster::HeldDevices> held);

 private:
  class Storing;

  // Of whoever has the turn.
  Answers follow_all();
  bool follow_one(const std::string& id, const offer::Grant& grant, Answers& answers);
  std::vector<Result<limit::TenantLimits>> set(const limit::TenantLimits& promised,
                                               const offer::ResourceOffer& resource);
  std::map<std::string, PromisedElsewhere> promised_elsewhere(
      const std::string& id, const offer::ResourceOffer& resource) const;
  std::set<std::string, std::less<>> being_stored() const;
  void sweep_tenants(std::span<const cluster::HeldDevices> held);
  void sweep_libraries();
  bool is_hook_granted() const;
  void sweep_hook();
  void complain(const Error& error);

  Options options_;
  GrantStore& grants_;
  const Log& log_;
  const TenantStore tenants_;

  // Tenants whose files are written or about to be, and whose grants are not recorded yet.
  mutable std::mutex storing_mutex_;
  std::set<std::string, std::less<>> storing_;

  // Held while files are written, never by a thread that answers a pod. Of all that follows.
  mutable std::mutex turns_;
  LimitLibrary library_;
  LimitHook hook_;
  bool hook_wanted_ = false;          // by what is offered, or about to be
  offer::Offer offer_;                // followed last
  std::optional<Settings> settings_;  // nullopt: not known yet, nor what follows
  std::map<std::string, std::string> pod_classes_;
  std::string complaint_;  // said last
};

}  // namespace tranche::agent
