#include "cli/lint/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "admission/fleet_of.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "cluster/client/list_of.h"
#include "dra/claim_config.h"
#include "dra/pool.h"
#include "gpu/mig_tables.h"

namespace tranche::cli {
namespace {

using lint::AttributeKind;

// Slices of a node with one GPU of each kind, so that all names occur.
std::vector<cluster::ResourceSlice> example_slices(const std::string& driver) {
  gpu::Machine machine;
  machine.driver_version = "570.158.01";
  machine.cuda_driver_version = 12080;
  gpu::Gpu whole{.index = 0, .uuid = {"GPU-0"}, .name = "NVIDIA A100-SXM4-80GB", .minor = 0};
  whole.brand = "Nvidia";
  whole.addressing_mode = "HMM";
  whole.memory = Bytes::from_mib(81920);
  whole.compute_capability = {8, 0};
  whole.numa_node = 0;
  auto cut = whole;
  cut.index = cut.minor = 1;
  cut.uuid = {"GPU-1"};
  cut.mig_mode = gpu::MigMode::kEnabled;
  cut.mig_geometry = gpu::find_mig_model("a100-80gb")->geometry;
  for (auto& profile : cut.mig_geometry.profiles) {
    if (!profile.attributes) profile.attributes = gpu::MigAttributes{};
  }
  const dra::PoolFacts facts{.shares = true,
                             .partitionable = {cut.uuid},
                             .pcie_roots = {{whole.pci, "pci0000:00"}},
                             .islands = {{whole.uuid, "island-0"}},
                             .taints = {}};
  machine.gpus = {std::move(whole), std::move(cut)};
  return dra::make_slices(dra::make_pool(machine, facts), {.driver = driver, .node = "example"}, 1);
}

// NVIDIA's driver has them, and ours does not.
void add_nvidias(lint::DeviceNames& names) {
  const std::string driver(kDefaultDraDriver);
  for (const auto* text : {"deviceID", "vendorID"}) {
    names.add(driver, text, AttributeKind::kText);
  }
  for (const auto* number :
       {"gpuModuleID", "partition1", "partition2", "partition4", "partition8"}) {
    names.add(driver, number, AttributeKind::kNumber);
  }
}

// Other drivers' slices may have content unknown to our reader; those are left out.
Result<std::vector<cluster::ResourceSlice>> slices_of(cluster::Objects& objects,
                                                      std::size_t& unread) {
  std::vector<cluster::ResourceSlice> slices;
  const auto take = [&](const std::vector<cluster::Object>& page, bool first) -> Result<void> {
    if (first) {
      slices.clear();
      unread = 0;
    }
    for (const auto& item : page) {
      auto slice = cluster::parse_resource_slice(item.json);
      if (slice) {
        slices.push_back(*std::move(slice));
      } else {
        ++unread;
      }
    }
    return {};
  };
  TRY(objects.list_pages(cluster::kResourceSlice, {}, take));
  return slices;
}

// Adds the DeviceClasses' names and extended resources.
Result<void> add_classes(cluster::Objects& objects, lint::Surroundings& around) {
  ASSIGN_OR_RETURN(const auto classes, objects.list(cluster::kDeviceClass, {}));
  around.classes.emplace();
  for (const auto& item : classes.items) {
    around.classes->insert(item.key.name);
    constexpr auto kAny = std::numeric_limits<std::int64_t>::max();
    around.offered->emplace("deviceclass.resource.kubernetes.io/" + item.key.name, kAny);
    const auto view = json::parse(item.json);
    if (!view) continue;
    const auto resource = view->at({"spec", "extendedResourceName"});
    const auto name = resource ? resource->as_string() : std::nullopt;
    if (name) around.offered->insert_or_assign(*name, kAny);
  }
  return {};
}

}  // namespace

lint::Surroundings published_surroundings(std::string driver) {
  auto slices = example_slices(std::string(kDefaultDraDriver));
  if (driver != kDefaultDraDriver)
    std::ranges::move(example_slices(driver), std::back_inserter(slices));
  lint::Surroundings around{.names = lint::DeviceNames::of(slices), .driver = std::move(driver)};
  add_nvidias(around.names);
  around.check_parameters = [](std::string_view json) -> Result<void> {
    TRY(dra::parse_settings(json));
    return {};
  };
  return around;
}

Result<std::string> ask_cluster(cluster::Objects& objects, lint::Surroundings& around) {
  ASSIGN_OR_RETURN(const auto nodes,
                   cluster::list_of(objects, cluster::kNode, {}, cluster::parse_node));
  around.offered = lint::offered_by(nodes);
  std::size_t unread = 0;
  const auto slices = slices_of(objects, unread);
  if (!slices && slices.error().code == Code::kNotFound) {
    return "the cluster serves no resource.k8s.io/v1: names of devices are compared with those "
           "that "
           "this release publishes";
  }
  if (!slices && slices.error().code == Code::kUnsupported) {  // an early snapshot
    return slices.error().what +
           "; names of devices are compared with those that this release publishes";
  }
  if (!slices) return std::unexpected(slices.error());
  TRY(add_classes(objects, around));
  if (slices->empty()) {
    return "the cluster has no ResourceSlices: names of devices are compared with those that this "
           "release publishes";
  }
  around.names = lint::DeviceNames::of(*slices);
  around.fleet = {.dra_models = admission::models_of(*slices, around.driver), .replicas = {}};
  around.names_are_the_clusters = unread == 0;
  if (unread == 0) return std::string();
  return fmt::format(
      "{} ResourceSlices of the cluster could not be read: a name that no other has "
      "is a warning",
      unread);
}

}  // namespace tranche::cli
