// What AGENTS agents follow on the API server of a kubeconfig: each its own Node, its own Pods and
// the map of configurations, over connections of its own. Writes a JSON line each second: how many
// of the selections are followed.
//
//     followers KUBECONFIG AGENTS
//
// Runs until its standard input ends. tests/bench/outage.py runs it.

#include <fmt/format.h>
#include <poll.h>

#include <atomic>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "cluster/client/watch_cache.h"
#include "kube/connect.h"

namespace {

using namespace tranche;

class Agent {
 public:
  Agent(std::unique_ptr<cluster::Objects> objects, const std::string& node, const Log& log)
      : objects_(std::move(objects)) {
    const std::pair<cluster::Kind, cluster::ListOptions> selections[] = {
        {cluster::kNode, {.field_selector = "metadata.name=" + node}},
        {cluster::kPod, {.field_selector = "spec.nodeName=" + node}},
        {cluster::kConfigMap, {.ns = "default", .field_selector = "metadata.name=configs"}}};
    for (const auto& [kind, selection] : selections) {
      caches_.push_back(std::make_unique<cluster::WatchCache>(
          *objects_, cluster::WatchCache::Options{.kind = kind, .selection = selection},
          [](const cluster::CacheChange&) {}, log));
    }
  }
  unsigned followed() const {
    unsigned count = 0;
    for (const auto& cache : caches_) count += cache->synced() && !cache->failure() ? 1 : 0;
    return count;
  }

 private:
  std::unique_ptr<cluster::Objects> objects_;
  std::vector<std::unique_ptr<cluster::WatchCache>> caches_;
};

// A second has passed; false: the input has ended.
bool goes_on() {
  pollfd input{0, POLLIN, 0};
  return poll(&input, 1, 1000) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: followers KUBECONFIG AGENTS\n";
    return 2;
  }
  const Log log(LogLevel::kError);
  std::vector<std::unique_ptr<Agent>> agents;
  for (int i = 0; i < std::stoi(argv[2]); ++i) {
    auto objects = kube::connect({argv[1], ""}, {}, "tranche-bench", log);
    if (!objects) {
      std::cerr << "followers: " << objects.error().message() << '\n';
      return 1;
    }
    agents.push_back(std::make_unique<Agent>(*std::move(objects), fmt::format("node-{}", i), log));
  }
  while (goes_on()) {
    unsigned followed = 0;
    for (const auto& agent : agents) followed += agent->followed();
    std::cout << fmt::format(R"({{"selections":{},"followed":{}}})", agents.size() * 3, followed)
              << std::endl;
  }
  return 0;
}
