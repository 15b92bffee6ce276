// A ConfigMap's pools of MIG layouts, and a Node's annotation about what a pool did: what is read
// can be planned with, and a mark stays the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cluster/formats/mig_change.h"
#include "mig/pool.h"
#include "mig/pool_plan.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

cluster::Node node(std::string_view annotation) {
  cluster::Node node{.name = "a", .conditions = {{"Ready", "True", "", ""}}};
  node.labels[cluster::kMigConfigLabel] = "new";
  node.annotations[mig::kMigPoolAnnotation] = annotation;
  return node;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto mark = mig::decode_pool_mark(text)) {
    const auto again = mig::decode_pool_mark(mig::encode(*mark));
    require(again && again->label == mark->label && again->before == mark->before);
  }
  mig::Pool pool{.name = "p", .layout = "new"};
  require(mig::plan_pool(pool, {node(text)}, {}).status.nodes == 1);
  if (const auto pools = mig::parse_pools(text, "fuzz")) {
    for (const auto& one : *pools) {
      require(!one.name.empty() && !one.layout.empty() && !one.node_selector.empty());
      require(mig::allowed_away(one.max_unavailable, 8) >= 1);
      require(mig::plan_pool(one, {node("")}, {}).writes.size() <= 1);
    }
  } else {
    require(!pools.error().what.empty());
  }
  return 0;
}
