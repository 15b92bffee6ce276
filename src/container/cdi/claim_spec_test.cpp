#include "cdi/claim_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "offer/devices.h"
#include "support/machines.h"
#include "support/temp_dir.h"

namespace tranche::cdi::claim_spec_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Json = nlohmann::json;

constexpr const char* kUid = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a";
constexpr const char* kTenant = "7d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e0f";
const offer::LimitMounts kLimits{.library = "/var/lib/tranche/lib/1/libtranche-limit.so",
                                 .preload = "/var/lib/tranche/lib/1/ld.so.preload",
                                 .tenants = "/var/lib/tranche/tenants"};

DriverFiles driver_files() {
  DriverFiles files;
  files.driver_version = "550.163.01";
  files.libraries = {"/usr/lib/x86_64-linux-gnu/libcuda.so.550.163.01"};
  files.nodes = {{"/dev/nvidiactl", {}}, {"/dev/nvidia0", {}}, {"/dev/nvidia1", {}}};
  return files;
}

ClaimDevice device(const gpu::Machine& machine, const std::string& uuid, std::string name,
                   std::string tenant = "") {
  return {.name = std::move(name),
          .device = offer::find_device(machine, uuid).value(),
          .tenant = std::move(tenant)};
}

std::vector<std::string> targets(const Json& edits) {
  std::vector<std::string> paths;
  for (const auto& mount : edits.value("mounts", Json::array())) {
    paths.push_back(mount["containerPath"]);
  }
  return paths;
}

TEST(ClaimFile, HasTheDriverAndTheNodesAndLimitsOfEachDevice) {
  const auto machine = test::machine_of({test::l20(0), test::l20(1)});
  const std::vector devices = {device(machine, test::gpu_uuid(0), "share", kTenant),
                               device(machine, test::gpu_uuid(1), "whole")};
  const auto file = make_claim_file(kUid, devices, machine, driver_files(), {}, kLimits);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->name, std::string("k8s.gpu.nvidia.com-claim-") + kUid + ".json");
  const auto spec = Json::parse(file->json);
  EXPECT_EQ(spec["kind"], "k8s.gpu.nvidia.com/claim");
  EXPECT_THAT(targets(spec["containerEdits"]),
              ElementsAre("/usr/lib/x86_64-linux-gnu/libcuda.so.550.163.01"));
  EXPECT_THAT(spec["containerEdits"]["env"], testing::Contains("NVIDIA_VISIBLE_DEVICES=void"));
  ASSERT_EQ(spec["devices"].size(), 2U);
  const auto& share = spec["devices"][0];
  EXPECT_EQ(share["name"], "share");
  EXPECT_EQ(share["containerEdits"]["deviceNodes"][0]["path"], "/dev/nvidia0");
  EXPECT_THAT(targets(share["containerEdits"]),
              UnorderedElementsAre("/etc/ld.so.preload", "/usr/local/tranche/libtranche-limit.so",
                                   std::string("/run/tranche/") + kTenant));
  for (const auto& mount : share["containerEdits"]["mounts"]) {
    EXPECT_THAT(mount["options"], testing::Contains("ro"));
    EXPECT_THAT(mount["options"], testing::Contains("rbind"));
  }
  const auto& whole = spec["devices"][1];
  EXPECT_EQ(whole["containerEdits"]["deviceNodes"][0]["path"], "/dev/nvidia1");
  EXPECT_THAT(targets(whole["containerEdits"]), IsEmpty()) << "nobody else is on it";
}

TEST(ClaimFile, IsRefusedWhereAContainerWouldLackSomething) {
  const auto machine = test::machine_of({test::l20(0), test::l20(1).minor(-1)});
  const std::vector share = {device(machine, test::gpu_uuid(0), "share", kTenant)};
  const auto unlimited = make_claim_file(kUid, share, machine, driver_files(), {}, {});
  ASSERT_FALSE(unlimited);
  EXPECT_THAT(unlimited.error().what, HasSubstr("cannot be limited"));
  const std::vector unknown = {device(machine, test::gpu_uuid(1), "whole")};
  const auto nodeless = make_claim_file(kUid, unknown, machine, driver_files(), {}, kLimits);
  ASSERT_FALSE(nodeless);
  EXPECT_THAT(nodeless.error().what, HasSubstr("device nodes of GPU-"));
}

TEST(ClaimFile, ComesAndGoesAndOthersStay) {
  const test::TempDir dir;
  const FsRoot fs;
  const auto folder = dir.path() / "cdi";
  EXPECT_THAT(claims_with_files(fs, folder).value(), IsEmpty());
  const ClaimFile file{.name = std::string("k8s.gpu.nvidia.com-claim-") + kUid + ".json",
                       .json = "{}"};
  ASSERT_TRUE(write_claim_file(fs, folder, file));
  for (const char* other : {"k8s.gpu.nvidia.com-claim-x.json", "nvidia.yaml",
                            "k8s.device-plugin.nvidia.com-gpu.json"}) {
    ASSERT_TRUE(fs.write_atomic(folder / other, "{}"));
  }
  EXPECT_THAT(claims_with_files(fs, folder).value(), ElementsAre(kUid));
  EXPECT_TRUE(remove_claim_file(fs, folder, kUid));
  EXPECT_TRUE(remove_claim_file(fs, folder, kUid)) << "there is none any more";
  EXPECT_THAT(claims_with_files(fs, folder).value(), IsEmpty());
  EXPECT_EQ(fs.list(folder).value().size(), 3U);
}

}  // namespace
}  // namespace tranche::cdi::claim_spec_test
