// Annotations of ours in a Pod: a name that is none is ignored by every reader, and a value that
// is none is refused when the Pod runs already.

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
// By these a Pod's owner lowers what its containers were promised (docs/limits.md).
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

// Those of shares may end in the container that they are for: ".training".
bool is_known(std::string_view key) {
  return std::ranges::any_of(kKnown, [&](std::string_view name) {
    const bool may_end =
        name == admission::kMemoryAnnotation || name == admission::kComputeAnnotation;
    return key == name ||
           (may_end && key.starts_with(name) && key.substr(name.size()).starts_with('.'));
  });
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
  for (const auto& entry : annotations->node().entries) {
    const std::string_view key = entry.key;
    const auto annotation = annotations->child(key);
    if (!annotation || !key.starts_with(kOurs)) continue;
    const auto& text = entry.value.scalar;
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
