#include "lab/runtime/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "fmt/format.h"
#include "sim/state/simulation.h"

namespace tranche::lab::driver_test {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::Field;
using testing::IsSubsetOf;
using testing::Not;

#ifdef __aarch64__
constexpr const char* kLibraries = "/usr/lib/aarch64-linux-gnu";
#else
constexpr const char* kLibraries = "/usr/lib/x86_64-linux-gnu";
#endif

// A node with the files of a machine: nodes are links to /dev/null (1:3), which needs no rights.
class DriverEditsTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  void open(const std::string& machine) {
    folder_ =
        fs::path(testing::TempDir()) /
        fmt::format("lab_driver_{}", testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "dev/nvidia-caps");
    auto sim = sim::Simulation::open({.machine = fmt::format("sim/machines/{}.yaml", machine),
                                      .state = (folder_ / "state").string()});
    ASSERT_TRUE(sim) << sim.error().message();
    sim_ = *sim;
    for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) add_node(node);
    for (int gpu = 0; gpu < 8; ++gpu) add_node(fmt::format("nvidia{}", gpu));
    for (int cap = 0; cap < 140; ++cap) add_node(fmt::format("nvidia-caps/nvidia-cap{}", cap));
    for (const char* name : {"libnvidia-ml.so", "libcuda.so", "libnvidia-ptxjitcompiler.so"}) {
      add_file(fmt::format("{}/{}.{}", kLibraries, name, sim_->state().driver_version));
    }
    add_file("/usr/bin/nvidia-smi");
    add_file("/usr/bin/nvidia-cuda-mps-control");
  }

  void add_node(const std::string& name) {
    fs::create_symlink("/dev/null", folder_ / "dev" / name);
  }
  void add_file(const std::string& path) {
    fs::create_directories((folder_ / path.substr(1)).parent_path());
    std::ofstream(folder_ / path.substr(1)) << "x";
  }

  Result<Edits> edits(const Request& request) {
    return driver_edits(request, sim_->state(), FsRoot(folder_));
  }
  std::vector<std::string> nodes(const Request& request) {
    const auto made = edits(request);
    EXPECT_TRUE(made) << made.error().message();
    std::vector<std::string> paths;
    for (const auto& node : made.value_or(Edits{}).devices) paths.push_back(node.path);
    return paths;
  }

  fs::path folder_;
  std::shared_ptr<sim::Simulation> sim_;
};

const std::vector<std::string> kControl = {"/dev/nvidiactl", "/dev/nvidia-uvm",
                                           "/dev/nvidia-uvm-tools"};

std::vector<std::string> with_control(std::initializer_list<std::string> more) {
  auto nodes = kControl;
  nodes.insert(nodes.end(), more);
  return nodes;
}

TEST_F(DriverEditsTest, GpusByIndexUuidAndAll) {
  open("a100-40gb-x4");
  const std::string uuid = sim_->state().gpus[2].uuid;
  EXPECT_EQ(nodes({.devices = {"1"}}), with_control({"/dev/nvidia1"}));
  EXPECT_EQ(nodes({.devices = {uuid, "0"}}), with_control({"/dev/nvidia0", "/dev/nvidia2"}));
  EXPECT_EQ(nodes({.all = true}),
            with_control({"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2", "/dev/nvidia3"}));
  EXPECT_EQ(nodes({}), kControl);
}

TEST_F(DriverEditsTest, AMigDeviceBringsItsTwoCapabilities) {
  open("a100-40gb-mig");
  const auto one = nodes({.devices = {"0:0"}});
  EXPECT_EQ(one.size(), kControl.size() + 3);
  EXPECT_THAT(one, Contains("/dev/nvidia0"));
  const auto all = nodes({.all = true});
  EXPECT_THAT(one, IsSubsetOf(all));
  EXPECT_GT(all.size(), one.size());
}

TEST(KernelEdits, ForWhomHasTheDriverSNodes) {
  EXPECT_FALSE(has_driver_nodes({{"process", Json::object()}}));
  EXPECT_FALSE(has_driver_nodes({{"linux", {{"devices", {{{"path", "/dev/null"}}}}}}}));
  EXPECT_TRUE(has_driver_nodes({{"linux", {{"devices", {{{"path", "/dev/nvidiactl"}}}}}}}));
  const auto edits = kernel_edits(FsRoot("/nonexistent"));
  EXPECT_TRUE(edits.devices.empty());
  EXPECT_EQ(edits.mounts.size(), 1U);
  EXPECT_EQ(edits.env, std::vector<std::string>{"TRANCHE_SIM_STATE=/run/tranche-sim/state"});
}

TEST_F(DriverEditsTest, AnUnknownDeviceIsRefusedByName) {
  open("l20");
  for (const char* device : {"GPU-nobody", "1", "0:0"}) {
    const auto made = edits({.devices = {"0", device}});
    ASSERT_FALSE(made) << device;
    EXPECT_EQ(made.error().code, Code::kInvalidArgument);
    EXPECT_NE(made.error().what.find(device), std::string::npos) << made.error().what;
  }
}

TEST_F(DriverEditsTest, FilesFollowTheCapabilities) {
  open("l20");
  const auto at = [](const char* path) { return Field(&Mount::destination, path); };
  const auto library = fmt::format("{}/libnvidia-ml.so.1", kLibraries);
  const auto cuda = fmt::format("{}/libcuda.so.1", kLibraries);
  const auto utility = edits({.all = true, .compute = false}).value().mounts;
  EXPECT_THAT(utility, Contains(at("/usr/bin/nvidia-smi")));
  EXPECT_THAT(utility, Contains(at(library.c_str())));
  EXPECT_THAT(utility, Not(Contains(at(cuda.c_str()))));
  const auto compute = edits({.all = true, .utility = false}).value().mounts;
  EXPECT_THAT(compute, Contains(at(cuda.c_str())));
  EXPECT_THAT(compute, Not(Contains(at("/usr/bin/nvidia-smi"))));
}

TEST_F(DriverEditsTest, ANodeWithoutTheDriverIsToldSo) {
  open("l20");
  fs::remove(folder_ / "usr/bin/nvidia-smi");
  const auto made = edits({.all = true});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kFailedPrecondition);
  EXPECT_NE(made.error().what.find("/usr/bin/nvidia-smi"), std::string::npos);
}

TEST_F(DriverEditsTest, AMissingDeviceNodeIsTold) {
  open("l20");
  fs::remove(folder_ / "dev/nvidia0");
  const auto made = edits({.all = true});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("/dev/nvidia0"), std::string::npos);
}

}  // namespace
}  // namespace tranche::lab::driver_test
