#include "controller/share_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/json.h"
#include "base/pause.h"
#include "cluster/resource_claim.h"

namespace tranche::controller {
namespace {

using admission::quota::kOwnQuotaName;
using admission::quota::OwnQuota;
using admission::quota::Reservation;
using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestPause{100};
constexpr std::chrono::milliseconds kTakeBackCall{500};

cluster::ObjectKey own_key(const std::string& ns) {
  return {.ns = ns, .name = std::string(kOwnQuotaName)};
}

// The object was written, deleted or created by somebody else since.
bool is_race(const Error& error) {
  return error.code == Code::kFailedPrecondition || error.code == Code::kNotFound ||
         error.code == Code::kAlreadyExists;
}

// The time of one call, shared by all its requests.
class Budget {
 public:
  Budget(cluster::Call call, std::chrono::milliseconds first_pause)
      : call_(std::move(call)), end_(Steady::now() + call_.deadline), pause_(first_pause) {}

  cluster::Call rest() const {
    auto rest = call_;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Steady::now());
    rest.deadline = std::max(left, std::chrono::milliseconds(1));
    return rest;
  }
  // Waits before the next attempt, each time longer, with jitter. False: no time is left.
  bool pause() {
    thread_local std::minstd_rand random(std::random_device{}());
    const auto now = pause_ / 2 + pause_ * static_cast<int>(random() % 100) / 100;
    pause_ = std::min(pause_ * 2, kLongestPause);
    return Steady::now() + now < end_ && tranche::pause(now, call_.stop);
  }

 private:
  const cluster::Call call_;
  const Steady::time_point end_;
  std::chrono::milliseconds pause_;
};

Result<OwnQuota> own_of(const cluster::Object& object) {
  ASSIGN_OR_RETURN(const auto root, json::parse(object.json));
  return admission::quota::read_own_quota(root);
}

}  // namespace

ShareBook::ShareBook(const WorkerContext& context, const FleetWatch& fleet, Options options)
    : context_(context), fleet_(fleet), options_(std::move(options)) {}

Result<ShareBook::Quotas> ShareBook::quotas_of(const std::string& ns, const cluster::Call& call) {
  ASSIGN_OR_RETURN(const auto all,
                   context_.objects.list(cluster::kResourceQuota, {.ns = ns}, call));
  Quotas quotas;
  for (const auto& item : all.items) {
    ASSIGN_OR_RETURN(const auto root, json::parse(item.json));
    if (item.key.name == kOwnQuotaName) quotas.object = item;
    ASSIGN_OR_RETURN(auto limit, admission::quota::read_limit(root));
    if (limit) quotas.limits.push_back(*std::move(limit));
  }
  if (!quotas.object) return quotas;
  auto own = own_of(*quotas.object);
  if (own) {
    quotas.own = *std::move(own);
  } else if (quotas.limits.empty()) {
    quotas.object.reset();  // somebody else's, and we need none
  } else {
    return std::unexpected(std::move(own).error().with_context("namespace " + ns));
  }
  for (auto& limit : quotas.limits) {
    if (quotas.own) limit.used = std::max(limit.used, quotas.own->used);
  }
  return quotas;
}

Result<std::map<std::string, std::int64_t>> ShareBook::live_claims(const std::string& ns,
                                                                   const cluster::Call& call) {
  ASSIGN_OR_RETURN(const auto fleet, fleet_.fleet());
  std::map<std::string, std::int64_t> live;
  const auto take = [&](const std::vector<cluster::Object>& page, bool first) -> Result<void> {
    if (first) live.clear();
    for (const auto& claim : page) {
      if (!admission::quota::may_name_a_class(claim.json, options_.charge.classes)) continue;
      const auto root = json::parse(claim.json);
      auto charge = root ? admission::quota::charge_of(*root, fleet.dra_models, options_.charge)
                         : std::unexpected(root.error());
      if (!charge) {
        // A claim from before the quota may request all devices: what it was given counts.
        const auto given = cluster::parse_resource_claim(claim.json);
        const auto devices = given ? std::max<std::size_t>(given->devices.size(), 1) : 1;
        charge = static_cast<std::int64_t>(devices) * admission::quota::kWhole;
      }
      if (*charge > 0) live.emplace(claim.uid, *charge);
    }
    return {};
  };
  TRY(context_.objects.list_pages(cluster::kResourceClaim, {.ns = ns}, take, call));
  return live;
}

Result<ShareBook::Ledger> ShareBook::with_reservation(const Quotas& quotas,
                                                      const Reservation& asked,
                                                      const cluster::Call& call) {
  const auto now = context_.clock.wall_now();
  const auto known = quotas.own ? quotas.own->ledger : std::nullopt;
  if (known) {
    auto reserved = admission::quota::reserve(*known, quotas.limits, asked, now);
    if (reserved || reserved.error().code != Code::kFailedPrecondition) return reserved;
  }
  // There is no ledger yet, or it is full and may have ended entries.
  ASSIGN_OR_RETURN(const auto live, live_claims(asked.ns, call));
  return admission::quota::reserve(admission::quota::reconcile(known.value_or(Ledger()), live, now),
                                   quotas.limits, asked, now);
}

Result<std::optional<cluster::Object>> ShareBook::write(const std::string& ns, const Quotas& quotas,
                                                        const Ledger& ledger,
                                                        const cluster::Call& call) {
  if (!quotas.object) return make(ns, quotas, ledger, call);
  ASSIGN_OR_RETURN(const auto root, json::parse(quotas.object->json));
  const auto text = admission::quota::changed_own_quota(root, ledger, quotas.limits);
  if (text == root.text()) return quotas.object;
  if (!quotas.own->ledger) {
    context_.log.warn(
        fmt::format("ResourceQuota {}: its ledger of shares was damaged, and is made anew "
                    "from the claims that are there; nothing needs to be done",
                    quotas.object->key.to_string()));
  }
  auto written = context_.objects.update(cluster::kResourceQuota, own_key(ns), text, {}, call);
  if (written) return *std::move(written);
  if (is_race(written.error())) return std::nullopt;
  return std::unexpected(std::move(written).error().with_context(
      fmt::format("ResourceQuota {}", quotas.object->key.to_string())));
}

Result<std::optional<cluster::Object>> ShareBook::make(const std::string& ns, const Quotas& quotas,
                                                       const Ledger& ledger,
                                                       const cluster::Call& call) {
  const auto& kind = cluster::kValidatingWebhookConfiguration;
  auto configuration = context_.objects.get(kind, {.ns = {}, .name = options_.configuration}, call);
  if (!configuration) {
    return std::unexpected(
        std::move(configuration)
            .error()
            .with_context(fmt::format("{} {}", kind.kind, options_.configuration)));
  }
  const cluster::OwnerReference owner{.api_version = kind.api_version(),
                                      .kind = std::string(kind.kind),
                                      .name = configuration->key.name,
                                      .uid = configuration->uid};
  auto made =
      context_.objects.create(cluster::kResourceQuota, ns,
                              admission::quota::new_own_quota(ledger, quotas.limits, owner), call);
  if (made) return *std::move(made);
  if (made.error().code == Code::kAlreadyExists) return std::nullopt;
  return std::unexpected(std::move(made).error().with_context(
      fmt::format("ResourceQuota {}", own_key(ns).to_string())));
}

Result<void> ShareBook::reserve(const Reservation& asked, bool is_dry_run,
                                const cluster::Call& call) {
  Budget budget(call, options_.first_pause);
  do {
    ASSIGN_OR_RETURN(const bool is_done, try_reserve(asked, is_dry_run, budget.rest()));
    if (is_done) return {};
  } while (budget.pause());
  take_back(asked, {.deadline = kTakeBackCall, .stop = call.stop});
  return fail(
      Code::kUnavailable,
      fmt::format("others reserve shares of GPUs in namespace {} at the same time", asked.ns),
      "try again in a moment");
}

Result<bool> ShareBook::try_reserve(const Reservation& asked, bool is_dry_run,
                                    const cluster::Call& call) {
  ASSIGN_OR_RETURN(const auto quotas, quotas_of(asked.ns, call));
  if (quotas.limits.empty()) return true;
  ASSIGN_OR_RETURN(const auto ledger, with_reservation(quotas, asked, call));
  if (is_dry_run) return true;
  ASSIGN_OR_RETURN(auto written, write(asked.ns, quotas, ledger, call));
  if (!written) return false;
  return confirm(*std::move(written), asked, call);
}

// Limits whole GPUs to what the reservation leaves.
Result<bool> ShareBook::confirm(cluster::Object object, const Reservation& asked,
                                const cluster::Call& call) {
  Budget budget({.deadline = std::min(call.deadline, options_.count_time), .stop = call.stop},
                options_.first_pause);
  for (;;) {
    ASSIGN_OR_RETURN(const auto own, own_of(object));
    if (!own.ledger || !own.ledger->claims.contains(asked.uid)) return false;
    if (own.hard && *own.hard <= own.wanted) {
      if (own.used <= own.wanted) return true;
      // A Pod with whole GPUs was faster.
      take_back(asked, {.deadline = kTakeBackCall, .stop = call.stop});
      return false;
    }
    std::optional<cluster::Object> changed;
    if (own.hard) {
      ASSIGN_OR_RETURN(const auto root, json::parse(object.json));
      auto written =
          context_.objects.update(cluster::kResourceQuota, object.key,
                                  admission::quota::with_status_as_wanted(root), "status", call);
      if (written) {
        changed = *std::move(written);
      } else if (!is_race(written.error())) {
        return std::unexpected(std::move(written).error().with_context(
            fmt::format("status of ResourceQuota {}", object.key.to_string())));
      }
    } else if (!budget.pause()) {
      take_back(asked, {.deadline = kTakeBackCall, .stop = call.stop});
      return fail(
          Code::kUnavailable,
          fmt::format("Kubernetes has not counted ResourceQuota {} yet", object.key.to_string()),
          "try again in a moment; kube-controller-manager counts it");
    }
    if (!changed) {
      auto now = context_.objects.get(cluster::kResourceQuota, object.key, call);
      if (!now && now.error().code == Code::kNotFound) return false;
      if (!now) return std::unexpected(std::move(now).error());
      changed = *std::move(now);
    }
    object = *std::move(changed);
  }
}

// A reservation that cannot be taken back expires in a minute: its claim never comes.
void ShareBook::take_back(const Reservation& asked, const cluster::Call& call) {
  Budget budget(call, options_.first_pause);
  do {
    const auto quotas = quotas_of(asked.ns, budget.rest());
    if (!quotas || !quotas->own || !quotas->own->ledger || quotas->limits.empty()) return;
    auto ledger = *quotas->own->ledger;
    const auto found = ledger.claims.find(asked.uid);
    if (found == ledger.claims.end() || found->second.is_seen) return;
    ledger.claims.erase(found);
    const auto written = write(asked.ns, *quotas, ledger, budget.rest());
    if (!written || *written) return;
  } while (budget.pause());
}

Result<ShareBook::Holds> ShareBook::settle(const std::string& ns, bool may_go,
                                           const std::set<std::string>& gone,
                                           const cluster::Call& call) {
  Budget budget(call, options_.first_pause);
  do {
    ASSIGN_OR_RETURN(const auto holds, try_settle(ns, may_go, gone, budget.rest()));
    if (holds) return *holds;
  } while (budget.pause());
  return fail(Code::kUnavailable,
              fmt::format("others write ResourceQuota {} all the time", own_key(ns).to_string()));
}

Result<std::optional<ShareBook::Holds>> ShareBook::try_settle(const std::string& ns, bool may_go,
                                                              const std::set<std::string>& gone,
                                                              const cluster::Call& call) {
  ASSIGN_OR_RETURN(const auto quotas, quotas_of(ns, call));
  if (quotas.limits.empty() && !quotas.object) return Holds::kNoQuota;
  auto ledger = quotas.own ? quotas.own->ledger.value_or(Ledger()) : Ledger();
  if (!quotas.limits.empty()) {
    ASSIGN_OR_RETURN(const auto live, live_claims(ns, call));
    for (auto& [uid, entry] : ledger.claims) entry.is_seen = entry.is_seen || gone.contains(uid);
    ledger = admission::quota::reconcile(std::move(ledger), live, context_.clock.wall_now());
    if (ledger.claims.empty() && !quotas.object) return Holds::kNothing;
  }
  if (quotas.limits.empty() || (ledger.claims.empty() && may_go)) {
    ASSIGN_OR_RETURN(const bool is_gone, remove(*quotas.object, call));
    if (!is_gone) return std::nullopt;
    return quotas.limits.empty() ? Holds::kNoQuota : Holds::kNothing;
  }
  ASSIGN_OR_RETURN(const auto written, write(ns, quotas, ledger, call));
  if (!written) return std::nullopt;
  if (ledger.claims.empty()) return Holds::kNothing;
  const bool has_reservations =
      std::ranges::any_of(ledger.claims, [](const auto& item) { return !item.second.is_seen; });
  return has_reservations ? Holds::kReservations : Holds::kClaims;
}

Result<bool> ShareBook::remove(const cluster::Object& object, const cluster::Call& call) {
  auto gone = context_.objects.remove(
      cluster::kResourceQuota, object.key,
      {.uid = object.uid, .resource_version = object.resource_version}, call);
  if (gone || gone.error().code == Code::kNotFound) return true;
  if (gone.error().code == Code::kFailedPrecondition) return false;
  return std::unexpected(std::move(gone).error().with_context(
      fmt::format("ResourceQuota {}", object.key.to_string())));
}

}  // namespace tranche::controller
