#include "gpu/models.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/fs.h"
#include "base/yaml.h"

namespace tranche::gpu::models_test {
namespace {

TEST(Models, MigIsAPropertyOfTheModel) {
  struct Case {
    const char* name;
    bool mig;
    ComputeCapability capability;
  };
  const Case cases[] = {
      {"NVIDIA L20", false, {8, 9}},
      {"Tesla T4", false, {7, 5}},
      {"NVIDIA A10", false, {8, 6}},
      {"NVIDIA L40S", false, {8, 9}},
      {"NVIDIA A30", true, {8, 0}},
      {"A30", true, {8, 0}},
      {"NVIDIA A100-SXM4-40GB", true, {8, 0}},
      {"NVIDIA A100-SXM4-80GB", true, {8, 0}},
      {"NVIDIA A100 80GB PCIe", true, {8, 0}},
      {"NVIDIA H100 80GB HBM3", true, {9, 0}},
      {"NVIDIA H20", true, {9, 0}},
      {"NVIDIA H200", true, {9, 0}},
      {"NVIDIA GB300", true, {10, 3}},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", true, {12, 0}},
      {"NVIDIA GeForce RTX 4090", false, {8, 9}},
  };
  for (const auto& c : cases) {
    const Model* model = find_model(c.name);
    ASSERT_NE(model, nullptr) << c.name;
    EXPECT_EQ(model->mig_capable, c.mig) << c.name;
    EXPECT_EQ(model->compute_capability, c.capability) << c.name;
  }
}

TEST(Models, UnknownIsNotGuessed) {
  for (const char* name : {"", "NVIDIA ", "NVIDIA A100", "NVIDIA GeForce RTX 3080", "nvidia a30",
                           "GRID T4-16Q", "NVIDIA A30 "}) {
    EXPECT_EQ(find_model(name), nullptr) << name;
  }
}

TEST(Models, TheTableAgreesWithItself) {
  std::set<std::string_view> names;
  for (const Model& model : known_models()) {
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    EXPECT_EQ(model.architecture, family(model.compute_capability)) << model.name;
    EXPECT_GT(model.memory.mib(), 4096U) << model.name;
    EXPECT_EQ(find_model("NVIDIA " + std::string(model.name)), &model);
  }
}

// Every model in the table of MIG profiles is MIG-capable here. That table has several spellings of
// a model, some of them not NVML's: one that is found suffices.
TEST(Models, AgreeWithTheMigProfileTables) {
  const auto text = FsRoot("tests/data").read("mig-profiles.yaml");
  ASSERT_TRUE(text.has_value()) << text.error().message();
  const auto document = yaml::parse(*text, "mig-profiles.yaml");
  ASSERT_TRUE(document.has_value()) << document.error().message();
  const yaml::Node* models = document->root.find("models");
  ASSERT_NE(models, nullptr);
  for (const auto& entry : models->items) {
    const std::string key = entry.find("key")->scalar;
    const std::string capability = entry.find("compute_capability")->scalar;
    int known = 0;
    for (const auto& name : entry.find("product_names")->items) {
      const Model* model = find_model(name.scalar);
      if (model == nullptr) continue;
      ++known;
      EXPECT_TRUE(model->mig_capable) << name.scalar;
      const auto [major, minor] = model->compute_capability;
      EXPECT_EQ(std::to_string(major) + "." + std::to_string(minor), capability) << name.scalar;
    }
    EXPECT_GT(known, 0) << key;
  }
}

TEST(Models, Families) {
  struct Case {
    ComputeCapability capability;
    std::string_view family;
  };
  const Case cases[] = {{{1, 3}, "tesla"},        {{2, 0}, "fermi"},      {{3, 7}, "kepler"},
                        {{4, 0}, "undefined"},    {{5, 2}, "maxwell"},    {{6, 1}, "pascal"},
                        {{7, 0}, "volta"},        {{7, 2}, "volta"},      {{7, 5}, "turing"},
                        {{8, 0}, "ampere"},       {{8, 6}, "ampere"},     {{8, 8}, "ampere"},
                        {{8, 9}, "ada-lovelace"}, {{9, 0}, "hopper"},     {{10, 0}, "blackwell"},
                        {{10, 3}, "blackwell"},   {{11, 0}, "undefined"}, {{12, 0}, "blackwell"},
                        {{13, 0}, "rubin"},       {{0, 0}, "undefined"},  {{99, 0}, "undefined"}};
  for (const auto& c : cases) {
    EXPECT_EQ(family(c.capability), c.family) << c.capability.major << "." << c.capability.minor;
  }
}

}  // namespace
}  // namespace tranche::gpu::models_test
