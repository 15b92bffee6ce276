#include "cluster/snapshot/anonymize.h"

#include <utility>

#include "cluster/snapshot/aliases.h"
#include "cluster/snapshot/rename.h"

namespace tranche::cluster {
namespace {

constexpr const char* kServer = "https://api-server";

template <class Objects>
void rename_all(const Renamer& renamer, Objects& objects) {
  for (auto& object : objects) rename(renamer, object);
}

void walk(const Renamer& renamer, Snapshot& snapshot) {
  rename_all(renamer, snapshot.nodes);
  rename_all(renamer, snapshot.pods);
  rename_all(renamer, snapshot.config_maps);
  rename_all(renamer, snapshot.cluster_policies);
  rename_all(renamer, snapshot.tiers);
  rename_all(renamer, snapshot.namespaces);
  rename_all(renamer, snapshot.quotas);
  rename_all(renamer, snapshot.budgets);
  rename_all(renamer, snapshot.slices);
  rename_all(renamer, snapshot.claims);
  rename_all(renamer, snapshot.device_classes);
  rename_all(renamer, snapshot.gpu_nodes);
  rename_all(renamer, snapshot.gaps);
}

}  // namespace

Snapshot anonymize(Snapshot snapshot, std::uint64_t seed) {
  Aliases aliases(seed);
  walk(Renamer(aliases, Renamer::Walk::kLearns), snapshot);
  aliases.number();
  walk(Renamer(aliases, Renamer::Walk::kReplaces), snapshot);
  snapshot.server = kServer;
  return sorted(std::move(snapshot));
}

}  // namespace tranche::cluster
