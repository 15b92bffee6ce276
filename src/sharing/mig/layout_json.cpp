#include "mig/layout_json.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tranche::mig {
namespace {

constexpr std::size_t kMostGpus = 64;
constexpr std::size_t kMostInstances = 16;  // of a GPU, and of compute instances in one
constexpr std::int64_t kMostSlices = 64;
constexpr std::int64_t kMostProfile = 1023;
constexpr std::size_t kLongestUuid = 128;

json::Value to_json(const Instance& instance) {
  return {{"profile", instance.profile_id},
          {"start", instance.placement.start},
          {"size", instance.placement.size},
          {"compute", json::Value(instance.compute)}};
}

json::Value to_json(const GpuLayout& layout) {
  json::Value instances = json::Value::array();
  for (const auto& instance : layout.instances) instances.push_back(to_json(instance));
  json::Value value = {{"enabled", layout.enabled}, {"instances", std::move(instances)}};
  if (layout.waits) value["waits"] = true;
  return value;
}

std::vector<int> read_compute(const json::Fields& fields) {
  fields.require({"compute"});
  const auto list = fields.view().find("compute").value_or(json::View());
  std::vector<int> compute;
  for (const auto& one : list.elements()) {
    const auto slices = one.as_int();
    if (!slices || *slices < 1 || *slices > kMostSlices || compute.size() == kMostInstances) {
      fields.refuse("compute", "are no slices of compute instances");
      return {};
    }
    compute.push_back(static_cast<int>(*slices));
  }
  if (list.kind() != json::Kind::kArray) fields.refuse("compute", "is no list");
  return compute;
}

Instance read_instance(const json::Fields& fields) {
  return {.profile_id = static_cast<int>(fields.need_number("profile", 0, kMostProfile)),
          .placement = {.start = static_cast<int>(fields.need_number("start", 0, kMostSlices)),
                        .size = static_cast<int>(fields.need_number("size", 1, kMostSlices))},
          .compute = read_compute(fields)};
}

GpuLayout read_gpu(const json::Fields& fields) {
  // Earlier releases did not write it.
  GpuLayout layout{.enabled = fields.need<bool>("enabled"),
                   .instances = {},
                   .waits = fields.need_or("waits", false)};
  const auto instances = fields.need_list("instances");
  if (instances.size() > kMostInstances) fields.refuse("instances", "are too many");
  if (!layout.enabled && !instances.empty()) {
    fields.refuse("instances", "are there without MIG mode");
  }
  for (const auto& one : instances) {
    layout.instances.push_back(read_instance(one));
    if (layout.instances.size() == kMostInstances) break;
  }
  return layout;
}

}  // namespace

bool is_layout_word(std::string_view text, std::size_t longest) {
  return text.size() <= longest &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

json::Value to_json(const Layout& layout) {
  json::Value gpus = json::Value::object();
  for (const auto& [gpu, one] : layout) gpus[gpu.value] = to_json(one);
  return gpus;
}

Layout read_layout(const json::Fields& journal, std::string_view key, std::optional<Error>& error) {
  const auto gpus = journal.need_object(key);
  const auto members = gpus.view().members();
  if (members.size() > kMostGpus) {
    journal.refuse(key, "has too many GPUs");
    return {};
  }
  Layout layout;
  for (const auto& [gpu, value, begin, end] : members) {
    if (gpu.empty() || !is_layout_word(gpu, kLongestUuid))
      journal.refuse(key, "has a GPU without a UUID");
    const json::Fields fields(value, gpus.path_of(gpu), error);
    if (value.kind() != json::Kind::kObject) fields.refuse(fields.path_of("") + " is no object");
    layout.insert_or_assign(gpu::GpuUuid{gpu}, read_gpu(fields));
  }
  return layout;
}

}  // namespace tranche::mig
