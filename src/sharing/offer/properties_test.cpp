// Properties of every machine and every configuration, tried on arbitrary ones.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "offer/grant_maker.h"
#include "offer/make_offer.h"
#include "offer/preferred.h"
#include "offer/testing.h"

namespace tranche::offer::properties_test {
namespace {

using namespace testing;  // NOLINT: the words of these tests

template <class T>
T one_of(const std::vector<T>& values) {
  return *rc::gen::elementOf(values);
}

gpu::Machine arbitrary_machine() {
  std::vector<test::GpuBuilder> gpus;
  const int count = *rc::gen::inRange(0, 9);
  for (int index = 0; index < count; ++index) {
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
        gpus.push_back(test::l20(index));
        break;
      case 1:
        gpus.push_back(test::t4(index).lost());
        break;
      case 2:
        gpus.push_back(test::a100_40gb(index));
        break;
      default: {
        test::GpuBuilder gpu = test::a100_40gb(index).mig();
        for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
          gpu.instance(one_of<std::string>({"1g.5gb", "1g.5gb+me", "2g.10gb", "1c.2g.10gb"}));
        }
        gpus.push_back(gpu);
      }
    }
  }
  return test::machine_of(gpus);
}

config::Devices arbitrary_devices() {
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return config::AllDevices{};
    case 1:
      return config::DeviceCount{*rc::gen::inRange(1, 10)};
    default:
      break;
  }
  config::DeviceList list;
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    const int gpu = *rc::gen::inRange(0, 9);
    const int slot = *rc::gen::inRange(0, 7);
    list.items.push_back(one_of<std::string>({std::to_string(gpu), fmt::format("{}:{}", gpu, slot),
                                              test::gpu_uuid(gpu), test::mig_uuid(gpu, slot)}));
  }
  return list;
}

config::Config arbitrary_config() {
  std::vector<config::ReplicatedResource> entries;
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
    entries.push_back(
        entry(one_of<std::string>({"gpu", "mig-1g.5gb", "mig-2g.10gb", "absent", "t4"}),
              *rc::gen::inRange(1, 6), arbitrary_devices(),
              one_of<std::string>({"", "", "gpu.shared", "gpu", "mig-1g.5gb"})));
  }
  config::Config out = *rc::gen::inRange(0, 5) == 0
                           ? mps(entries)
                           : time_slicing(entries, *rc::gen::arbitrary<bool>());
  if (*rc::gen::arbitrary<bool>()) out.gpus = {{"*T4", {"nvidia.com/t4"}}};
  return with_mig(
      one_of<config::MigStrategy>(
          {config::MigStrategy::kNone, config::MigStrategy::kSingle, config::MigStrategy::kMixed}),
      out);
}

RC_GTEST_PROP(OfferProperty, EveryIdOnceAndEveryDeviceInOneResource, ()) {
  const auto offer = make_offer(arbitrary_machine(), arbitrary_config(), {});
  std::set<std::string> all_ids;
  std::set<std::string> all_devices;
  std::set<std::string> all_endpoints;
  for (const ResourceOffer& resource : offer.resources) {
    RC_ASSERT(!resource.tranches.empty());
    RC_ASSERT(all_endpoints.insert(resource.endpoint).second);
    for (const Device& device : resource.devices) {
      RC_ASSERT(all_devices.insert(device.uuid).second);
    }
    for (const Tranche& tranche : resource.tranches) {
      RC_ASSERT(all_ids.insert(tranche.id).second);
      RC_ASSERT(device_uuid_of(tranche.id) == resource.devices.at(tranche.device).uuid);
    }
  }
}

RC_GTEST_PROP(OfferProperty, SameInputSameOfferInAStableOrder, ()) {
  const gpu::Machine machine = arbitrary_machine();
  const config::Config config = arbitrary_config();
  const auto offer = make_offer(machine, config, {});
  const bool same = offer == make_offer(machine, config, {});
  RC_ASSERT(same);
  RC_ASSERT(std::ranges::is_sorted(offer.resources, {}, &ResourceOffer::name));
  for (const ResourceOffer& resource : offer.resources) {
    RC_ASSERT(std::ranges::is_sorted(resource.devices, {}, [](const Device& device) {
      return std::pair(device.gpu_index, slot_of(device));
    }));
    RC_ASSERT(std::ranges::is_sorted(resource.tranches, {}, &Tranche::device));
  }
}

// Health changes only the devices' own state.
RC_GTEST_PROP(OfferProperty, HealthMovesNoTranche, ()) {
  const gpu::Machine machine = arbitrary_machine();
  const config::Config config = arbitrary_config();
  const auto before = make_offer(machine, config, {});
  const auto after = make_offer(machine, config, {{test::gpu_uuid(0), "XID 79"}});
  RC_ASSERT(before.resources.size() == after.resources.size());
  for (std::size_t i = 0; i < before.resources.size(); ++i) {
    RC_ASSERT(before.resources[i].tranches == after.resources[i].tranches);
  }
}

ResourceOffer arbitrary_resource() {
  const int replicas = *rc::gen::inRange(1, 5);
  const bool mig = *rc::gen::arbitrary<bool>();
  const int count = *rc::gen::inRange(1, 6);
  std::vector<test::GpuBuilder> gpus;
  for (int index = 0; index < count; ++index) {
    gpus.push_back(test::a100_40gb(index));
    if (mig) gpus.back().mig({"1g.5gb", "1g.5gb", "1g.5gb"});
  }
  return make_offer(test::machine_of(gpus),
                    with_mig(config::MigStrategy::kSingle, time_slicing({entry("gpu", replicas)})),
                    {})
      .resources.at(0);
}

std::vector<std::string> some_of(const std::vector<std::string>& values) {
  std::vector<std::string> out;
  for (const std::string& value : values) {
    if (*rc::gen::arbitrary<bool>()) out.push_back(value);
  }
  return out;
}

RC_GTEST_PROP(GrantProperty, VisibleDevicesAreThoseOfTheIds, ()) {
  const ResourceOffer offer = arbitrary_resource();
  const std::vector<std::string> wanted = some_of(ids(offer));
  const auto grant = make_grant(offer, {}, wanted, "");
  RC_ASSERT(grant.has_value() == !wanted.empty());
  if (!grant) return;
  std::set<std::string> expected;
  for (const std::string& id : wanted) expected.emplace(device_uuid_of(id));
  std::set<std::string> visible;
  std::string_view list = grant->envs.at("NVIDIA_VISIBLE_DEVICES");
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    RC_ASSERT(visible.emplace(list.substr(0, comma)).second);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  RC_ASSERT(visible == expected);
}

RC_GTEST_PROP(PreferredProperty, ExactSizeFromFreeOnesWithTheRequired, ()) {
  const ResourceOffer offer = arbitrary_resource();
  std::vector<std::string> available = some_of(ids(offer));
  if (available.empty()) available = ids(offer);
  const std::vector<std::string> required = some_of(some_of(available));
  const auto least = std::max(1, static_cast<int>(required.size()));
  const int size = *rc::gen::inRange(least, static_cast<int>(available.size()) + 1);
  const auto policy = one_of<config::AllocationPolicy>(
      {config::AllocationPolicy::kDistributed, config::AllocationPolicy::kPacked});
  const auto preferred = preferred_allocation(offer, nullptr, policy, {available, required, size});
  RC_ASSERT(preferred.has_value());
  const std::set<std::string> chosen(preferred->ids.begin(), preferred->ids.end());
  RC_ASSERT(preferred->ids.size() == static_cast<std::size_t>(size));
  RC_ASSERT(chosen.size() == preferred->ids.size());
  for (const std::string& id : chosen) RC_ASSERT(std::ranges::count(available, id) == 1);
  for (const std::string& id : required) RC_ASSERT(chosen.contains(id));
  RC_ASSERT(!preferred->reason.empty());
}

}  // namespace
}  // namespace tranche::offer::properties_test
