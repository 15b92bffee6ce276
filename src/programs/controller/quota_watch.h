#pragma once
// Which namespaces have a ResourceQuota of whole GPUs, or the one that we keep in addition: follows
// the cluster's ResourceQuotas and keeps only that.
//
// Thread-safe. The destructor ends the watch. Works over the port cluster::Objects.

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "controller/worker.h"

namespace tranche::controller {

class QuotaWatch {
 public:
  // `on_change`: called with the namespace of each quota that changed, and once with "" when all
  // are known; see the listener of a Watch.
  QuotaWatch(const WorkerContext& context, std::function<void(const std::string& ns)> on_change);
  QuotaWatch(const QuotaWatch&) = delete;
  QuotaWatch& operator=(const QuotaWatch&) = delete;

  // Whether shares of the namespace are or were limited by a quota. True also while that is
  // unknown: the quotas have not been read yet, or the watch fails.
  bool may_matter(const std::string& ns) const;
  std::optional<std::string> trouble() const;

 private:
  void take(const cluster::CacheChange& change);

  const std::function<void(const std::string&)> on_change_;
  mutable std::mutex mutex_;
  std::map<std::string, int> count_;          // guarded by mutex_: relevant quotas of a namespace
  std::map<cluster::ObjectKey, bool> known_;  // used by the listener only
  // Last: its thread uses the others.
  Watch cache_;
};

}  // namespace tranche::controller
