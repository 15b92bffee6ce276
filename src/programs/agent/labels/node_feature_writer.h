#pragma once
// Writes the NodeFeature object nvidia-features-for-<node>, as NVIDIA's feature discovery does. The
// Pod and its DaemonSet own the object, so it is removed with them.

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/log.h"
#include "cluster/node_feature.h"
#include "cluster/objects.h"
#include "labels/labels.h"

namespace tranche::agent {

// The field manager for labels on Nodes, by server-side apply, and for NodeFeatures. The clean-up
// must use the same name: the API server removes what a manager no longer applies, and our
// NodeFeatures are known by it.
inline constexpr const char* kLabelFieldManager = "tranche-labels";

class NodeFeatureWriter {
 public:
  struct Options {
    std::string ns;
    std::string node_name;
    std::string pod_name;  // "": no owner
  };
  // Used by one thread at a time.
  NodeFeatureWriter(cluster::Objects& objects, Options options, const Log& log);

  const cluster::ObjectKey& key() const { return key_; }
  std::string place() const { return "NodeFeature " + key_.to_string(); }
  bool says(const cluster::Object& object, const labels::Labels& labels) const;
  // Creates the object, or changes only what differs: what others wrote next to the labels stays.
  // kNotFound: node feature discovery's definitions are not installed, or the namespace is missing.
  Result<void> write(const labels::Labels& labels, const std::stop_token& stop = {});

 private:
  Result<void> put(const cluster::NodeFeature& feature, const std::stop_token& stop);
  Result<std::vector<cluster::OwnerReference>> find_owners(const std::stop_token& stop);

  cluster::Objects& objects_;
  Options options_;
  cluster::ObjectKey key_;
  const Log& log_;
  std::optional<std::vector<cluster::OwnerReference>> owners_;
};

}  // namespace tranche::agent
