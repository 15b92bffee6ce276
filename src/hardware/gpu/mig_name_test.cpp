#include "gpu/mig_name.h"

#include <gtest/gtest.h>

namespace tranche::gpu::mig_name_test {
namespace {

TEST(MigName, MemoryAsNvidiaRoundsIt) {
  struct Case {
    const char* name;
    std::uint64_t instance_mib;
    std::uint64_t total_mib;
    std::uint64_t gb;
  };
  // Instance sizes as measured (tests/data/mig-profiles.yaml).
  const Case cases[] = {
      {"A100-40GB 1g", 4864, 40960, 5},   {"A100-40GB 2g", 9856, 40960, 10},
      {"A100-40GB 3g", 19968, 40960, 20}, {"A100-40GB 7g", 40192, 40960, 40},
      {"A100-80GB 1g", 9728, 81920, 10},  {"A100-80GB 7g", 80384, 81920, 80},
      {"H100-80GB 1g", 9856, 81559, 10},  {"A30 1g", 5952, 24576, 6},
      {"A30 2g", 11968, 24576, 12},       {"total unknown", 4864, 0, 0},
      {"no memory", 0, 40960, 0},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(mig_memory_gb(Bytes::from_mib(c.instance_mib), Bytes::from_mib(c.total_mib)), c.gb)
        << c.name;
  }
}

TEST(MigName, KindsOfProfileConstants) {
  struct Case {
    unsigned constant;
    const char* name;
  };
  const Case cases[] = {{0, "1g.24gb"},         {7, "1g.24gb+me"},   {8, "1g.24gb+me"},
                        {9, "1g.24gb"},         {10, "1g.24gb+gfx"}, {12, "1g.24gb+gfx"},
                        {13, "1g.24gb-me"},     {14, "1g.24gb-me"},  {15, "1g.24gb+me.all"},
                        {16, "1g.24gb+me.all"}, {17, "1g.24gb+gfx"}, {99, "1g.24gb"}};
  for (const auto& c : cases) {
    EXPECT_EQ(mig_profile_name(1, 24, mig_kind(c.constant)), c.name) << c.constant;
  }
}

TEST(MigName, ComputeSlicesThatANameBeginsWith) {
  EXPECT_EQ(named_compute_slices("1c.3g.40gb"), 1);
  EXPECT_EQ(named_compute_slices("4c.3g.40gb+new"), 4) << "whether it can be is not asked";
  for (const auto* name : {"3g.40gb", "0c.3g.40gb", "c.3g.40gb", ""}) {
    EXPECT_EQ(named_compute_slices(name), std::nullopt) << name;
  }
}

TEST(MigName, PartialComputeInstances) {
  EXPECT_EQ(compute_instance_name("2g.10gb", 2, 2), "2g.10gb");
  EXPECT_EQ(compute_instance_name("2g.10gb", 2, 1), "1c.2g.10gb");
  EXPECT_EQ(compute_instance_name("1g.5gb+me", 1, 1), "1g.5gb+me");
}

TEST(MigName, FindsTheProfileInDriverText) {
  EXPECT_EQ(profile_in("MIG 1g.5gb"), "1g.5gb");
  EXPECT_EQ(profile_in("1g.5gb+me"), "1g.5gb+me");
  EXPECT_EQ(profile_in("NVIDIA A100-SXM4-40GB MIG 1c.2g.10gb"), "1c.2g.10gb");
  EXPECT_EQ(profile_in("NVIDIA A100-SXM4-40GB"), "");
  EXPECT_EQ(profile_in(""), "");
}

TEST(MigName, NamesAreRead) {
  struct Case {
    const char* name;
    std::optional<MigName> says;
  };
  const Case cases[] = {
      {"3g.40gb", MigName{3, 3, 40, MigKind::kPlain}},
      {"1g.10gb+me", MigName{1, 1, 10, MigKind::kMedia}},
      {"1g.24gb+me.all", MigName{1, 1, 24, MigKind::kAllMedia}},
      {"2g.48gb-me", MigName{2, 2, 48, MigKind::kNoMedia}},
      {"4g.96gb+gfx", MigName{4, 4, 96, MigKind::kGraphics}},
      {"1c.3g.40gb", MigName{1, 3, 40, MigKind::kPlain}},
      {"1c.2g.10gb+me", MigName{1, 2, 10, MigKind::kMedia}},
      {"7g.141gb", MigName{7, 7, 141, MigKind::kPlain}},
      {"", std::nullopt},
      {"3g", std::nullopt},
      {"3g.", std::nullopt},
      {"3g.40", std::nullopt},
      {"3g.gb", std::nullopt},
      {"g.40gb", std::nullopt},
      {"c.3g.40gb", std::nullopt},
      {"4c.3g.40gb", std::nullopt},
      {"0g.10gb", std::nullopt},
      {"-1g.10gb", std::nullopt},
      {"03g.40gb", std::nullopt},
      {"3g.40gb+m", std::nullopt},
      {"3g.40gb ", std::nullopt},
      {"1g.99999999999999999999gb", std::nullopt},
      {"nvidia.com/mig-1g.10gb", std::nullopt},
  };
  for (const auto& c : cases) EXPECT_EQ(parse_mig_name(c.name), c.says) << c.name;
  EXPECT_EQ(gpu_instance_name("1c.3g.40gb"), "3g.40gb");
  EXPECT_EQ(gpu_instance_name("3g.40gb"), "3g.40gb");
  EXPECT_EQ(gpu_instance_name("x"), "x");
  EXPECT_EQ(gpu_instance_name(""), "");
}

}  // namespace
}  // namespace tranche::gpu::mig_name_test
