#pragma once
// Where feature labels go when it is no file: an object of the API server. Used from the agent's
// loop; what is written is written on a thread of its own, until it succeeds.

#include <mutex>
#include <optional>
#include <string>

#include "agent/labels/node_feature_writer.h"
#include "agent/node/node_view.h"
#include "base/retrier.h"
#include "cluster/objects.h"
#include "cluster/watch_cache.h"
#include "labels/labels.h"

namespace tranche::agent {

class LabelSink {
 public:
  virtual ~LabelSink() = default;
  // Makes the object hold these and no others of ours; nothing is sent when it does already. To be
  // called again when the cluster changed: what others changed is put back.
  virtual void write(const labels::Labels& labels) = 0;
  // For people: "NodeFeature x/y", "Node z".
  virtual std::string place() const = 0;
};

// A NodeFeature object: node feature discovery's master puts the labels on the Node.
class NodeFeatureLabels final : public LabelSink {
 public:
  // The references outlive it; `changed` is notified when the object changes.
  NodeFeatureLabels(cluster::Objects& objects, NodeFeatureWriter::Options options,
                    process::ChangeNotifier& changed, const Log& log, Backoff backoff = {});

  void write(const labels::Labels& labels) override;
  std::string place() const override { return writer_.place(); }

 private:
  NodeFeatureWriter writer_;
  const Log& log_;
  Retrier retrier_;
  cluster::WatchCache cache_;
};

// Labels on the Node itself, by server-side apply: where node feature discovery is not installed.
// Only labels that are ours: one that someone else set to another value is left alone and reported;
// one that we set and no longer want is taken away.
class NodeLabels final : public LabelSink {
 public:
  // The references outlive it.
  NodeLabels(cluster::Objects& objects, const NodeView& node, const Log& log, Backoff backoff = {});

  void write(const labels::Labels& labels) override;
  std::string place() const override { return "Node " + node_.name(); }

 private:
  // What was asked for and what came of it.
  struct Applied {
    labels::Labels wanted;
    labels::Labels written;  // wanted, less what others own
    std::string uid;         // of which Node
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
  std::string complaint_;           // of the retrier's thread
  Retrier retrier_;
};

}  // namespace tranche::agent
