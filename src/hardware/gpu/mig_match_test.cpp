#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "gpu/mig_profile.h"
#include "gpu/mig_tables.h"

namespace tranche::gpu::mig_match_test {
namespace {

const MigGeometry& geometry_of(std::string_view key) { return find_mig_model(key)->geometry; }

// "": none.
std::string matched(const MigGeometry& geometry, std::string_view name) {
  const auto* profile = match_profile(geometry, name);
  return profile == nullptr ? "" : profile->name;
}

TEST(MigProfile, AProfileIsFoundById) {
  const auto& a100 = geometry_of("a100-80gb");
  ASSERT_NE(a100.find(14), nullptr);
  EXPECT_EQ(a100.find(14)->name, "2g.20gb");
  EXPECT_EQ(a100.find(99), nullptr);
}

TEST(MigProfile, NamesAreMatchedLoosely) {
  struct Case {
    const char* name;
    const char* model;
    const char* wish;
    const char* profile;
  };
  const Case cases[] = {
      {"the very name", "a100-80gb", "3g.40gb", "3g.40gb"},
      {"H20 as it was published", "h20-96gb", "3g.47gb", "3g.48gb"},
      {"H20 as it was published, whole", "h20-96gb", "7g.94gb", "7g.96gb"},
      {"an early driver", "a100-80gb", "7g.79gb", "7g.80gb"},
      {"GB200 of another branch", "gb200-186gb", "1g.24gb", "1g.23gb"},
      {"GB200 of another branch, with media", "gb200-186gb", "1g.24gb+me", "1g.23gb+me"},
      {"GB200 board", "gb200-186gb", "7g.189gb", "7g.186gb"},
      {"GB300 of driver 61x", "gb300-278gb", "1g.31gb", "1g.35gb"},
      {"GB300 of driver 61x, with media", "gb300-278gb", "1g.31gb+me", "1g.35gb+me"},
      {"GB300 of driver 61x, whole", "gb300-278gb", "7g.251gb", "7g.278gb"},
      {"a name that differs by more", "h200-141gb", "1g.20gb", ""},
      {"another profile's other name", "h200-141gb", "1g.31gb", ""},
      {"half the memory", "a100-80gb", "1g.5gb", ""},
      {"the smaller model's name of more", "a100-80gb", "3g.20gb", ""},
      {"other slices", "a100-80gb", "5g.40gb", ""},
      {"the exact name wins", "a100-40gb", "1g.10gb", "1g.10gb"},
      {"media is not plain", "a100-80gb", "1g.10gb+me", "1g.10gb+me"},
      {"media of a profile without", "a100-80gb", "3g.40gb+me", ""},
      {"all media", "rtx-pro-6000-96gb", "1g.24gb+me.all", "1g.24gb+me.all"},
      {"all media, nearly", "rtx-pro-6000-96gb", "1g.23gb+me.all", "1g.24gb+me.all"},
      {"no media", "rtx-pro-6000-96gb", "2g.47gb-me", "2g.48gb-me"},
      {"graphics", "rtx-pro-6000-96gb", "4g.96gb+gfx", "4g.96gb+gfx"},
      {"a compute instance is no profile", "a100-80gb", "1c.3g.40gb", ""},
      {"a compute instance of all slices", "a100-80gb", "3c.3g.40gb", ""},
      {"no name", "a100-80gb", "gold", ""},
      {"nothing", "a100-80gb", "", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(matched(geometry_of(c.model), c.wish), c.profile) << c.name;
}

// A wish in the table's spelling meets a driver that spells otherwise.
TEST(MigProfile, TheDriverMayHaveTheOtherName) {
  auto driver = geometry_of("gb300-278gb");
  driver.profiles[0].name = "1g.31gb";
  EXPECT_EQ(matched(driver, "1g.35gb"), "1g.31gb");
  auto h20 = geometry_of("h20-96gb");
  for (auto& profile : h20.profiles) {
    if (profile.name == "3g.48gb") profile.name = "3g.47gb";
  }
  EXPECT_EQ(matched(h20, "3g.48gb"), "3g.47gb");
}

TEST(MigProfile, ANameThatCouldMeanTwoMeansNone) {
  auto two = geometry_of("a100-80gb");
  two.profiles[2].name = "2g.21gb";  // next to 2g.20gb
  EXPECT_EQ(matched(two, "2g.20gb"), "2g.20gb");
  two.profiles[3].name = "2g.22gb";
  EXPECT_EQ(matched(two, "2g.21gb"), "2g.21gb");
  two.profiles[2].name = "2g.20gb";
  EXPECT_EQ(matched(two, "2g.21gb"), "");
}

TEST(MigProfile, WithoutMigNothingMatches) {
  EXPECT_TRUE(MigGeometry().empty());
  EXPECT_EQ(matched({}, "1g.10gb"), "");
}

}  // namespace
}  // namespace tranche::gpu::mig_match_test
