#pragma once
// This agent's own Node from the API server, kept up to date. Thread-safe.

#include <chrono>
#include <optional>
#include <string>

#include "base/log.h"
#include "cluster/client/watch_cache.h"
#include "cluster/node.h"
#include "process/change_notifier.h"

namespace tranche::agent {

// At a start, time for the API server to answer before anything is reported or done about it.
inline constexpr std::chrono::seconds kPatience{5};

class NodeView {
 public:
  // `changed` is notified after every change.
  NodeView(cluster::Objects& objects, std::string name, process::ChangeNotifier& changed,
           const Log& log, Backoff backoff = {});

  const std::string& name() const { return name_; }
  // nullopt: the Node does not exist, or has not been read yet.
  std::optional<cluster::Node> node() const;
  // As node(), with an error instead of nullopt: kUnavailable.
  Result<cluster::Node> known() const;
  // True once the Node, or its absence, is known.
  bool synced() const { return cache_.synced(); }
  // Why the API server does not answer now; nullopt: it does.
  std::optional<Error> failure() const { return cache_.failure(); }

 private:
  std::string name_;
  cluster::WatchCache cache_;
};

}  // namespace tranche::agent
