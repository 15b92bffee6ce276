#include "mig/place.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "gpu/mig_tables.h"
#include "mig/occupancy.h"

namespace tranche::mig::place_test {
namespace {

using Devices = std::map<std::string, int>;

const gpu::MigGeometry& geometry_of(std::string_view key) {
  return gpu::find_mig_model(key)->geometry;
}

std::vector<InstanceWish> wishes(const Devices& devices, const gpu::MigGeometry& geometry) {
  const auto instances = instances_of({.enabled = true, .devices = devices}, geometry);
  EXPECT_TRUE(instances) << (instances ? "" : instances.error().message());
  return instances.value_or(std::vector<InstanceWish>());
}

Instance instance(const gpu::MigGeometry& geometry, const std::string& name, int start,
                  std::vector<int> compute = {}) {
  const auto* profile = gpu::match_profile(geometry, name);
  if (compute.empty()) compute = {profile->compute_slices};
  return {.profile_id = profile->id,
          .placement = {.start = start, .size = profile->memory_slices},
          .compute = std::move(compute)};
}

// How many instances of each profile alone fit next to the layout: profile id -> number.
std::map<int, int> beside(const GpuLayout& layout, const gpu::MigGeometry& geometry) {
  Occupancy taken(geometry);
  taken.add(layout);
  std::map<int, int> room;
  for (const auto& profile : geometry.profiles) room[profile.id] = number_beside(taken, profile);
  return room;
}

// --- the scenario -------------------------------------------------------------------------------

TEST(Place, LayoutsOfTheScenario) {
  struct Case {
    const char* name;
    Devices devices;
    bool valid;
    Stranded stranded;
  };
  const Case cases[] = {
      {"7 x 1g.10gb", {{"1g.10gb", 7}}, true, {0, 1}},
      {"3 x 2g.20gb + 1 x 1g.10gb", {{"2g.20gb", 3}, {"1g.10gb", 1}}, true, {0, 1}},
      {"2 x 3g.40gb strands a compute slice", {{"3g.40gb", 2}}, true, {1, 0}},
      {"4g.40gb + 3g.40gb", {{"4g.40gb", 1}, {"3g.40gb", 1}}, true, {0, 0}},
      {"1 x 7g.80gb", {{"7g.80gb", 1}}, true, {0, 0}},
      {"balanced", {{"3g.40gb", 1}, {"2g.20gb", 1}, {"1g.10gb", 2}}, true, {0, 0}},
      {"balanced with 4g", {{"4g.40gb", 1}, {"2g.20gb", 1}, {"1g.10gb", 2}}, false, {}},
      {"2 x 4g.40gb", {{"4g.40gb", 2}}, false, {}},
      {"8 x 1g.10gb", {{"1g.10gb", 8}}, false, {}},
      {"2 x 3g.40gb + 1 x 1g.10gb", {{"3g.40gb", 2}, {"1g.10gb", 1}}, false, {}},
      {"beside the whole", {{"7g.80gb", 1}, {"1g.10gb", 1}}, false, {}},
      {"media twice", {{"1g.10gb+me", 2}}, false, {}},
      {"media once", {{"1g.10gb+me", 1}, {"1g.10gb", 6}}, true, {0, 1}},
      {"an absurd number", {{"1g.10gb", 1'000'000'000}}, false, {}},
      {"nothing", {}, true, {0, 0}},
  };
  const auto& geometry = geometry_of("a100-80gb");
  for (const auto& c : cases) {
    const auto layout = place(wishes(c.devices, geometry), geometry);
    ASSERT_EQ(layout.has_value(), c.valid) << c.name;
    if (!layout) continue;
    EXPECT_TRUE(check(*layout, geometry)) << c.name;
    EXPECT_EQ(devices_of(*layout, geometry), c.devices) << c.name;
    EXPECT_EQ(stranded(*layout, geometry), c.stranded) << c.name;
  }
}

TEST(Place, AProfileThatTheGpuLacksHasNoPlace) {
  const auto& geometry = geometry_of("a100-80gb");
  EXPECT_EQ(place({{.profile_id = 99, .compute = {1}}}, geometry), std::nullopt);
  EXPECT_FALSE(can_place({{.profile_id = 99, .compute = {1}}}, geometry));
}

TEST(Place, ProfilesOfH20AsTheyWerePublished) {
  const auto& h20 = geometry_of("h20-96gb");
  const Devices published[] = {
      {{"1g.12gb", 7}}, {{"2g.24gb", 3}}, {{"3g.47gb", 2}}, {{"4g.47gb", 1}}, {{"7g.94gb", 1}}};
  for (const auto& devices : published) {
    EXPECT_TRUE(place(wishes(devices, h20), h20)) << devices.begin()->first;
  }
  const auto layout = place(wishes({{"3g.47gb", 1}}, h20), h20);
  ASSERT_TRUE(layout);
  EXPECT_EQ(describe(*layout, h20), "3g.48gb");
}

TEST(Place, EnginesAreShared) {
  struct Case {
    const char* name;
    const char* model;
    Devices devices;
    bool valid;
  };
  const Case cases[] = {
      {"jpeg is there once", "a30-24gb", {{"2g.12gb+me", 1}, {"1g.6gb+me", 1}}, false},
      {"one of them", "a30-24gb", {{"2g.12gb+me", 1}, {"1g.6gb", 2}}, true},
      {"all decoders are taken",
       "rtx-pro-6000-96gb",
       {{"1g.24gb+me.all", 1}, {"1g.24gb", 1}},
       false},
      {"without media", "rtx-pro-6000-96gb", {{"1g.24gb+me.all", 1}, {"1g.24gb-me", 3}}, true},
      {"OFA is there once", "rtx-pro-6000-96gb", {{"2g.48gb+me.all", 1}, {"1g.24gb+me", 1}}, false},
      {"graphics", "rtx-pro-6000-96gb", {{"2g.48gb+gfx", 2}}, true},
      {"nobody tells the engines", "h20-96gb", {{"3g.48gb", 2}}, true},
      {"nobody tells those of the whole", "gh200-144gb", {{"2g.36gb", 3}, {"1g.18gb", 1}}, true},
  };
  for (const auto& c : cases) {
    const auto& geometry = geometry_of(c.model);
    EXPECT_EQ(place(wishes(c.devices, geometry), geometry).has_value(), c.valid) << c.name;
  }
}

TEST(Place, OneInstanceLeavesRoomForALargeOne) {
  const auto& geometry = geometry_of("a100-80gb");
  struct Case {
    Devices devices;
    int free_4g;  // number of 4g.40gb that still fit
  };
  for (const auto& c : {Case{{{"1g.10gb", 1}}, 1}, Case{{{"1g.10gb", 3}}, 1},
                        Case{{{"2g.20gb", 1}, {"1g.10gb", 1}}, 1}, Case{{{"3g.40gb", 1}}, 1}}) {
    const auto layout = place(wishes(c.devices, geometry), geometry);
    ASSERT_TRUE(layout);
    EXPECT_EQ(beside(*layout, geometry).at(5), c.free_4g) << describe(*layout, geometry);
  }
}

// --- what is asked ------------------------------------------------------------------------------

TEST(InstancesOf, ComputeInstancesShareAGpuInstance) {
  struct Case {
    const char* name;
    Devices devices;
    std::vector<InstanceWish> instances;
  };
  const Case cases[] = {
      {"three in one", {{"1c.3g.40gb", 3}}, {{9, {1, 1, 1}}}},
      {"four need two", {{"1c.3g.40gb", 4}}, {{9, {1, 1, 1}}, {9, {1}}}},
      {"two sizes", {{"1c.3g.40gb", 1}, {"2c.3g.40gb", 1}}, {{9, {2, 1}}}},
      {"sizes that do not go together", {{"2c.3g.40gb", 2}}, {{9, {2}}, {9, {2}}}},
      {"a whole one beside", {{"3g.40gb", 1}, {"1c.3g.40gb", 2}}, {{9, {3}}, {9, {1, 1}}}},
      {"all slices by name", {{"3c.3g.40gb", 1}}, {{9, {3}}}},
      {"largest first",
       {{"1g.10gb", 1}, {"3g.40gb", 1}, {"2g.20gb", 1}},
       {{9, {3}}, {14, {2}}, {19, {1}}}},
      {"loosely", {{"7g.79gb", 1}}, {{0, {7}}}},
      {"compute instance, loosely", {{"1c.7g.79gb", 2}}, {{0, {1, 1}}}},
      {"none of it", {{"1g.10gb", 0}}, {}},
  };
  const auto& geometry = geometry_of("a100-80gb");
  for (const auto& c : cases) EXPECT_EQ(wishes(c.devices, geometry), c.instances) << c.name;
}

TEST(InstancesOf, AnUnknownProfileIsRefusedWithTheNearest) {
  const auto& geometry = geometry_of("a100-80gb");
  struct Case {
    const char* name;
    Devices devices;
    const char* says;
  };
  const Case cases[] = {
      {"misspelt",
       {{"3g.40g", 1}},
       "'3g.40g' is no MIG profile of this GPU; did you mean \"3g.40gb\"? it has 1g.10gb, "
       "1g.10gb+me, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb"},
      {"of the smaller model", {{"1g.5gb", 1}}, "did you mean"},
      {"a compute instance of 5", {{"5c.7g.80gb", 1}}, "no compute instance has 5 slices"},
      {"a compute instance larger than its GPU instance",
       {{"4c.3g.40gb", 1}},
       "'4c.3g.40gb': 4 compute slices are more than 3g.40gb has"},
      {"negative", {{"1g.10gb", -1}}, "-1 of it cannot be"},
  };
  for (const auto& c : cases) {
    const auto instances = instances_of({.enabled = true, .devices = c.devices}, geometry);
    ASSERT_FALSE(instances) << c.name;
    EXPECT_EQ(instances.error().code, Code::kInvalidArgument) << c.name;
    EXPECT_NE(instances.error().message().find(c.says), std::string::npos)
        << instances.error().message();
  }
  EXPECT_EQ(instances_of({.enabled = false}, geometry), std::vector<InstanceWish>());
}

// The exact name is enough, so profiles of later drivers can be requested.
TEST(InstancesOf, AttributesThatAreNotKnownBelongToTheName) {
  const gpu::MigGeometry later = {
      .compute_slices = 7,
      .memory_slices = 8,
      .profiles = {{.name = "3g.40gb+new", .id = 70, .compute_slices = 3, .memory_slices = 4}}};
  EXPECT_EQ(wishes({{"3g.40gb+new", 1}}, later), (std::vector<InstanceWish>{{70, {3}}}));
  EXPECT_EQ(wishes({{"1c.3g.40gb+new", 2}}, later), (std::vector<InstanceWish>{{70, {1, 1}}}));
}

// --- what stays ---------------------------------------------------------------------------------

TEST(Place, PresentInstancesStayInPlace) {
  const auto& geometry = geometry_of("a100-80gb");
  struct Case {
    const char* name;
    std::vector<Instance> present;
    std::vector<bool> held;
    Devices wish;
    std::vector<Instance> layout;
  };
  const auto at = [&](const char* name, int start, std::vector<int> compute = {}) {
    return instance(geometry, name, start, std::move(compute));
  };
  const Case cases[] = {
      {"in a place that nobody would choose",
       {at("1g.10gb", 2)},
       {},
       {{"1g.10gb", 1}, {"3g.40gb", 1}},
       {at("1g.10gb", 2), at("3g.40gb", 4)}},
      {"who is held, though two others go",
       {at("1g.10gb", 0), at("1g.10gb", 1), at("1g.10gb", 4)},
       {false, false, true},
       {{"4g.40gb", 1}, {"1g.10gb", 1}},
       {at("4g.40gb", 0), at("1g.10gb", 4)}},
      {"one that is held before two that are not",
       {at("2g.20gb", 0), at("2g.20gb", 2), at("3g.40gb", 4)},
       {false, false, true},
       {{"2g.20gb", 1}, {"3g.40gb", 1}},
       {at("2g.20gb", 0), at("3g.40gb", 4)}},
      {"the order of compute instances",
       {at("3g.40gb", 4, {1, 2})},
       {},
       {{"2c.3g.40gb", 1}, {"1c.3g.40gb", 1}},
       {at("3g.40gb", 4, {1, 2})}},
      {"the GPU instance with other compute instances",
       {at("3g.40gb", 4)},
       {},
       {{"1c.3g.40gb", 3}},
       {at("3g.40gb", 4, {1, 1, 1})}},
      {"who is held and gets another compute instance beside, before who stays as it is",
       {at("3g.40gb", 0, {1, 1}), at("3g.40gb", 4, {1})},
       {false, true},
       {{"1c.3g.40gb", 2}},
       {at("3g.40gb", 4, {1, 1})}},
      {"who is held and gets a larger one beside",
       {at("3g.40gb", 0), at("3g.40gb", 4, {1})},
       {false, true},
       {{"2c.3g.40gb", 1}, {"1c.3g.40gb", 1}},
       {at("3g.40gb", 4, {2, 1})}},
      {"who stays as it is, before who gets another compute instance",
       {at("3g.40gb", 0, {1}), at("3g.40gb", 4, {1, 1})},
       {},
       {{"1c.3g.40gb", 2}},
       {at("3g.40gb", 4, {1, 1})}},
      {"nothing, where it is in the way",
       {at("1g.10gb", 0)},
       {true},
       {{"7g.80gb", 1}},
       {at("7g.80gb", 0)}},
  };
  for (const auto& c : cases) {
    const auto layout =
        place(wishes(c.wish, geometry), geometry, {.present = c.present, .held = c.held});
    ASSERT_TRUE(layout) << c.name;
    EXPECT_EQ(layout->instances, c.layout) << c.name << ": " << describe(*layout, geometry);
  }
}

// --- check, room --------------------------------------------------------------------------------

TEST(Check, ReportsTheError) {
  const auto& geometry = geometry_of("a100-80gb");
  const auto at = [&](const char* name, int start) { return instance(geometry, name, start); };
  struct Case {
    const char* name;
    GpuLayout layout;
    const char* says;
  };
  const Case cases[] = {
      {"MIG off", {false, {}}, ""},
      {"empty", {true, {}}, ""},
      {"good", {true, {at("3g.40gb", 0), at("3g.40gb", 4)}}, ""},
      {"MIG off with instances", {false, {at("1g.10gb", 0)}}, "MIG is off"},
      {"unknown profile", {true, {{.profile_id = 99, .placement = {0, 1}}}}, "id 99"},
      {"no such place",
       {true, {at("3g.40gb", 2)}},
       "3g.40gb at memory slice 2: it cannot be there"},
      {"another size", {true, {{.profile_id = 9, .placement = {0, 3}}}}, "it cannot be there"},
      {"overlap", {true, {at("3g.40gb", 0), at("1g.10gb", 2)}}, "another instance is there"},
      {"too much compute",
       {true, {at("4g.40gb", 0), at("1g.20gb", 4), at("1g.20gb", 6), at("7g.80gb", 0)}},
       "exceeded"},
      {"compute instances", {true, {instance(geometry, "2g.20gb", 0, {1, 1, 1})}}, "3 slices of 2"},
  };
  for (const auto& c : cases) {
    const auto result = check(c.layout, geometry);
    EXPECT_EQ(result.has_value(), std::string_view(c.says).empty()) << c.name;
    if (!result) {
      EXPECT_NE(result.error().message().find(c.says), std::string::npos)
          << result.error().message();
    }
  }
}

TEST(Room, BesideALayout) {
  const auto& geometry = geometry_of("a100-80gb");
  const GpuLayout one{.enabled = true, .instances = {instance(geometry, "3g.40gb", 0)}};
  const std::map<int, int> expected = {{0, 0}, {5, 0}, {9, 1}, {14, 1}, {15, 2}, {19, 3}, {20, 1}};
  EXPECT_EQ(beside(one, geometry), expected);
  EXPECT_EQ(stranded(one, geometry), (Stranded{.compute_slices = 1, .memory_slices = 0}));
  EXPECT_EQ(stranded({}, geometry), Stranded());
}

// --- near and full ------------------------------------------------------------------------------

TEST(Nearest, LacksLittle) {
  struct Case {
    Devices wish;
    std::vector<Devices> near;
  };
  const Case cases[] = {
      {{{"4g.40gb", 1}, {"2g.20gb", 1}, {"1g.10gb", 2}},
       {{{"4g.40gb", 1}, {"2g.20gb", 1}, {"1g.10gb", 1}},
        {{"4g.40gb", 1}, {"2g.20gb", 1}, {"1g.20gb", 1}},
        {{"4g.40gb", 1}, {"1g.10gb", 2}, {"1g.20gb", 1}}}},
      {{{"3g.40gb", 2}, {"1g.10gb", 1}},
       {{{"3g.40gb", 2}},
        {{"3g.40gb", 1}, {"2g.20gb", 1}, {"1g.10gb", 2}},
        {{"3g.40gb", 1}, {"1g.10gb", 4}}}},
      {{{"1g.10gb+me", 2}},
       {{{"1g.10gb+me", 1}, {"1g.20gb", 1}}, {{"1g.10gb+me", 1}, {"1g.10gb", 1}}}},
      {{{"1c.3g.40gb", 7}}, {{{"1c.3g.40gb", 6}}}},
      {{{"1g.99gb", 2}}, {}},
  };
  const auto& geometry = geometry_of("a100-80gb");
  for (const auto& c : cases) {
    const auto near = nearest({.enabled = true, .devices = c.wish}, geometry, 3);
    for (std::size_t i = 0; i < c.near.size(); ++i) {
      ASSERT_LT(i, near.size());
      EXPECT_EQ(near[i].devices, c.near[i]) << describe(near[i]);
    }
    EXPECT_EQ(near.empty(), c.near.empty());
  }
}

TEST(FullLayouts, OfA30) {
  const auto& a30 = geometry_of("a30-24gb");
  std::set<std::string> found;
  for (const auto& one : full_layouts(a30)) {
    found.insert(describe(place(one, a30).value(), a30));
  }
  const std::set<std::string> expected = {"4g.24gb",
                                          "2g.12gb x 2",
                                          "2g.12gb, 2g.12gb+me",
                                          "2g.12gb, 1g.6gb x 2",
                                          "2g.12gb, 1g.6gb, 1g.6gb+me",
                                          "2g.12gb+me, 1g.6gb x 2",
                                          "1g.6gb x 4",
                                          "1g.6gb x 3, 1g.6gb+me"};
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(full_layouts({}).empty());
}

}  // namespace
}  // namespace tranche::mig::place_test
