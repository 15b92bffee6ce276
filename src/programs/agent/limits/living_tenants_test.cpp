#include "agent/limits/living_tenants.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/liveness_file.h"
#include "support/fake_clock.h"
#include "support/temp_dir.h"

namespace tranche::agent::living_tenants_test {
namespace {

using std::chrono::seconds;
using Kind = limit::Finding::Kind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;

class LivingTenantsTest : public testing::Test {
 protected:
  LivingTenantsTest() { mounts("30 1 0:98 / / rw - overlay overlay rw\n"); }

  std::filesystem::path arbiter() const { return dir_.path() / "arbiter"; }
  void mounts(const std::string& table) const { put(dir_.path() / "host/proc/7/mountinfo", table); }
  void arbiter_tells(const std::map<std::string, unsigned>& processes) const {
    limit::ArbiterStatus status;
    for (const auto& [id, count] : processes) {
      status.tenants.push_back({.id = id,
                                .resource = "nvidia.com/gpu",
                                .enforcement = Enforcement::kStrict,
                                .processes = count,
                                .degraded = {},
                                .devices = {}});
    }
    put(arbiter() / "status.json", encode(status, clock_.wall_now()));
    beat();
  }
  void beat() const {
    const auto now = std::chrono::duration_cast<seconds>(clock_.wall_now().time_since_epoch());
    put(arbiter() / process::LivenessFile::kArbiters, fmt::format("{}\n", now.count()));
  }
  static void put(const std::filesystem::path& file, const std::string& text) {
    ASSERT_TRUE(FsRoot().make_directories(file.parent_path()));
    ASSERT_TRUE(FsRoot().write_atomic(file, text));
  }

  test::TempDir dir_;
  test::FakeClock clock_;
  LivingTenants living_{FsRoot(dir_.path() / "host"), arbiter(), clock_};
};

TEST_F(LivingTenantsTest, WhoHasAProcessByTheArbiterLives) {
  arbiter_tells({{"t1", 2}, {"t2", 0}});
  EXPECT_THAT(living_.names().value(), ElementsAre("t1"));
  arbiter_tells({{"t1", 0}, {"t2", 0}});
  EXPECT_THAT(living_.names().value(), IsEmpty());
}

// NVML lists it on a GPU.
TEST_F(LivingTenantsTest, WhoHasAnUnregisteredProcessLivesToo) {
  limit::ArbiterStatus status;
  status.findings = {{.kind = Kind::kUnregistered, .tenant = "t1", .pid = 7},
                     {.kind = Kind::kKernelLimitChanged, .tenant = "t2"},
                     {.kind = Kind::kForeignUsageFile, .tenant = "t3", .pid = 8},
                     {.kind = Kind::kNoGrant, .pid = 9}};
  put(arbiter() / "status.json", encode(status, clock_.wall_now()));
  beat();
  EXPECT_THAT(living_.names().value(), ElementsAre("t1"));
}

TEST_F(LivingTenantsTest, WhatIsMountedLivesWhateverTheArbiterSays) {
  arbiter_tells({{"t1", 0}, {"t2", 1}});
  mounts("31 30 259:2 /var/lib/tranche/tenants/t1 /run/tranche/t1 ro - ext4 /dev/x rw\n");
  EXPECT_THAT(living_.names().value(), IsSupersetOf({"t1", "t2"}));
}

TEST_F(LivingTenantsTest, AnArbiterThatDoesNotRunSaysNothing) {
  arbiter_tells({{"t1", 1}});
  clock_.advance(process::LivenessFile::kLongest + seconds(1));
  EXPECT_THAT(living_.names().value(), IsEmpty());
  beat();
  EXPECT_THAT(living_.names().value(), ElementsAre("t1")) << "it runs again";
}

TEST_F(LivingTenantsTest, AStatusThatCannotBeReadSaysNothing) {
  arbiter_tells({{"t1", 1}});
  EXPECT_THAT(living_.names().value(), ElementsAre("t1"));
  put(arbiter() / "status.json", "torn");
  for (int i = 0; i < 2; ++i) EXPECT_THAT(living_.names().value(), IsEmpty());
}

TEST_F(LivingTenantsTest, WithoutAnArbiterMountsAreAll) {
  mounts("31 30 259:2 /var/lib/tranche/tenants/t1 /run/tranche/t1 ro - ext4 /dev/x rw\n");
  LivingTenants living(FsRoot(dir_.path() / "host"), "", clock_);
  EXPECT_THAT(living.names().value(), IsSupersetOf({"t1"}));
}

TEST_F(LivingTenantsTest, WhatCannotBeSeenIsNotNothing) {
  arbiter_tells({{"t1", 1}});
  std::filesystem::remove_all(dir_.path() / "host/proc");
  EXPECT_FALSE(living_.names());
}

}  // namespace
}  // namespace tranche::agent::living_tenants_test
