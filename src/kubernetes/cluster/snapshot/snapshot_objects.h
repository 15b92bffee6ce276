#pragma once
// A snapshot behind the port to the API server: what reads a cluster through cluster::Objects reads
// a file in the same way. It only reads; writes and watches are refused (kUnsupported).
//
// Answers are those of the moment when the snapshot was taken, also the failures: a kind that could
// not be read then fails with the same code and the old message. What a snapshot does not keep is
// refused too (kUnsupported), so that "not kept" is never "not there":
//   Pods        only those that concern GPUs are there (snapshot.h)
//   ConfigMaps  get() alone: the cluster has others
//   selectors   by the fields metadata.name, metadata.namespace, spec.nodeName and status.phase
//
// Immutable after construction, so thread-safe.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/objects.h"
#include "cluster/snapshot/snapshot.h"

namespace tranche::cluster {

class SnapshotObjects final : public Objects {
 public:
  explicit SnapshotObjects(const Snapshot& snapshot);

  Result<Object> get(const Kind& kind, const ObjectKey& key, const Call& call = {}) override;
  Result<ObjectList> list(const Kind& kind, const ListOptions& options,
                          const Call& call = {}) override;
  Result<WatchEnd> watch(const Kind& kind, const WatchOptions& options, const WatchHandler& handler,
                         std::stop_token stop) override;
  Result<Object> create(const Kind& kind, const std::string& ns, std::string_view json,
                        const Call& call = {}) override;
  Result<Object> update(const Kind& kind, const ObjectKey& key, std::string_view json,
                        const std::string& subresource = {}, const Call& call = {}) override;
  Result<Object> patch(const Kind& kind, const ObjectKey& key, const Patch& patch,
                       const Call& call = {}) override;
  Result<Object> apply(const Kind& kind, const ObjectKey& key, const Apply& apply,
                       const Call& call = {}) override;
  Result<void> remove(const Kind& kind, const ObjectKey& key,
                      const Preconditions& preconditions = {}, const Call& call = {}) override;
  Result<void> evict(const ObjectKey& pod, const std::string& uid, const Call& call = {}) override;

 private:
  using ByKey = std::map<ObjectKey, Object>;

  template <class Range>
  void add(const Kind& kind, const Range& values);
  // The objects of the kind, if the snapshot keeps it and it could be read.
  Result<const ByKey*> kept(const Kind& kind) const;
  Result<void> check_whole(const Kind& kind) const;

  std::map<std::string, ByKey> objects_;  // by Kind::resource()
  std::vector<Gap> gaps_;
};

}  // namespace tranche::cluster
