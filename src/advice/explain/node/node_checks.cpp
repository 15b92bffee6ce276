#include "explain/node/node_checks.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tranche::explain {
namespace {

constexpr auto kChecks = std::to_array<NodeCheck>({
#define CHECK(id, source, what, fix) {"TRN-" #id, source, what, fix},
#include "explain/node/node_checks.def"
#undef CHECK
});

constexpr const NodeCheck* by_id(std::string_view id) {
  for (const auto& check : kChecks) {
    if (check.id == id) return &check;
  }
  return nullptr;
}

#define CHECK(id, source, what, fix) constexpr const NodeCheck* k##id = by_id("TRN-" #id);
#include "explain/node/node_checks.def"
#undef CHECK

class Examining {
 public:
  explicit Examining(const NodeFacts& facts) : facts_(facts) {}

  std::vector<Finding> made() {
    look_at_driver();
    look_at_agent();
    look_at_kubelet();
    if (facts_.arbiter) look_at_arbiter(*facts_.arbiter);
    if (facts_.metrics) tell(kN040, *facts_.metrics);
    for (const auto& source : facts_.sources) {
      const auto* const check = check_of_source(source.name);
      if (!source.works && check != nullptr) add(check, "", "");
    }
    std::ranges::stable_sort(found_, {}, [](const auto& one) { return one.check->id; });
    return std::move(found_);
  }

 private:
  void add(const NodeCheck* check, std::string where, std::string detail) {
    found_.push_back({check, std::move(where), std::move(detail)});
  }
  // True: it does not work.
  bool tell(const NodeCheck* check, const Tried& tried) {
    if (tried.error) add(check, tried.where, tried.error->what);
    return tried.error.has_value();
  }

  void look_at_driver() {
    if (tell(kN001, facts_.driver)) return;
    if (facts_.gpus.empty()) add(kN002, facts_.driver.where, "");
    for (const auto& gpu : facts_.gpus) {
      if (!gpu.trouble.empty()) add(kN003, gpu.uuid, gpu.trouble);
    }
  }
  void look_at_agent() {
    if (!tell(kN010, facts_.agent) && !facts_.agent_is_ready) {
      add(kN011, facts_.agent.where, facts_.agent_text);
    }
    tell(kN012, facts_.state);
  }
  void look_at_kubelet() {
    tell(kN020, facts_.device_plugins);
    tell(kN021, facts_.pod_resources);
  }
  void look_at_arbiter(const ArbiterFacts& arbiter) {
    if (tell(kN030, arbiter.alive) || tell(kN031, arbiter.status)) return;
    if (!arbiter.driver_failure.empty()) add(kN032, arbiter.status.where, arbiter.driver_failure);
    for (const auto& tenant : arbiter.refused) add(kN033, arbiter.status.where, tenant);
  }

  const NodeFacts& facts_;
  std::vector<Finding> found_;
};

}  // namespace

std::span<const NodeCheck> node_checks() { return kChecks; }

const NodeCheck* check_of_source(std::string_view source) {
  const auto found = std::ranges::find(kChecks, source, &NodeCheck::source);
  return source.empty() || found == kChecks.end() ? nullptr : &*found;
}

std::vector<Finding> examine(const NodeFacts& facts) { return Examining(facts).made(); }

}  // namespace tranche::explain
