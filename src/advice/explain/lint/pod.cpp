#include "explain/lint/pod.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>

#include "admission/names.h"
#include "admission/pod_parts.h"
#include "admission/rewrite.h"
#include "admission/template_name.h"
#include "base/json_value.h"
#include "base/yaml_write.h"

namespace tranche::lint {
namespace {

struct PodKind {
  std::string_view version;
  std::string_view kind;
  bool is_pod = false;
  bool is_cron = false;
};

constexpr std::array kPodKinds = {
    PodKind{"v1", "Pod", true},        PodKind{"v1", "ReplicationController"},
    PodKind{"apps/v1", "Deployment"},  PodKind{"apps/v1", "ReplicaSet"},
    PodKind{"apps/v1", "StatefulSet"}, PodKind{"apps/v1", "DaemonSet"},
    PodKind{"batch/v1", "Job"},        PodKind{"batch/v1", "CronJob", false, true},
};

const PodKind* kind_of(const Place& object) {
  const auto version = object.text("apiVersion");
  const auto kind = object.text("kind");
  const auto* const found = std::ranges::find_if(
      kPodKinds, [&](const PodKind& one) { return one.version == version && one.kind == kind; });
  return found == kPodKinds.end() ? nullptr : &*found;
}

// The Pod, or a workload's Pod template.
std::optional<Place> pod_of(const Place& object) {
  const auto& kind = *kind_of(object);
  if (kind.is_pod) return object;
  auto spec = object.map("spec");
  if (kind.is_cron && spec) {
    spec = spec->map("jobTemplate");
    if (spec) spec = spec->map("spec");
  }
  return spec ? spec->map("template") : std::nullopt;
}

// Errors of form do not depend on the fleet.
admission::Fleet some_fleet() {
  return {.dra_models = {{"GPU", Bytes::from_mib(std::uint64_t{1} << 20U)}}, .replicas = {}};
}

// Whether one container requests whole GPUs and another a part of one. With annotations one GPU
// counts as a share by bytes.
bool is_mixed(json::View object) {
  const auto pod = admission::read_pod(object);
  if (!pod) return false;
  for (const auto& [key, value] : pod->annotation) {
    if (key.starts_with(admission::kMemoryAnnotation)) return false;
  }
  bool whole = false;
  bool part = false;
  for (const auto& container : pod->containers) {
    const auto ask = admission::read_ask(container.name, container.resources);
    if (!ask || !ask->amount) continue;
    whole = whole || ask->amount->whole > 0;
    part = part || ask->amount->is_fraction();
  }
  return whole && part;
}

}  // namespace

bool holds_pod(const Place& object) { return kind_of(object) != nullptr; }

void check_fractions(const Place& object, const Surroundings& around) {
  const auto text = yaml::to_json(object.node()).text();
  const auto view = json::parse(text);
  if (!view) {
    object.error("the object is nested too deeply", "write fewer levels");
    return;
  }
  const bool is_known = around.fleet && !around.fleet->dra_models.empty();
  const auto rewritten = admission::rewrite(*view, is_known ? *around.fleet : some_fleet(),
                                            {.claim = {.driver = around.driver}});
  if (!rewritten) {
    object.error(rewritten.error().what, rewritten.error().hint);
    return;
  }
  for (const auto& warning : rewritten->warnings) object.doubt(warning, "");
  if (is_mixed(*view)) {
    object.doubt("containers of one Pod ask for whole GPUs and for fractions",
                 "write fractions alone, or two Pods: policies may refuse the mixture");
  }
  for (const auto& one : rewritten->templates) {
    const auto shares = admission::parse_template_name(one.name);
    std::vector<std::string> texts;
    for (const auto& share : shares.value_or(std::vector<admission::Share>())) {
      texts.push_back(admission::describe(share));
    }
    object.note(
        fmt::format("asks {}: the admission webhook of tranche controller makes a claim of "
                    "it, from ResourceClaimTemplate {}",
                    fmt::join(texts, ", and "), one.name),
        around.fleet && !is_known
            ? "no node of the cluster shares GPUs by claims now: the webhook takes replicas "
              "of a device plugin, or refuses the object"
            : "without the webhook, Kubernetes refuses the object");
  }
}

void check_pod(const Place& object, const Surroundings& around) {
  const auto pod = pod_of(object);
  if (!pod) return;
  check_pod_annotations(*pod);
  const auto spec = pod->map("spec");
  if (!spec) return;
  check_pod_claims(*spec);
  const auto before = object.report().errors();
  check_pod_resources(*spec, around);
  // The webhook would report the same again.
  if (object.report().errors() == before) check_fractions(object, around);
}

}  // namespace tranche::lint
