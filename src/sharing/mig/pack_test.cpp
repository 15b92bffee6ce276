#include "mig/pack.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <numeric>
#include <set>

#include "gpu/mig_tables.h"
#include "mig/place.h"

namespace tranche::mig::pack_test {
namespace {

using Devices = std::map<std::string, int>;

const gpu::MigGeometry& geometry_of(std::string_view key) {
  return gpu::find_mig_model(key)->geometry;
}

// The number of GPUs of each layout, by its instances.
std::map<std::string, std::size_t> layouts(const Packing& packing,
                                           const gpu::MigGeometry& geometry) {
  std::map<std::string, std::size_t> all;
  for (const auto& alike : packing.layouts) all[describe(alike.layout, geometry)] += alike.gpus;
  return all;
}

TEST(Pack, UsesFewGpus) {
  struct Case {
    const char* name;
    const char* model;
    Devices devices;
    std::map<std::string, std::size_t> layouts;
    bool fewest = true;
  };
  const Case cases[] = {
      {"the scenario's balanced mixture",
       "a100-80gb",
       {{"3g.40gb", 4}, {"2g.20gb", 4}, {"1g.10gb", 8}},
       {{"3g.40gb, 2g.20gb, 1g.10gb x 2", 4}}},
      {"what one GPU holds", "a100-80gb", {{"3g.40gb", 2}}, {{"3g.40gb x 2", 1}}},
      {"an odd number", "a100-80gb", {{"3g.40gb", 3}}, {{"3g.40gb x 2", 1}, {"3g.40gb", 1}}},
      {"whole GPUs", "h100-80gb", {{"7g.80gb", 3}}, {{"7g.80gb", 3}}},
      {"small ones beside large ones",
       "a100-80gb",
       {{"4g.40gb", 2}, {"1g.10gb", 6}},
       {{"4g.40gb, 1g.10gb x 3", 2}}},
      {"media, one to a GPU", "a30-24gb", {{"1g.6gb+me", 2}}, {{"1g.6gb+me", 2}}},
      {"compute instances",
       "a100-80gb",
       {{"1c.3g.40gb", 9}},
       {{"1c.3g.40gb x 6", 1}, {"1c.3g.40gb x 3", 1}}},
      {"other drivers' names", "h20-96gb", {{"3g.47gb", 2}}, {{"3g.48gb x 2", 1}}},
      {"many", "a100-80gb", {{"1g.10gb", 7000}}, {{"1g.10gb x 7", 1000}}},
      {"nothing", "a100-80gb", {}, {}},
  };
  for (const auto& c : cases) {
    const auto& geometry = geometry_of(c.model);
    const auto packing = pack({.devices = c.devices}, geometry);
    ASSERT_TRUE(packing) << c.name;
    EXPECT_EQ(layouts(*packing, geometry), c.layouts) << c.name;
    EXPECT_EQ(packing->fewest, c.fewest) << c.name;
  }
}

TEST(Pack, AnUnknownNameIsRefused) {
  const auto packing = pack({.devices = {{"3g.20gb", 1}}}, geometry_of("a100-80gb"));
  ASSERT_FALSE(packing);
  EXPECT_EQ(packing.error().code, Code::kInvalidArgument);
}

// The fewest GPUs, by placing one instance after the other in every way.
std::size_t naive(const std::vector<InstanceWish>& wishes, const gpu::MigGeometry& geometry) {
  std::size_t best = wishes.size();
  std::vector<std::vector<InstanceWish>> gpus;
  const std::function<void(std::size_t)> from = [&](std::size_t at) {
    if (gpus.size() >= best) return;
    if (at == wishes.size()) {
      best = gpus.size();
      return;
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      gpus[i].push_back(wishes[at]);
      if (can_place(gpus[i], geometry)) from(at + 1);
      gpus[i].pop_back();
    }
    gpus.push_back({wishes[at]});
    from(at + 1);
    gpus.pop_back();
  };
  from(0);
  return best;
}

RC_GTEST_PROP(PackProperties, AFewInstancesAreOnTheFewestGpus, ()) {
  const auto& model = gpu::mig_models()[*rc::gen::inRange<std::size_t>(0, 14)];
  GpuWish wish;
  for (int count = *rc::gen::inRange(1, 8); count > 0; --count) {
    const auto& profiles = model.geometry.profiles;
    ++wish.devices[profiles[*rc::gen::inRange<std::size_t>(0, profiles.size())].name];
  }
  const auto wishes = *all_instances_of(wish, model.geometry);
  const auto packing = pack(wish, model.geometry);
  RC_ASSERT(packing.has_value());
  RC_ASSERT(packing->fewest);
  RC_ASSERT(packing->gpus() == naive(wishes, model.geometry));
  std::map<std::string, int> held;
  for (const auto& alike : packing->layouts) {
    RC_ASSERT(check(alike.layout, model.geometry).has_value());
    for (const auto& [name, count] : devices_of(alike.layout, model.geometry)) {
      held[name] += count * static_cast<int>(alike.gpus);
    }
  }
  RC_ASSERT(held == wish.devices);
}

}  // namespace
}  // namespace tranche::mig::pack_test
