#pragma once
// The agent's side of the limits. What a limited grant needs on the host (library, preload file,
// tenants' files) exists before Allocate is answered, follows the configuration while containers
// run, and is removed when nobody holds the grant. The arbiter and the library enforce the limits
// (docs/decisions/0010-limits.md).
//
// Thread-safe. gRPC threads store grants: each writes only its own tenant's files, which no other
// thread knows before the grant is recorded, and waits for no other thread's disk. The loop
// (prepare, follow), the timer (prune) and the settings (settle) write files of known tenants in
// turn, each what is promised at that moment, so an older promise never overwrites a newer one.
//
// Rejected: a lock and a version for each tenant. A setting is checked against all tenants of a
// device, so the three would wait for each other as before. None of them answers a call of kubelet.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/grants/grant_store.h"
#include "agent/limits/claim_tenant.h"
#include "agent/limits/device_parts.h"
#include "agent/limits/limit_hook.h"
#include "agent/limits/limit_library.h"
#include "agent/limits/limit_setting_rules.h"
#include "agent/limits/tenant_store.h"
#include "base/clock.h"
#include "base/log.h"
#include "offer/grant_maker.h"
#include "offer/limits.h"
#include "offer/offer.h"

namespace tranche::agent {

class TenantManager {
 public:
  struct Options {
    std::filesystem::path library;    // "none": nothing can be limited here
    std::filesystem::path state_dir;  // absolute; the same path on the host as in this container
    std::filesystem::path cdi_root = "/var/run/cdi";
  };

  TenantManager(Options options, GrantStore& grants, const Clock& clock, const Log& log);

  // Installs the files that limited containers mount, and returns their paths. Idempotent. Errors:
  // the library is missing; the state folder cannot be used.
  Result<offer::LimitMounts> prepare();
  // Installs the runtime's hook, after prepare(). Idempotent. Errors: the program is missing; the
  // state folder or the folder of CDI specifications cannot be written.
  Result<void> prepare_hook();

  // prepare_hook() for containers with claims: returns the hook for their CDI files. Not `wanted`:
  // it is removed when no container has it any more.
  Result<std::optional<cdi::Hook>> prepare_claims_hook(bool wanted);

  // Writes the promise to the grant's tenant, then records the grant.
  Result<void> store(const offer::Grant& grant);

  // Writes the files of a share's tenant, for a claim whose record has the promise. Existing files
  // stay, unless `renewed`.
  Result<void> add_claim(const std::string& tenant, const std::string& driver,
                         const GrantLimits& limits, bool renewed = false);
  // A missing tenant is no error.
  Result<void> remove_claim(const std::string& tenant) { return tenants_.remove(tenant); }
  // Before the first prune(): source of all prepared claims. An error: unknown; then no tenant is
  // removed, and those of claims keep what they have.
  using Claims = std::function<Result<std::vector<ClaimTenant>>()>;
  void know_claims(Claims claims) { claims_ = std::move(claims); }

  // Gives every tenant what the offer, or its claim, promises now. Tenants whose tranches are no
  // longer offered keep what they have; others are raised as far as that leaves room, and further
  // when those have ended. Tenants of a resource without limits are no longer limited.
  void follow(const offer::Offer& offer);

  // Replaces the settings for running containers, by tenant; they take precedence over the offer's
  // promise. Of a tenant's settings the first that can be kept applies, else the promise. Until the
  // first call, tenants keep what was set before this agent started. The answer has, by tenant, the
  // error of each refused setting, and at the end the limits that hold.
  struct Setting {
    cluster::LimitSetting values;
    Raising raising = Raising::kAllowed;
    // For a claim: its tenants. The setting applies to all of them, or to none.
    std::vector<std::string> together = {};
  };
  using Settings = std::map<std::string, std::vector<Setting>>;
  using Answers = std::map<std::string, std::vector<Result<limit::TenantLimits>>>;
  // `pod_classes`: the priorityClassName of each tenant's Pod. `of_claims`: includes the settings
  // of claims; until such a call their tenants keep what they have.
  Answers settle(Settings settings, std::map<std::string, std::string> pod_classes = {},
                 bool of_claims = true);
  // Whether the offer gives Pods classes by their PriorityClass.
  bool maps_classes() const;

  // A tenant's enforced part of a device; nullopt: it is not limited there. Errors: no such tenant;
  // its file is damaged.
  Result<std::optional<DeviceLimits>> part_of(const std::string& tenant,
                                              std::string_view device) const;

  // Whether it is known which claims are prepared.
  bool knows_claims() const { return known_claims().has_value(); }

  // Drops grants that are over (GrantStore::prune) and their tenants, tenants without a grant or a
  // possible holder, and libraries that no grant mounts. What a living container has mounted stays.
  // Logs what it removes. Returns as GrantStore::prune.
  bool prune(const Holders& holders);
  // Kubelet did not answer.
  void unanswered();
  // Retries the grants that could not be written. Errors: why they still cannot.
  Result<void> save_grants();

 private:
  // Errors: as Claims.
  Result<std::vector<ClaimTenant>> known_claims() const {
    return claims_ ? claims_() : std::vector<ClaimTenant>();
  }
  class Storing;

  // Only under turns_, from here.
  Answers follow_all();
  bool follow_one(const std::string& id, const offer::Grant& grant, DeviceParts& parts,
                  Answers& answers);
  bool follow_claim(const ClaimTenant& claim, const std::vector<ClaimTenant>& all,
                    Answers& answers);
  std::vector<Result<limit::TenantLimits>> set_claim(const ClaimTenant& claim,
                                                     const std::vector<ClaimTenant>& all) const;
  limit::TenantLimits fitted(const limit::TenantLimits& wanted, const DeviceParts& parts,
                             const offer::ResourceOffer& resource);
  std::vector<Result<limit::TenantLimits>> set(const limit::TenantLimits& promised,
                                               const limit::TenantLimits& fits,
                                               const DeviceParts& parts,
                                               const offer::ResourceOffer& resource);
  void tell_waiting(std::size_t before);
  std::map<std::string, PromisedElsewhere> promised_elsewhere(
      const std::string& id, const offer::ResourceOffer& resource) const;
  std::set<std::string, std::less<>> being_stored() const;
  void sweep_tenants(const Holders& holders);
  bool may_be_held(const std::string& id, const Holders& holders) const;
  void sweep_libraries(const Holders& holders);
  bool is_hook_granted() const;
  void sweep_hook();
  void complain(const Error& error);

  Options options_;
  GrantStore& grants_;
  const Clock& clock_;
  const Log& log_;
  const TenantStore tenants_;
  Claims claims_;  // empty: nobody serves claims here

  // Tenants whose files are being written and whose grants are not recorded yet.
  mutable std::mutex storing_mutex_;
  std::set<std::string, std::less<>> storing_;

  // Guards all members below. Held while files are written; never by a thread that answers kubelet.
  mutable std::mutex turns_;
  LimitLibrary library_;
  LimitHook hook_;
  bool hook_wanted_ = false;          // a resource on offer, or about to be, needs the hook
  bool claims_hook_wanted_ = false;   // containers with claims get it
  offer::Offer offer_;                // the offer followed last
  std::optional<Settings> settings_;  // nullopt: settings and Pod classes are not known yet
  bool of_claims_ = false;            // settings_ has those of claims
  std::map<std::string, std::string> pod_classes_;
  // While stored grants are unreadable: tenants that seem to be orphans, and since when.
  std::map<std::string, std::chrono::steady_clock::time_point> strays_;
  std::set<std::string> waiting_;  // tenants that get less than promised because of others' parts
  std::string complaint_;          // logged last
};

}  // namespace tranche::agent
