#pragma once
// The cluster's ledgers of shares (decision 41): one for each namespace with a quota of whole GPUs,
// in the ResourceQuota that we keep there (admission/quota/own_quota.h). Every replica of the
// controller may write: a write names the resourceVersion that was read, and after a conflict it
// reads again.
//
// A share is reserved in two writes: the first enters it in the ledger and lowers spec.hard; the
// second lowers status.hard, by which the API server admits Pods with whole GPUs (Kubernetes would
// do so a moment later). The object also has the counter of those Pods, so none can come in
// between. Raising the limit after a release is left to Kubernetes.
//
// The ledger is read before the claims are listed. So a claim that is in the ledger but not in the
// list is gone, and not too new for the list.
//
// Thread-safe. Works over the port cluster::Objects.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admission/quota/charge.h"
#include "admission/quota/ledger.h"
#include "admission/quota/own_quota.h"
#include "admission/quota/reserve.h"
#include "base/result.h"
#include "controller/fleet_watch.h"
#include "controller/worker.h"

namespace tranche::controller {

class ShareBook {
 public:
  struct Options {
    // The ValidatingWebhookConfiguration. It owns our ResourceQuotas: Kubernetes deletes them with
    // it.
    std::string configuration;
    admission::quota::ChargeOptions charge = {};
    // How long Kubernetes may take to count what a new ResourceQuota limits.
    std::chrono::milliseconds count_time = std::chrono::seconds(1);
    std::chrono::milliseconds first_pause{5};  // after a conflict; doubled each time
  };

  ShareBook(const WorkerContext& context, const FleetWatch& fleet, Options options);

  // Reserves the share. Success: the claim may be admitted. A dry run reserves nothing.
  //     kFailedPrecondition  a quota is reached; the message is for the user
  //     kUnavailable         the API server does not answer, others keep writing, or the cluster's
  //                          GPUs are not known yet
  Result<void> reserve(const admission::quota::Reservation& asked, bool is_dry_run,
                       const cluster::Call& call);

  enum class Holds { kNoQuota, kNothing, kClaims, kReservations };
  // Makes the namespace's ledger follow its claims and quotas, and our ResourceQuota what they
  // leave. The latter is deleted when there is no quota, and if `may_go` when nothing is held.
  // `gone`: uids of deleted claims; their reservations are not waited for.
  Result<Holds> settle(const std::string& ns, bool may_go, const std::set<std::string>& gone,
                       const cluster::Call& call);

 private:
  using Ledger = admission::quota::Ledger;
  struct Quotas {
    std::vector<admission::quota::Limit> limits;  // `used`: what any of the quotas has counted
    std::optional<cluster::Object> object;        // ours
    std::optional<admission::quota::OwnQuota> own;
  };

  Result<Quotas> quotas_of(const std::string& ns, const cluster::Call& call);
  Result<std::map<std::string, std::int64_t>> live_claims(const std::string& ns,
                                                          const cluster::Call& call);
  Result<Ledger> with_reservation(const Quotas& quotas, const admission::quota::Reservation& asked,
                                  const cluster::Call& call);
  // The following return nullopt or false after a conflicting write: start again.
  Result<std::optional<cluster::Object>> write(const std::string& ns, const Quotas& quotas,
                                               const Ledger& ledger, const cluster::Call& call);
  Result<std::optional<cluster::Object>> make(const std::string& ns, const Quotas& quotas,
                                              const Ledger& ledger, const cluster::Call& call);
  Result<bool> try_reserve(const admission::quota::Reservation& asked, bool is_dry_run,
                           const cluster::Call& call);
  Result<bool> confirm(cluster::Object object, const admission::quota::Reservation& asked,
                       const cluster::Call& call);
  Result<std::optional<Holds>> try_settle(const std::string& ns, bool may_go,
                                          const std::set<std::string>& gone,
                                          const cluster::Call& call);
  Result<bool> remove(const cluster::Object& object, const cluster::Call& call);
  void take_back(const admission::quota::Reservation& asked, const cluster::Call& call);

  const WorkerContext context_;
  const FleetWatch& fleet_;
  const Options options_;
};

}  // namespace tranche::controller
