// Our annotations in a Pod: every reader ignores an unknown name, and an invalid value
// is refused only when the Pod is already running.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/names.h"
#include "config/limits.h"
#include "explain/lint/pod.h"
#include "values/limits.h"

namespace tranche::lint {
namespace {

constexpr std::string_view kOurs = "tranche.dev/";
// With these, a Pod's owner lowers its containers' promised limits (docs/limits.md).
constexpr std::string_view kMemory = "tranche.dev/memory";
constexpr std::string_view kCompute = "tranche.dev/compute";
constexpr std::string_view kClass = "tranche.dev/class";

constexpr std::array kKnown = {kMemory,
                               kCompute,
                               kClass,
                               admission::kMemoryAnnotation,
                               admission::kComputeAnnotation,
                               admission::kTogetherAnnotation,
                               admission::kRecordAnnotation};

// Annotations of shares may end in their container: ".training".
bool is_known(std::string_view key) {
  return std::ranges::any_of(kKnown, [&](std::string_view name) {
    const bool may_end =
        name == admission::kMemoryAnnotation || name == admission::kComputeAnnotation;
    return key == name ||
           (may_end && key.starts_with(name) && key.substr(name.size()).starts_with('.'));
  });
}

const yaml::Node* find(const yaml::Node* node, std::string_view key) {
  return node == nullptr ? nullptr : node->find(key);
}

// What the containers of a Pod request.
struct Asked {
  bool gpus = false;     // nvidia.com/gpu, whole or in parts, or a claim made from it
  bool devices = false;  // GPUs, another resource of NVIDIA's, or any claim
  bool any_container = false;
};

Asked asked_by(const yaml::Node& pod) {
  const auto* spec = pod.find("spec");
  const auto* claims = find(spec, "resourceClaims");
  Asked asked{.devices = claims != nullptr && !claims->items.empty()};
  for (const auto* list : {find(spec, "initContainers"), find(spec, "containers")}) {
    if (list == nullptr) continue;
    asked.any_container = asked.any_container || !list->items.empty();
    for (const auto& container : list->items) {
      const auto* limits = find(container.find("resources"), "limits");
      if (limits == nullptr) continue;
      asked.gpus = asked.gpus || limits->find(admission::kGpuResource) != nullptr;
      asked.devices = asked.devices || std::ranges::any_of(limits->entries, [](const auto& one) {
                        return one.key.starts_with("nvidia.com/");
                      });
    }
  }
  const auto* annotations = find(pod.find("metadata"), "annotations");
  asked.gpus = asked.gpus || find(annotations, admission::kRecordAnnotation) != nullptr;
  return asked;
}

void check_use(const Place& annotation, std::string_view key, const Asked& asked) {
  const bool is_of_share = key == admission::kMemoryAnnotation ||
                           key == admission::kComputeAnnotation ||
                           key == admission::kTogetherAnnotation;
  const bool is_of_limit = key == kMemory || key == kCompute || key == kClass;
  if (is_of_share && !asked.gpus) {
    annotation.doubt(
        fmt::format("no container asks for {}, so this has no effect", admission::kGpuResource),
        fmt::format("write {}: 1 into the limits of one, or remove it", admission::kGpuResource));
  } else if (is_of_limit && !asked.devices) {
    annotation.doubt("no container asks for a GPU, so this has no effect",
                     "ask for one in the limits of a container, or remove it");
  }
}

template <class T>
void check_value(const Place& annotation, const Result<T>& value) {
  if (!value) annotation.error(value.error().what, value.error().hint);
}

}  // namespace

void check_pod_annotations(const Place& pod) {
  const auto metadata = pod.map("metadata");
  const auto annotations = metadata ? metadata->map("annotations") : std::nullopt;
  if (!annotations) return;
  const auto asked = asked_by(pod.node());
  for (const auto& entry : annotations->node().entries) {
    const std::string_view key = entry.key;
    const auto annotation = annotations->child(key);
    if (!annotation || !key.starts_with(kOurs)) continue;
    const auto& text = entry.value.scalar;
    if (asked.any_container) check_use(*annotation, key, asked);
    if (!is_known(key)) {
      annotation->doubt(fmt::format("no program reads the annotation {}", shown(key)),
                        did_you_mean(key, {kKnown.begin(), kKnown.end()}, "remove it"));
    } else if (key == kMemory) {
      check_value(*annotation, config::parse_memory_setting(text));
    } else if (key == kCompute) {
      check_value(*annotation, config::parse_compute_setting(text));
    } else if (key == kClass && !priority_of(text)) {
      annotation->error(fmt::format("'{}' is no class", shown(text)),
                        "write latency-critical, normal or best-effort");
    }
  }
}

}  // namespace tranche::lint
