#pragma once
// Who holds which devices: pods, their containers, and the plugin's stored answers. The part of the
// stand-in that its checkpoint saves. Not thread-safe: DeviceTable guards it.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/kubelet/choose.h"
#include "lab/kubelet/types.h"

namespace tranche::lab {

// Pod::uid, or "<namespace>/<name>" when that is empty.
std::string uid_of(const Pod& pod);

class Ledger {
 public:
  struct Entry {
    Pod pod;
    // Container -> what it holds.
    std::map<std::string, ContainerHoldings> containers = {};
  };

  // Notes the pod with nothing held; keeps what it holds when it is known.
  void add_pod(const Pod& pod);
  // `pod_uid` must have been added.
  void insert(const std::string& pod_uid, const std::string& container, const std::string& resource,
              Holding holding);
  // False when there is no such pod.
  bool remove(const std::string& pod_uid);

  std::optional<Entry> find(const std::string& pod_uid) const;
  IdSet held(const std::string& resource) const;
  // By uid.
  const std::map<std::string, Entry>& pods() const { return pods_; }

 private:
  std::map<std::string, Entry> pods_;
};

}  // namespace tranche::lab
