#pragma once
// Which namespaces have a ResourceQuota of whole GPUs, or the one that we keep beside it: follows
// the ResourceQuotas of the cluster. Of each only that is kept.
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
  // `on_change`: called with the namespace of a quota that changed in whatever; once with "" when
  // all are known. As the listener of a Watch.
  QuotaWatch(const WorkerContext& context, std::function<void(const std::string& ns)> on_change);
  QuotaWatch(const QuotaWatch&) = delete;
  QuotaWatch& operator=(const QuotaWatch&) = delete;

  // Whether shares of the namespace are held to a quota, or were. True also while that is not
  // known: the quotas are not read yet, or could not be lately.
  bool may_matter(const std::string& ns) const;
  std::optional<std::string> trouble() const;

 private:
  void take(const cluster::CacheChange& change);

  const std::function<void(const std::string&)> on_change_;
  mutable std::mutex mutex_;
  std::map<std::string, int> count_;  // guarded by mutex_: how many that matter a namespace has
  std::map<cluster::ObjectKey, bool> known_;  // of the listener alone
  // Last: its thread uses the others.
  Watch cache_;
};

}  // namespace tranche::controller
