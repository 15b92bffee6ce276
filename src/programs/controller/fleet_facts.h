#pragma once
// What the cluster's objects tell of its GPUs (fleet/facts.h), kept up to date by watches. Of each
// object little is kept, and of Pods that ask for no GPU only their names.
//
// Thread-safe. The destructor ends the watches.

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/web/collector.h"
#include "controller/worker.h"
#include "fleet/facts.h"

namespace tranche::controller {

class FleetFacts {
 public:
  struct Options {
    std::string cluster{};
    std::string driver{kDefaultDraDriver};
    std::string agents_namespace{};
    std::string agent_selector{};  // empty: agents are not followed
  };

  FleetFacts(const WorkerContext& context, Options options);
  FleetFacts(const FleetFacts&) = delete;
  FleetFacts& operator=(const FleetFacts&) = delete;

  // `use(facts)`, while they do not change. It must be short.
  template <class Use>
  auto with(const Use& use) const {
    const std::scoped_lock lock(mutex_);
    return use(facts_);
  }
  // The ready agent of each node.
  std::vector<AgentPlace> agents() const;
  // Why the facts are not up to date; nullopt: they are.
  std::optional<std::string> trouble() const;
  // Whether each list has been read once.
  bool complete() const;

 private:
  struct Agent {
    AgentPlace place;
    bool ready = false;
  };

  // `read`: the value of an object's text. One that cannot be read stays as it was.
  template <class Map, class Read>
  void take(Map& map, const typename Map::key_type& key, const cluster::CacheChange& change,
            const Read& read);
  void take_node(const cluster::CacheChange& change);
  void take_gpu_node(const cluster::CacheChange& change);
  void take_pod(const cluster::CacheChange& change);
  void take_claim(const cluster::CacheChange& change);
  void take_class(const cluster::CacheChange& change);
  void take_tier(const cluster::CacheChange& change);
  void take_namespace(const cluster::CacheChange& change);
  void take_agent(const cluster::CacheChange& change);
  std::vector<const Watch*> watches() const;

  const Options options_;
  const Log& log_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  fleet::Facts facts_;
  std::map<cluster::ObjectKey, Agent> agents_;
  // Last: their threads use the others.
  Watch nodes_;
  Watch gpu_nodes_;
  Watch pods_;
  Watch claims_;
  Watch classes_;
  Watch tiers_;
  Watch namespaces_;
  std::optional<Watch> agent_pods_;
};

}  // namespace tranche::controller
