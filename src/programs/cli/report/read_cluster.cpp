#include "cli/report/read_cluster.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/printable.h"
#include "cluster/snapshot/parts.h"
#include "fleet/read_facts.h"

namespace tranche::cli {
namespace {

using cluster::Object;

class Reader {
 public:
  Reader(cluster::Objects& objects, const cluster::Call& call) : objects_(objects), call_(call) {}

  Result<ClusterFacts> read();

 private:
  // `take(object)`: an error if it cannot be read.
  template <class Take>
  void list(const cluster::Kind& kind, const Take& take);
  template <class Key, class Value, class Read>
  Result<void> put(std::map<Key, Value>& map, const Key& key, const Read& read,
                   const Object& object);
  Result<void> put_pod(const Object& object);
  Result<void> put_class(const Object& object);

  cluster::Objects& objects_;
  const cluster::Call& call_;
  ClusterFacts made_;
  std::optional<Error> first_;  // of the lists that could not be read
  bool any_ = false;
};

bool is_away(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kTimeout;
}

template <class Take>
void Reader::list(const cluster::Kind& kind, const Take& take) {
  // Each of the others would wait as long.
  if (first_ && is_away(*first_) && !any_) return;
  const auto take_page = [&](std::vector<Object> page, bool) -> Result<void> {
    for (const auto& object : page) {
      const auto taken = take(object);
      if (taken) continue;
      made_.gaps.push_back(printable(fmt::format("{} {} could not be read: {}", kind.resource(),
                                                 object.key.to_string(), taken.error().message())));
    }
    return {};
  };
  const auto listed = objects_.list_pages(kind, {}, take_page, call_);
  if (listed || listed.error().code == Code::kNotFound) {
    any_ = any_ || listed.has_value();
    return;
  }
  if (!first_) first_ = listed.error();
  made_.gaps.push_back(printable(
      fmt::format("{} could not be read: {}", kind.resource(), listed.error().message())));
}

template <class Key, class Value, class Read>
Result<void> Reader::put(std::map<Key, Value>& map, const Key& key, const Read& read,
                         const Object& object) {
  ASSIGN_OR_RETURN(auto value, read(object.json));
  map.insert_or_assign(key, std::move(value));
  return {};
}

Result<void> Reader::put_pod(const Object& object) {
  const auto kept = fleet::kept_of_pod(object.json);
  if (kept.empty()) return {};
  ASSIGN_OR_RETURN(auto pod, fleet::read_pod(kept));
  if (pod) made_.facts.pods.insert_or_assign(object.key, *std::move(pod));
  return {};
}

Result<void> Reader::put_class(const Object& object) {
  ASSIGN_OR_RETURN(const auto mechanism, fleet::read_class(object.json, made_.facts.driver));
  if (mechanism) made_.facts.classes.insert_or_assign(object.key.name, *mechanism);
  return {};
}

Result<ClusterFacts> Reader::read() {
  auto& facts = made_.facts;
  list(cluster::kNode, [&](const Object& object) {
    return put(facts.nodes, object.key.name, fleet::read_node, object);
  });
  list(cluster::kGpuNode, [&](const Object& object) {
    return put(facts.gpu_nodes, object.key.name, cluster::parse_gpu_node, object);
  });
  list(cluster::kPod, [&](const Object& object) { return put_pod(object); });
  list(cluster::kResourceClaim, [&](const Object& object) {
    return put(facts.claims, object.key, fleet::read_claim, object);
  });
  list(cluster::kDeviceClass, [&](const Object& object) { return put_class(object); });
  list(cluster::kGpuTier, [&](const Object& object) {
    return put(facts.tiers, object.key.name, cluster::parse_gpu_tier, object);
  });
  list(cluster::kNamespace, [&](const Object& object) {
    const auto labels = [](const std::string& text) -> Result<cluster::StringMap> {
      ASSIGN_OR_RETURN(auto ns, cluster::parse_namespace(text));
      return std::move(ns.labels);
    };
    return put(facts.namespaces, object.key.name, labels, object);
  });
  if (!any_ && first_) return std::unexpected(*std::move(first_));
  return std::move(made_);
}

}  // namespace

Result<ClusterFacts> read_cluster(cluster::Objects& objects, const cluster::Call& call) {
  return Reader(objects, call).read();
}

}  // namespace tranche::cli
