#include "host/device_holders.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace tranche::host::device_holders_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr pid_t kSelf = 900;

class DeviceHoldersTest : public ::testing::Test {
 protected:
  // A process with these files open, of a container.
  void add(pid_t pid, const std::string& name, const std::vector<std::string>& files,
           const std::string& cgroup = "/") {
    const std::filesystem::path folder = fmt::format("/proc/{}", pid);
    ASSERT_TRUE(fs_.make_directories(folder / "fd"));
    ASSERT_TRUE(fs_.write_atomic(
        folder / "stat",
        fmt::format("{} ({}) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5000 1 1", pid, name)));
    ASSERT_TRUE(fs_.write_atomic(folder / "cgroup", "0::" + cgroup + "\n"));
    ASSERT_TRUE(fs_.write_atomic(folder / "mountinfo", ""));
    int number = 0;
    for (const auto& file : files) {
      std::filesystem::create_symlink(file, fs_.resolve(folder / "fd" / std::to_string(number++)));
    }
  }
  std::vector<pid_t> pids(const std::set<std::string>& nodes) {
    const auto found = device_holders(fs_, nodes, kSelf);
    EXPECT_TRUE(found.has_value());
    std::vector<pid_t> pids;
    for (const auto& holder : found->holders) pids.push_back(holder.pid);
    return pids;
  }

  test::TempDir dir_;
  FsRoot fs_{dir_.path()};
};

TEST_F(DeviceHoldersTest, FindsWhoHasANodeOpen) {
  add(10, "python", {"/dev/null", "/dev/nvidia0"}, "/kubepods/pod1/abc");
  add(11, "dcgm", {"/dev/nvidiactl", "/dev/nvidia1"});
  add(12, "mig", {"/dev/nvidia-caps/nvidia-cap21"});
  add(13, "chroot", {"/run/nvidia/driver/dev/nvidia0"});
  add(14, "replaced", {"/dev/nvidia0 (deleted)"});
  add(15, "a file of that name", {"/tmp/nvidia0"});
  add(16, "another GPU", {"/dev/nvidia10"});
  add(kSelf, "agent", {"/dev/nvidia0"});
  EXPECT_THAT(pids({"nvidia0"}), ElementsAre(10, 13, 14));
  EXPECT_THAT(pids({"nvidia0", "nvidia-cap21"}), ElementsAre(10, 12, 13, 14));
  EXPECT_THAT(pids({"nvidia7"}), IsEmpty());
  const auto found = device_holders(fs_, {"nvidia0"}, kSelf);
  EXPECT_EQ(found->holders[0],
            (DeviceHolder{.pid = 10, .name = "python", .cgroup = "/kubepods/pod1/abc"}));
}

TEST_F(DeviceHoldersTest, WithoutProcNothingIsKnown) {
  EXPECT_FALSE(device_holders(fs_, {"nvidia0"}, kSelf).has_value());
}

TEST_F(DeviceHoldersTest, TheNodesOfAGpu) {
  gpu::Gpu gpu = {.minor = 3};
  EXPECT_THAT(device_nodes(gpu), ElementsAre("nvidia3"));
  gpu.mig_instances.push_back({.gpu_instance_cap = 21, .compute_instance_cap = 22});
  EXPECT_THAT(device_nodes(gpu), ElementsAre("nvidia-cap21", "nvidia-cap22", "nvidia3"));
  EXPECT_THAT(device_nodes({.minor = -1}), IsEmpty());
}

TEST_F(DeviceHoldersTest, TheNodesOfAnInstance) {
  gpu::Gpu gpu = {.minor = 3};
  gpu.mig_instances = {{.gpu_instance_id = 1, .gpu_instance_cap = 21, .compute_instance_cap = 22},
                       {.gpu_instance_id = 1, .gpu_instance_cap = 21, .compute_instance_cap = 23},
                       {.gpu_instance_id = 2, .gpu_instance_cap = 31, .compute_instance_cap = 32}};
  EXPECT_THAT(device_nodes(gpu, 1), ElementsAre("nvidia-cap21", "nvidia-cap22", "nvidia-cap23"));
  EXPECT_THAT(device_nodes(gpu, 9), IsEmpty());
}

TEST_F(DeviceHoldersTest, OnAMachineWithOneControlGroupTheKernelsProcessesTell) {
  add(kSelf, "tranche", {}, "/");
  add(2, "kthreadd", {}, "/");
  EXPECT_TRUE(device_holders(fs_, {"nvidia0"}, kSelf)->sees_others);
}

// In a Pod of its own a process sees itself, and the probes that kubelet runs in it.
TEST_F(DeviceHoldersTest, AProcessOfAnotherGroupTellsThatOthersAreSeen) {
  add(kSelf, "agent", {}, "/");
  add(901, "probe", {}, "/");
  EXPECT_FALSE(device_holders(fs_, {"nvidia0"}, kSelf)->sees_others);
  add(1, "systemd", {}, "/../../../init.scope");
  EXPECT_TRUE(device_holders(fs_, {"nvidia0"}, kSelf)->sees_others);
}

TEST_F(DeviceHoldersTest, TheCommandIsToldAsItsWords) {
  add(12, "nv-hostengine", {"/dev/nvidia0"}, "/system.slice/nvidia-dcgm.service");
  const std::string words("/usr/bin/nv-hostengine\0-n\0", 26);
  ASSERT_TRUE(fs_.write_atomic("/proc/12/cmdline", words));
  const auto found = device_holders(fs_, {"nvidia0"}, kSelf);
  EXPECT_EQ(found->holders[0].command, "/usr/bin/nv-hostengine -n");
}

}  // namespace
}  // namespace tranche::host::device_holders_test
