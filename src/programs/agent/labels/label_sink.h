#pragma once
// An object of the API server that takes feature labels instead of the file. Used from the agent's
// loop; its own thread writes, with retries.

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "agent/labels/node_feature_writer.h"
#include "agent/node/node_view.h"
#include "base/retrier.h"
#include "cluster/client/watch_cache.h"
#include "cluster/objects.h"
#include "labels/labels.h"

namespace tranche::agent {

class LabelSink {
 public:
  virtual ~LabelSink() = default;
  // Makes the object hold `labels` and no other labels of ours; sends nothing if it does already.
  // To be repeated when the cluster changed: restores labels of ours that others changed.
  virtual void write(const labels::Labels& labels) = 0;
  // The object's name for people: "NodeFeature x/y", "Node z".
  virtual std::string place() const = 0;
};

// A NodeFeature object. Node feature discovery's master puts its labels on the Node.
class NodeFeatureLabels final : public LabelSink {
 public:
  // `changed` is notified when the object changes.
  NodeFeatureLabels(cluster::Objects& objects, NodeFeatureWriter::Options options,
                    process::ChangeNotifier& changed, const Log& log, Backoff backoff = {});

  void write(const labels::Labels& labels) override;
  std::string place() const override { return writer_.place(); }

 private:
  NodeFeatureWriter writer_;
  const Log& log_;
  std::atomic<bool> taken_over_ = false;  // written by this process; set by the retrier's thread
  Retrier retrier_;
  cluster::WatchCache cache_;
};

// Labels on the Node itself, by server-side apply, for clusters without node feature discovery.
// Only our labels are written: one that another writer set to another value is left alone and
// reported. Our labels that are no longer wanted are removed.
class NodeLabels final : public LabelSink {
 public:
  NodeLabels(cluster::Objects& objects, const NodeView& node, const Log& log, Backoff backoff = {});

  void write(const labels::Labels& labels) override;
  std::string place() const override { return "Node " + node_.name(); }

 private:
  struct Applied {
    labels::Labels wanted;
    labels::Labels written;  // `wanted` without the labels that others own
    std::string uid;         // the Node's
  };
  Result<void> apply(const labels::Labels& labels, const std::string& uid,
                     const std::stop_token& stop);
  Result<void> apply_once(const labels::Labels& labels, const std::string& uid,
                          const std::stop_token& stop);

  cluster::Objects& objects_;
  const NodeView& node_;
  const Log& log_;
  std::mutex mutex_;
  std::optional<Applied> applied_;  // guarded by mutex_
  std::string complaint_;           // only on the retrier's thread
  Retrier retrier_;
};

}  // namespace tranche::agent
