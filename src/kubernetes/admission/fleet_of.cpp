#include "admission/fleet_of.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include "base/quantity.h"
#include "cluster/formats/slice_names.h"

namespace tranche::admission {
namespace {

constexpr std::array<std::string_view, 2> kResources = {"nvidia.com/gpu", "nvidia.com/gpu.shared"};
constexpr int kWhole = 1000;  // permille
// More replicas of a GPU are a mistake.
constexpr int kMostReplicas = 1000;

// 0: not published.
Bytes total_of(const cluster::SliceDevice& device) {
  const auto found = device.attributes.find(std::string(cluster::kTotalMemoryAttribute));
  const auto* mib =
      found == device.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  const bool is_sane = mib != nullptr && *mib > 0 && *mib < (std::int64_t{1} << 40U);
  return is_sane ? Bytes::from_mib(static_cast<std::uint64_t>(*mib)) : Bytes();
}

std::optional<DraModel> model_of(const cluster::SliceDevice& device) {
  const auto product = device.attributes.find("productName");
  const auto memory = device.capacity.find("memory");
  if (!device.shareable || product == device.attributes.end() || memory == device.capacity.end()) {
    return std::nullopt;
  }
  const auto* name = std::get_if<std::string>(&product->second);
  if (name == nullptr || name->empty()) return std::nullopt;
  return DraModel{.product = *name, .memory = {memory->second.value}, .total = total_of(device)};
}

bool offers(const cluster::Node& node, std::string_view resource) {
  const auto amount = parse_quantity(cluster::value_of(node.allocatable, std::string(resource)));
  return amount && *amount > 0;
}

bool is_mig(const cluster::Node& node) {
  return cluster::value_of(node.labels, "nvidia.com/mig.strategy") == "single" ||
         cluster::value_of(node.labels, "nvidia.com/gpu.product").find("-MIG-") !=
             std::string::npos;
}

// The whole GPU if it is not shared, or if the label is missing.
int permille_of(const cluster::Node& node) {
  const auto& text = cluster::value_of(node.labels, "nvidia.com/gpu.replicas");
  int replicas = 1;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), replicas);
  if (read.ec != std::errc() || replicas < 1 || replicas > kMostReplicas) return kWhole;
  return kWhole / replicas;
}

bool is_enforced(const cluster::Node& node, std::string_view resource) {
  const auto name = resource.substr(resource.find('/') + 1);
  const auto& limits =
      cluster::value_of(node.labels, "tranche.dev/" + std::string(name) + ".limits");
  return limits == "strict" || limits == "elastic";
}

}  // namespace

std::vector<DraModel> models_of(const std::vector<cluster::ResourceSlice>& slices,
                                std::string_view driver) {
  std::map<std::string, DraModel> known;
  for (const auto& slice : slices) {
    if (slice.driver != driver) continue;
    for (const auto& device : slice.devices) {
      const auto model = model_of(device);
      if (!model) continue;
      auto& same = known.try_emplace(model->product, *model).first->second;
      same.memory = std::min(same.memory, model->memory);
      same.total = std::min(same.total, model->total);
    }
  }
  std::vector<DraModel> models;
  for (const auto& [product, model] : known) models.push_back(model);
  std::ranges::sort(models, {},
                    [](const DraModel& one) { return std::tuple(one.memory, one.product); });
  return models;
}

bool gives_whole_alone(const std::vector<cluster::ResourceSlice>& slices, std::string_view driver) {
  const auto is_whole = [](const cluster::SliceDevice& device) {
    const auto type = device.attributes.find("type");
    const auto* text =
        type == device.attributes.end() ? nullptr : std::get_if<std::string>(&type->second);
    return text != nullptr && *text == "gpu" && !device.shareable;
  };
  return std::ranges::any_of(slices, [&](const cluster::ResourceSlice& slice) {
    return slice.driver == driver && std::ranges::any_of(slice.devices, is_whole);
  });
}

std::vector<Replica> replicas_of(const std::vector<cluster::Node>& nodes) {
  std::vector<Replica> replicas;
  for (const auto resource : kResources) {
    Replica replica{.resource = std::string(resource), .permille = kWhole, .enforced = true};
    bool is_some_mig = false;
    for (const auto& node : nodes) {
      if (!offers(node, resource)) continue;
      is_some_mig = is_some_mig || is_mig(node);
      replica.permille = std::min(replica.permille, permille_of(node));
      replica.enforced = replica.enforced && is_enforced(node, resource);
    }
    if (!is_some_mig && replica.permille < kWhole) replicas.push_back(std::move(replica));
  }
  return replicas;
}

}  // namespace tranche::admission
