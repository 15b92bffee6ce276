#include "gpu/mig_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/fs.h"
#include "base/yaml.h"
#include "gpu/models.h"

namespace tranche::gpu::mig_tables_test {
namespace {

// tests/data/mig-profiles.yaml, which says how each figure was found.
class MigTables : public testing::Test {
 protected:
  void SetUp() override {
    const auto text = FsRoot("tests/data").read("mig-profiles.yaml");
    ASSERT_TRUE(text.has_value()) << text.error().message();
    auto document = yaml::parse(*text, "mig-profiles.yaml");
    ASSERT_TRUE(document.has_value()) << document.error().message();
    root_ = std::move(document->root);
    ASSERT_NE(root_.find("models"), nullptr);
  }
  const std::vector<yaml::Node>& models() const { return root_.find("models")->items; }

  yaml::Node root_;
};

// nullopt: null.
std::optional<int> number(const yaml::Node& node, std::string_view key) {
  const auto* value = node.find(key);
  const auto read = value == nullptr ? std::nullopt : yaml::as_int(*value);
  return read ? std::optional(static_cast<int>(*read)) : std::nullopt;
}

std::vector<std::string> texts(const yaml::Node& node, std::string_view key) {
  std::vector<std::string> found;
  const auto* list = node.find(key);
  if (list == nullptr) return found;
  for (const auto& item : list->items) found.push_back(item.scalar);
  return found;
}

std::vector<std::string> strings(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

// nullopt: one of the figures is not known.
std::optional<MigAttributes> attributes(const yaml::Node& node) {
  for (const char* key :
       {"memory_mib", "sm", "copy_engines", "decoders", "encoders", "jpeg", "ofa"}) {
    if (!number(node, key)) return std::nullopt;
  }
  return MigAttributes{
      .memory = Bytes::from_mib(static_cast<std::uint64_t>(*number(node, "memory_mib"))),
      .multiprocessors = *number(node, "sm"),
      .copy_engines = *number(node, "copy_engines"),
      .decoders = *number(node, "decoders"),
      .encoders = *number(node, "encoders"),
      .jpeg_engines = *number(node, "jpeg"),
      .ofa_engines = *number(node, "ofa")};
}

void expect_profile(const GpuInstanceProfile& ours, const yaml::Node& theirs) {
  SCOPED_TRACE(ours.name);
  EXPECT_EQ(ours.name, theirs.find("name")->scalar);
  EXPECT_EQ(ours.id, number(theirs, "id"));
  EXPECT_EQ(ours.compute_slices, number(theirs, "compute_slices"));
  EXPECT_EQ(ours.memory_slices, number(theirs, "memory_slices"));
  EXPECT_EQ(ours.max_instances, number(theirs, "max_instances"));
  EXPECT_EQ(ours.attributes, attributes(theirs));
  std::vector<Placement> places;
  for (const auto& place : theirs.find("placements")->items) {
    places.push_back({.start = *number(place, "start"), .size = *number(place, "size")});
  }
  std::vector<Placement> our_places;
  for (const int start : ours.starts) {
    our_places.push_back({.start = start, .size = ours.memory_slices});
  }
  EXPECT_EQ(our_places, places);
  for (const auto& alias : texts(theirs, "name_aliases")) {
    EXPECT_TRUE(same_profile(ours.id, ours.name, alias)) << alias;
  }
}

TEST_F(MigTables, EveryFigureIsTheSources) {
  ASSERT_EQ(mig_models().size(), models().size());
  for (std::size_t i = 0; i < models().size(); ++i) {
    const auto& ours = mig_models()[i];
    const auto& theirs = models()[i];
    SCOPED_TRACE(ours.key);
    EXPECT_EQ(ours.key, theirs.find("key")->scalar);
    EXPECT_EQ(strings(ours.pci_device_ids), texts(theirs, "pci_device_ids"));
    EXPECT_EQ(ours.geometry.compute_slices, number(theirs, "compute_slices"));
    EXPECT_EQ(ours.geometry.memory_slices, number(theirs, "memory_slices"));
    EXPECT_EQ(ours.mode_needs_reset,
              yaml::as_bool(*theirs.find("mig_mode_switch_needs_gpu_reset")));
    const auto& profiles = theirs.find("profiles")->items;
    ASSERT_EQ(ours.geometry.profiles.size(), profiles.size());
    for (std::size_t p = 0; p < profiles.size(); ++p) {
      expect_profile(ours.geometry.profiles[p], profiles[p]);
    }
  }
}

// The table of models has one name more than the source.
TEST_F(MigTables, ProductNamesAreTheSourcesAndOneMore) {
  for (std::size_t i = 0; i < models().size(); ++i) {
    auto expected = texts(models()[i], "product_names");
    if (mig_models()[i].key == "a100-80gb") expected.emplace_back("NVIDIA A800 80GB PCIe");
    EXPECT_EQ(strings(mig_models()[i].product_names), expected) << mig_models()[i].key;
  }
}

TEST(MigTablesAndModels, AreOfTheSameGpus) {
  for (const auto& model : known_models()) {
    EXPECT_EQ(find_mig_model(model.name) != nullptr, model.mig_capable) << model.name;
  }
  for (const auto& model : mig_models()) {
    const bool known = std::ranges::any_of(model.product_names, [](std::string_view name) {
      return find_model(name) != nullptr && find_model(name)->mig_capable;
    });
    EXPECT_TRUE(known) << model.key;
  }
}

// Checks the assumptions of the search for places.
TEST(MigTablesAndModels, TheTablesAgreeWithThemselves) {
  std::set<std::string_view> keys;
  for (const auto& model : mig_models()) {
    SCOPED_TRACE(model.key);
    EXPECT_TRUE(keys.insert(model.key).second);
    const auto& geometry = model.geometry;
    std::set<int> ids;
    std::set<std::string> names;
    for (const auto& profile : geometry.profiles) {
      SCOPED_TRACE(profile.name);
      EXPECT_TRUE(ids.insert(profile.id).second);
      EXPECT_TRUE(names.insert(profile.name).second);
      const auto name = parse_mig_name(profile.name);
      ASSERT_TRUE(name.has_value());
      EXPECT_EQ(name->gpu_slices, profile.compute_slices);
      EXPECT_EQ(name->kind, profile.kind);
      EXPECT_TRUE(std::ranges::is_sorted(profile.starts));
      ASSERT_FALSE(profile.starts.empty());
      EXPECT_LE(profile.starts.back() + profile.memory_slices, geometry.memory_slices);
      EXPECT_LE(profile.compute_slices, geometry.compute_slices);
      EXPECT_LE(profile.max_instances, static_cast<int>(profile.starts.size()));
    }
  }
}

TEST(MigTablesAndModels, AModelIsFoundByKeyAndProductName) {
  struct Case {
    const char* name;
    const char* key;
  };
  const Case cases[] = {{"a100-80gb", "a100-80gb"},
                        {"A100-80GB", "a100-80gb"},
                        {"NVIDIA A100-SXM4-80GB", "a100-80gb"},
                        {"A100-SXM4-80GB", "a100-80gb"},
                        {"A30", "a30-24gb"},
                        {"a30", "a30-24gb"},
                        {"NVIDIA-A100-SXM4-80GB", "a100-80gb"},
                        {"NVIDIA-H100-80GB-HBM3", "h100-80gb"},
                        {"NVIDIA-A100-80GB-PCIe", "a100-80gb"},
                        {"NVIDIA H20", "h20-96gb"},
                        {"GH200 480GB", "gh200-96gb"},
                        {"NVIDIA L20", ""},
                        {"Tesla T4", ""},
                        {"a100", ""},
                        {"NVIDIA ", ""},
                        {"", ""}};
  for (const auto& c : cases) {
    const auto* model = find_mig_model(c.name);
    EXPECT_EQ(model == nullptr ? "" : model->key, c.key) << c.name;
  }
}

TEST(MigTablesAndModels, OtherNamesOfAProfile) {
  EXPECT_TRUE(same_profile(9, "3g.139gb", "3g.126gb"));
  EXPECT_TRUE(same_profile(9, "3g.126gb", "3g.139gb"));
  EXPECT_FALSE(same_profile(9, "3g.40gb", "3g.126gb"));
  EXPECT_FALSE(same_profile(15, "1g.35gb", "1g.31gb"));
}

}  // namespace
}  // namespace tranche::gpu::mig_tables_test
