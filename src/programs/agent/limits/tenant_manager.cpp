#include "agent/limits/tenant_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "offer/room.h"

namespace tranche::agent {
namespace {

// Whether `held` may be this tenant's container: it holds an id of the tenant's resource on one of
// its devices.
bool may_hold(const cluster::HeldDevices& held, const limit::TenantLimits& tenant) {
  if (held.resource != tenant.resource) return false;
  return std::ranges::any_of(held.ids, [&](const std::string& id) {
    return std::ranges::any_of(tenant.devices, [&](const DeviceLimits& device) {
      return device.uuid == offer::device_uuid_of(id);
    });
  });
}

Result<std::set<std::string>> living_of(const Holders& holders) {
  return holders.living ? holders.living() : std::set<std::string>();
}

}  // namespace

// Marks a tenant whose files are being written. Until its grant is recorded, sweeping must not
// remove them.
class TenantManager::Storing {
 public:
  Storing(TenantManager& manager, const std::string& id) : manager_(manager), id_(id) {
    const std::scoped_lock lock(manager_.storing_mutex_);
    manager_.storing_.insert(id_);
  }
  ~Storing() {
    const std::scoped_lock lock(manager_.storing_mutex_);
    manager_.storing_.erase(id_);
  }
  Storing(const Storing&) = delete;
  Storing& operator=(const Storing&) = delete;

 private:
  TenantManager& manager_;
  const std::string& id_;
};

TenantManager::TenantManager(Options options, GrantStore& grants, const Clock& clock,
                             const Log& log)
    : options_(std::move(options)),
      grants_(grants),
      clock_(clock),
      log_(log),
      tenants_(options_.state_dir / "tenants"),
      library_(options_.library, options_.state_dir / "lib"),
      hook_({.source = hook_next_to(options_.library),
             .state_dir = options_.state_dir,
             .cdi_root = options_.cdi_root}) {}

Result<offer::LimitMounts> TenantManager::prepare() {
  if (options_.library == "none") {
    return fail(Code::kFailedPrecondition, "no arbiter runs on this node (--limit-library=none)",
                "set limits.enabled=true in the chart's values, or run `tranche arbiter` and name "
                "the library");
  }
  if (!options_.state_dir.is_absolute()) {
    return fail(Code::kFailedPrecondition,
                fmt::format("--state-dir {} is no absolute path", options_.state_dir.string()),
                "containers mount from it: name it as the host does");
  }
  const std::scoped_lock turn(turns_);
  auto installed = library_.install();
  if (!installed) {
    auto error = std::move(installed).error();
    if (error.hint.empty()) error.hint = "mount a writable folder at --state-dir";
    return std::unexpected(std::move(error));
  }
  TRY(tenants_.make_folder());
  return offer::LimitMounts{.library = installed->library,
                            .preload = installed->preload,
                            .tenants = tenants_.dir().string()};
}

Result<void> TenantManager::prepare_hook() {
  const std::scoped_lock turn(turns_);
  hook_wanted_ = true;
  return hook_.install();
}

Result<std::optional<cdi::Hook>> TenantManager::prepare_claims_hook(bool wanted) {
  const std::scoped_lock turn(turns_);
  claims_hook_wanted_ = wanted;
  if (!wanted) return std::nullopt;
  TRY(hook_.install());
  return hook_.hook();
}

Result<void> TenantManager::store(const offer::Grant& grant) {
  const std::string& id = grant.tenant;
  if (id.empty()) return grants_.add(grant);
  if (!grant.limits) return fail(Code::kInternal, fmt::format("tenant {} has no limits", id));
  ASSIGN_OR_RETURN(const auto tenant, tenant_limits(id, grant.resource.value, *grant.limits));
  const Storing storing(*this, id);
  auto put = tenants_.put(tenant);
  auto stored = put ? grants_.add(grant) : std::unexpected(std::move(put).error());
  if (stored) return {};
  if (const auto removed = tenants_.remove(id); !removed) log_.warn(removed.error());
  // Kubelet shows it on the Pod.
  return std::unexpected(
      std::move(stored).error().with_context("this container's GPU limits cannot be stored"));
}

Result<void> TenantManager::add_claim(const std::string& tenant, const std::string& driver,
                                      const GrantLimits& limits, bool renewed) {
  if (!renewed && tenants_.get(tenant)) return {};
  ASSIGN_OR_RETURN(const auto wanted, tenant_limits(tenant, driver, limits));
  const auto put = tenants_.put(wanted);
  if (!put) return std::unexpected(put.error());
  return {};
}

void TenantManager::follow(const offer::Offer& offer) {
  const std::scoped_lock turn(turns_);
  offer_ = offer;
  follow_all();
  hook_wanted_ = std::ranges::any_of(offer_.resources, offer::has_runtime_hook);
  // A reboot empties the CDI folder, but kubelet restarts containers with the hook.
  if (hook_wanted_ || !is_hook_granted()) return;
  if (const auto installed = hook_.install(); !installed) complain(installed.error());
}

bool TenantManager::maps_classes() const {
  const std::scoped_lock turn(turns_);
  return std::ranges::any_of(offer_.resources, [](const offer::ResourceOffer& resource) {
    return resource.limits && resource.limits->rules.maps_classes();
  });
}

TenantManager::Answers TenantManager::settle(Settings settings,
                                             std::map<std::string, std::string> pod_classes,
                                             bool of_claims) {
  const std::scoped_lock turn(turns_);
  settings_ = std::move(settings);
  of_claims_ = of_claims;
  pod_classes_ = std::move(pod_classes);
  return follow_all();
}

Result<std::optional<DeviceLimits>> TenantManager::part_of(const std::string& tenant,
                                                           std::string_view device) const {
  ASSIGN_OR_RETURN(const auto now, tenants_.get(tenant));
  return enforced_part({.enforcement = now.enforcement, .devices = now.devices}, device);
}

// Answers for the tenants with settings. What is lowered may make room for tenants before it.
TenantManager::Answers TenantManager::follow_all() {
  Answers answers;
  const auto grants = grants_.all();
  DeviceParts parts(grants, tenants_);
  std::set<std::string> those;
  const auto waited = waiting_.size();
  bool again = true;
  for (std::size_t pass = 0; again && pass <= grants.size(); ++pass) {
    again = false;
    waiting_.clear();
    for (const auto& [grant, granted_at_ms] : grants) {
      if (grant.tenant.empty() || !follow_one(grant.tenant, grant, parts, answers)) continue;
      those.insert(grant.tenant);
      again = true;
    }
    again = again && !waiting_.empty();
  }
  tell_waiting(waited);
  std::size_t changed = those.size();
  if (settings_ && of_claims_) {
    const auto claims = known_claims().value_or(std::vector<ClaimTenant>());
    for (const auto& claim : claims) {
      if (follow_claim(claim, claims, answers)) ++changed;
    }
  }
  if (changed > 0) {
    log_.info(fmt::format("the limits of {} container{} changed, without a restart", changed,
                          changed == 1 ? "" : "s"));
  }
  return answers;
}

// True: the tenant's promise has changed.
bool TenantManager::follow_one(const std::string& id, const offer::Grant& grant, DeviceParts& parts,
                               Answers& answers) {
  const auto* resource = offer_.find(grant.resource);
  auto wanted = tenants_.get(id);
  if (!settings_ && wanted && wanted->set_by_operator) return false;
  if (resource != nullptr && resource->limits) {
    if (auto limits = offer::limits_for(*resource, grant.ids)) {
      const auto& rules = resource->limits->rules;
      if (const auto pod = pod_classes_.find(id);
          pod != pod_classes_.end() && rules.maps_classes()) {
        limits->priority = rules.class_of(pod->second);
      }
      // Until Pods are known, the tenant keeps its class from an earlier agent.
      const bool keeps_class = rules.maps_classes() && !settings_ && wanted.has_value();
      const auto given = keeps_class ? wanted->priority : Priority::kNormal;
      wanted = tenant_limits(id, grant.resource.value, *limits);
      if (wanted && keeps_class) wanted->priority = given;
      if (wanted) {
        const auto promised = *std::move(wanted);
        wanted = fitted(promised, parts, *resource);
        if (settings_ && settings_->contains(id)) {
          auto tried = set(promised, *wanted, parts, *resource);
          if (!tried.empty() && tried.back()) wanted = tried.back();
          answers.insert_or_assign(id, std::move(tried));
        }
      }
    }
  } else if (resource != nullptr && wanted) {
    wanted->enforcement = Enforcement::kOff;
    wanted->set_by_operator = false;
  }
  if (!wanted) {
    complain(std::move(wanted).error().with_context(
        fmt::format("what {} of tenant {} was promised is lost, so it is given no memory",
                    grant.resource.value, id)));
    return false;
  }
  const auto put = tenants_.put(*wanted);
  if (!put) complain(put.error());
  if (put) parts.put(*wanted);
  return put.value_or(false);
}

// Where parts add up, nobody is raised into the parts of others.
limit::TenantLimits TenantManager::fitted(const limit::TenantLimits& wanted,
                                          const DeviceParts& parts,
                                          const offer::ResourceOffer& resource) {
  const auto& rules = resource.limits->rules;
  if (!rules.holds() || rules.oversubscribe) return wanted;
  auto fits = parts.as_far_as_it_fits(wanted, resource);
  if (fits.devices == wanted.devices) {
    waiting_.erase(wanted.id);
  } else {
    waiting_.insert(wanted.id);
  }
  return fits;
}

void TenantManager::tell_waiting(std::size_t before) {
  if (waiting_.size() == before) return;
  if (waiting_.empty()) return log_.info("every container has the limits that it is promised now");
  log_.info(fmt::format(
      "{} container{} promised more than the others on the same GPU leave: the limits stay as they "
      "are until those have ended",
      waiting_.size(), waiting_.size() == 1 ? " is" : "s are"));
}

// Missing files of a tenant are written when its claim is prepared.
bool TenantManager::follow_claim(const ClaimTenant& claim, const std::vector<ClaimTenant>& all,
                                 Answers& answers) {
  if (claim.limits.devices.empty()) return false;
  const auto now = tenants_.get(claim.id);
  if (!now && now.error().code == Code::kNotFound) return false;
  auto wanted = promised_limits(claim);
  if (settings_->contains(claim.id)) {
    auto tried = set_claim(claim, all);
    if (!tried.empty() && tried.back()) wanted = tried.back();
    answers.insert_or_assign(claim.id, std::move(tried));
  }
  const auto put = wanted ? tenants_.put(*wanted) : std::unexpected(wanted.error());
  if (!put) complain(put.error());
  return put.value_or(false);
}

// As set(). A setting that another of its tenants cannot keep is refused here, too.
std::vector<Result<limit::TenantLimits>> TenantManager::set_claim(
    const ClaimTenant& claim, const std::vector<ClaimTenant>& all) const {
  std::vector<Result<limit::TenantLimits>> tried;
  for (const auto& [values, raising, together] : settings_->at(claim.id)) {
    auto mine = with_claim_setting(claim, values, raising);
    for (const auto& other : all) {
      if (!mine || std::ranges::find(together, other.id) == together.end()) continue;
      if (auto its = with_claim_setting(other, values, raising); !its) {
        mine = std::unexpected(std::move(its).error());
      }
    }
    tried.push_back(std::move(mine));
    if (tried.back()) break;
  }
  return tried;
}

// Tries the tenant's settings in order, up to the first that can be kept. The operator's are
// checked against what the tenant can have now (`fits`); a Pod owner's lower the promise.
std::vector<Result<limit::TenantLimits>> TenantManager::set(const limit::TenantLimits& promised,
                                                            const limit::TenantLimits& fits,
                                                            const DeviceParts& parts,
                                                            const offer::ResourceOffer& resource) {
  std::vector<Result<limit::TenantLimits>> tried;
  const auto elsewhere = promised_elsewhere(promised.id, resource);
  for (const auto& [values, raising, together] : settings_->at(promised.id)) {
    const auto& from = raising == Raising::kAllowed ? fits : promised;
    tried.push_back(with_setting(from, values, resource, elsewhere, raising));
    if (!tried.back()) continue;
    if (raising == Raising::kRefused) {
      tried.back() = fitted(*tried.back(), parts, resource);
    } else {
      waiting_.erase(promised.id);
    }
    break;
  }
  return tried;
}

// Containers of other resources count too: they keep their part of the device.
std::map<std::string, PromisedElsewhere> TenantManager::promised_elsewhere(
    const std::string& id, const offer::ResourceOffer& resource) const {
  std::map<std::string, offer::Kept> kept;
  const auto add = [&](const DeviceLimits& part) {
    const auto device = std::ranges::find(resource.devices, part.uuid, &offer::Device::uuid);
    if (device != resource.devices.end()) kept[part.uuid].add(part, device->memory);
  };
  const auto grants = grants_.all();
  for (const auto& other : holding_tenants(grants)) {
    if (other == id) continue;
    if (const auto limits = tenants_.get(other)) std::ranges::for_each(limits->devices, add);
  }
  std::set<std::string> held;
  for (const auto& [grant, granted_at_ms] : grants) {
    if (grant.resource == resource.name) held.insert(grant.ids.begin(), grant.ids.end());
  }
  for (const auto& tranche : resource.tranches) {
    if (tranche.withheld || held.contains(tranche.id)) continue;
    const auto free = offer::limits_for(resource, std::span(&tranche.id, 1));
    if (free) std::ranges::for_each(free->devices, add);
  }
  std::map<std::string, PromisedElsewhere> result;
  for (const auto& [uuid, sum] : kept) {
    result[uuid] = {.memory = {sum.memory}, .permille = static_cast<std::uint32_t>(sum.permille)};
  }
  return result;
}

Result<void> TenantManager::save_grants() {
  grants_.save();
  return grants_.standing();
}

void TenantManager::unanswered() {
  grants_.unanswered();
  const std::scoped_lock turn(turns_);
  strays_.clear();
}

bool TenantManager::prune(const Holders& holders) {
  if (grants_.is_shared()) return false;  // the other agent may be storing a tenant
  const bool only_remembered = grants_.prune(holders);
  const std::scoped_lock turn(turns_);
  sweep_tenants(holders);
  sweep_libraries(holders);
  sweep_hook();
  if (!waiting_.empty()) follow_all();
  return only_remembered;
}

void TenantManager::sweep_tenants(const Holders& holders) {
  // The folder is listed before the stored grants are read: a tenant in it is still being stored,
  // or its grant is in the list below.
  const auto ids = tenants_.ids();
  if (!ids) return complain(ids.error());
  auto known = being_stored();
  for (const auto& record : grants_.all()) known.emplace(record.grant.tenant);
  if (claims_) {
    auto claimed = claims_();
    if (!claimed) return;  // known soon
    for (const auto& claim : *claimed) known.insert(claim.id);
  }
  std::vector<std::string> gone;
  decltype(strays_) strays;
  for (const auto& id : *ids) {
    if (known.contains(id)) continue;
    // Its grant was dropped or never stored.
    if (!grants_.incomplete()) gone.push_back(id);
    // Or it is an unreadable one.
    if (!grants_.incomplete() || may_be_held(id, holders)) continue;
    const auto before = strays_.find(id);
    const auto since = before == strays_.end() ? clock_.now() : before->second;
    strays.emplace(id, since);
    if (clock_.now() - since >= holders.agree) gone.push_back(id);
  }
  strays_ = std::move(strays);
  if (gone.empty()) return;
  const auto living = living_of(holders);
  if (!living) return complain(living.error());
  for (const auto& id : gone) {
    if (living->contains(id)) continue;
    if (const auto removed = tenants_.remove(id); !removed) {
      complain(removed.error());
      continue;
    }
    log_.info(
        fmt::format("removed tenant {}: it has no grant, and no living container is its", id));
  }
}

bool TenantManager::may_be_held(const std::string& id, const Holders& holders) const {
  const auto tenant = tenants_.get(id);
  if (!tenant || !holders.remembered) return true;
  const auto is_it = [&](const auto& holder) { return may_hold(holder, *tenant); };
  return std::ranges::any_of(holders.listed, is_it) ||
         std::ranges::any_of(*holders.remembered, is_it);
}

std::set<std::string, std::less<>> TenantManager::being_stored() const {
  const std::scoped_lock lock(storing_mutex_);
  return storing_;
}

void TenantManager::sweep_libraries(const Holders& holders) {
  if (grants_.incomplete()) return;  // an unreadable grant may mount any of them
  // Where nothing is installed the files of earlier claims name a library of before.
  const auto claims = known_claims();
  if (options_.library == "none" && (!claims || !claims->empty())) return;
  std::set<std::string> granted;
  std::set<std::string> tenants;
  for (const auto& record : grants_.all()) {
    tenants.insert(record.grant.tenant);
    for (const auto& mount : record.grant.mounts) granted.insert(mount.host_path);
  }
  auto old = library_.unused(granted);
  if (!old) return complain(old.error());
  if (old->empty()) return;
  const auto living = living_of(holders);
  if (!living) return complain(living.error());
  const auto ids = tenants_.ids();
  if (!ids) return complain(ids.error());
  // A living tenant whose grant is lost may mount any of them.
  if (std::ranges::any_of(
          *ids, [&](const auto& id) { return living->contains(id) && !tenants.contains(id); })) {
    return;
  }
  std::erase_if(*old, [&](const std::string& name) { return living->contains(name); });
  const auto removed = library_.remove(*old);
  if (!removed) complain(removed.error());
  for (const auto& name : removed.value_or(std::vector<std::string>())) {
    log_.info(fmt::format("removed {}: no container mounts it any more",
                          (options_.state_dir / "lib" / name).string()));
  }
}

bool TenantManager::is_hook_granted() const {
  return std::ranges::any_of(grants_.all(), [](const offer::GrantRecord& record) {
    const auto& names = record.grant.cdi_devices;
    return std::ranges::find(names, offer::kHookDevice) != names.end();
  });
}

void TenantManager::sweep_hook() {
  if (hook_wanted_ || claims_hook_wanted_ || grants_.incomplete()) return;
  if (is_hook_granted() || hook_.is_claimed()) return;
  const auto removed = hook_.remove();
  if (!removed) return complain(removed.error());
  for (const auto& path : *removed) {
    log_.info(fmt::format("removed {}: no container has the runtime's hook any more", path));
  }
}

void TenantManager::complain(const Error& error) {
  if (complaint_ == error.what) return;
  complaint_ = error.what;
  log_.error(fmt::format("limits: {}", error.message()));
}

}  // namespace tranche::agent
