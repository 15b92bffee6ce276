#pragma once
// Reconciles the ledgers of shares and our ResourceQuotas (share_book.h) with the cluster's claims
// and quotas: releases what has ended, counts what is older than a quota, drops reservations whose
// claim never came, and deletes our ResourceQuota `stays` after nothing is held any more.
//
// The webhook reserves without it. While no controller leads, whole GPUs stay limited to what
// shares left when one last led.

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admission/quota/charge.h"
#include "controller/quota_watch.h"
#include "controller/share_book.h"
#include "controller/work_queue.h"
#include "controller/worker.h"

namespace tranche::controller {

class QuotaReconciler : public Worker {
 public:
  struct Options {
    // ChargeOptions::classes.
    std::vector<std::string> classes = admission::quota::ChargeOptions().classes;
    // Least time between two visits of one namespace, however often its claims change.
    std::chrono::milliseconds spacing{300};
    // How often charges are computed anew: GPUs of another model may have joined.
    std::chrono::milliseconds look = std::chrono::minutes(5);
    // How long our ResourceQuota stays after the last share is gone: Kubernetes takes a moment to
    // count for a new one.
    std::chrono::milliseconds stays = std::chrono::minutes(10);
  };

  QuotaReconciler(const WorkerContext& context, ShareBook& book, Options options);
  ~QuotaReconciler() override;
  QuotaReconciler(const QuotaReconciler&) = delete;
  QuotaReconciler& operator=(const QuotaReconciler&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  using Time = std::chrono::steady_clock::time_point;

  Result<WorkQueue::Next> visit(const std::string& ns, const std::stop_token& stop);
  Result<ShareBook::Holds> settle(const std::string& ns, bool may_go, const cluster::Call& call);
  void take_claim(const cluster::CacheChange& change);

  const WorkerContext context_;
  ShareBook& book_;
  const Options options_;
  // Used by the queue's thread only, by namespace.
  std::map<std::string, Time> visited_;
  std::map<std::string, Time> empty_since_;
  std::mutex mutex_;
  // Uids of claims deleted since the namespace was settled; guarded by mutex_.
  std::map<std::string, std::set<std::string>> gone_;
  WorkQueue queue_;
  // Last: their threads use the queue.
  QuotaWatch quotas_;
  Watch claims_;
};

std::optional<WorkerPlan> plan_quota_reconciler(const config::ControllerOptions& options);

}  // namespace tranche::controller
