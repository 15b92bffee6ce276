#pragma once
// Keeps the ledgers of shares and our ResourceQuotas (share_book.h) as the claims and the quotas of
// the cluster are: what has ended is given back, what was there before a quota is counted, a
// reservation whose claim never came is forgotten, and where nothing is held any more our
// ResourceQuota goes after a while.
//
// The webhook reserves without it. While no controller leads, whole GPUs stay held to what shares
// left when one led last.
//
// Works over the port cluster::Objects on a thread of its own. The destructor stops it.

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

class QuotaKeeper : public Worker {
 public:
  struct Options {
    // ChargeOptions::classes.
    std::vector<std::string> classes = admission::quota::ChargeOptions().classes;
    // Between two looks at one namespace, however often its claims change.
    std::chrono::milliseconds spacing{300};
    // How often what a claim is charged is reckoned again: GPUs of another model may have joined.
    std::chrono::milliseconds look = std::chrono::minutes(5);
    // How long a ResourceQuota of ours stays after the last share has gone: Kubernetes takes a
    // moment to count for a new one.
    std::chrono::milliseconds stays = std::chrono::minutes(10);
  };

  QuotaKeeper(const WorkerContext& context, ShareBook& book, Options options);
  ~QuotaKeeper() override;
  QuotaKeeper(const QuotaKeeper&) = delete;
  QuotaKeeper& operator=(const QuotaKeeper&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  using Time = std::chrono::steady_clock::time_point;

  Result<WorkQueue::Next> visit(const std::string& ns, const std::stop_token& stop);
  Result<ShareBook::Holds> settle(const std::string& ns, bool may_go, const cluster::Call& call);
  void take_claim(const cluster::CacheChange& change);

  const WorkerContext context_;
  ShareBook& book_;
  const Options options_;
  // Of the queue's thread alone, by namespace.
  std::map<std::string, Time> visited_;
  std::map<std::string, Time> empty_since_;
  std::mutex mutex_;
  // Uids of claims that have gone since the namespace was settled; guarded by mutex_.
  std::map<std::string, std::set<std::string>> gone_;
  WorkQueue queue_;
  // Last: their threads ask the queue.
  QuotaWatch quotas_;
  Watch claims_;
};

std::optional<WorkerPlan> plan_quota_keeper(const config::ControllerOptions& options);

}  // namespace tranche::controller
