#include "cdi/find_driver_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cdi/imex.h"
#include "support/temp_dir.h"

namespace tranche::cdi::driver_files_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::UnorderedElementsAre;

const std::string kVersion = "570.158.01";
const std::string kLib = "/usr/lib/x86_64-linux-gnu";

// A driver's installation under a folder of its own, built file by file.
class DriverFilesTest : public testing::Test {
 protected:
  DriverFilesTest() {
    file(kLib + "/libcuda.so." + kVersion);
    file(kLib + "/libnvidia-ml.so." + kVersion);
  }

  std::filesystem::path at(const std::string& path) const { return root_.resolve(path); }
  void file(const std::string& path, const std::string& text = "x") {
    std::filesystem::create_directories(at(path).parent_path());
    std::ofstream(at(path)) << text;
  }
  void link(const std::string& path, const std::string& target) {
    std::filesystem::create_directories(at(path).parent_path());
    std::filesystem::create_symlink(target, at(path));
  }
  DriverFiles find(const std::vector<gpu::PciAddress>& gpus = {}, const std::string& kernel = "") {
    auto files =
        find_driver_files({.driver = root_, .dev = root_, .host = root_}, kVersion, kernel, gpus);
    EXPECT_TRUE(files.has_value()) << files.error().message();
    return files.value_or(DriverFiles{});
  }

  test::TempDir dir_;
  FsRoot root_{dir_.path()};
};

TEST_F(DriverFilesTest, LibrariesOfTheDriversVersionOnly) {
  file(kLib + "/libcuda.so.550.1.1");
  file(kLib + "/libnvidia-ptxjitcompiler.so." + kVersion);
  file(kLib + "/libnvidia-nvvm70.so.4");
  file(kLib + "/vdpau/libvdpau_nvidia.so." + kVersion);
  file(kLib + "/libc.so.6");
  file(kLib + "/libEGL.so");
  const auto files = find();
  EXPECT_THAT(files.cuda_folders, ElementsAre(kLib));
  EXPECT_THAT(files.libraries,
              ElementsAre(kLib + "/libcuda.so." + kVersion, kLib + "/libnvidia-ml.so." + kVersion,
                          kLib + "/libnvidia-nvvm70.so.4",
                          kLib + "/libnvidia-ptxjitcompiler.so." + kVersion,
                          kLib + "/vdpau/libvdpau_nvidia.so." + kVersion));
  EXPECT_THAT(files.explicit_libraries, ElementsAre(kLib + "/libEGL.so"));
}

TEST_F(DriverFilesTest, MissingLibraryIsAnErrorWithARemedy) {
  for (const std::string name : {"libcuda", "libnvidia-ml"}) {
    const auto path = fmt::format("{}/{}.so.{}", kLib, name, kVersion);
    std::filesystem::remove(at(path));
    const auto files =
        find_driver_files({.driver = root_, .dev = root_, .host = root_}, kVersion, "", {});
    ASSERT_FALSE(files.has_value()) << name;
    EXPECT_EQ(files.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(files.error().what, HasSubstr(fmt::format("{}.so.{}", name, kVersion)));
    EXPECT_THAT(files.error().what, HasSubstr(dir_.path().string()));
    EXPECT_THAT(files.error().hint, HasSubstr("--driver-root-ctr-path"));
    file(path);
  }
}

// A runtime cannot create a container that should mount a dangling link.
TEST_F(DriverFilesTest, LinksThatLeadToNothingAreLeftOutAndTold) {
  const std::vector<std::string> broken = {
      kLib + "/libEGL.so",
      kLib + "/libnvidia-nvvm.so." + kVersion,
      kLib + "/libnvidia-nvvm70.so.4",
      kLib + "/vdpau/libvdpau_nvidia.so." + kVersion,
      "/usr/bin/nvidia-smi",
      "/etc/vulkan/icd.d/nvidia_icd.json",
      "/lib/firmware/nvidia/" + kVersion + "/gsp_tu10x.bin",
      "/run/nvidia-persistenced/socket",
  };
  for (const auto& path : broken) link(path, "/nonexistent/x");
  link(kLib + "/libnvidia-nvvm.so.4", "libnvidia-nvvm.so." + kVersion);
  link("/dev/nvidia0", "/nonexistent/nvidia0");
  link("/etc/cufile.json", "/nonexistent/x");
  const auto files = find();
  EXPECT_THAT(files.libraries,
              ElementsAre(kLib + "/libcuda.so." + kVersion, kLib + "/libnvidia-ml.so." + kVersion));
  EXPECT_THAT(files.library_links, ElementsAre("libcuda.so.1::" + kLib + "/libcuda.so"));
  EXPECT_THAT(files.explicit_libraries, IsEmpty());
  EXPECT_THAT(files.binaries, IsEmpty());
  EXPECT_THAT(files.configs, IsEmpty());
  EXPECT_THAT(files.firmware, IsEmpty());
  EXPECT_THAT(files.sockets, IsEmpty());
  EXPECT_THAT(files.gds_files, IsEmpty());
  EXPECT_THAT(files.nodes, IsEmpty());
  EXPECT_THAT(files.dangling, testing::UnorderedElementsAreArray(broken));
}

TEST_F(DriverFilesTest, ALibraryThatIsRequiredAndALinkToNothingIsMissing) {
  const auto path = kLib + "/libcuda.so." + kVersion;
  std::filesystem::remove(at(path));
  link(path, "current/libcuda.so." + kVersion);
  const auto files =
      find_driver_files({.driver = root_, .dev = root_, .host = root_}, kVersion, "", {});
  ASSERT_FALSE(files.has_value());
  EXPECT_THAT(files.error().what, HasSubstr("libcuda.so." + kVersion + " not found"));
  file(kLib + "/current/libcuda.so." + kVersion);
  EXPECT_THAT(find().cuda_folders, ElementsAre(kLib));
}

// The runtime is on the host, so an absolute link leads to the host's files, not to the driver
// root's.
TEST_F(DriverFilesTest, LinksAreFollowedAsTheHostFollowsThem) {
  const FsRoot host(dir_.path() / "host");
  const std::string name = kLib + "/libnvidia-nvvm.so." + kVersion;
  file("/etc/alternatives/nvvm");
  file("/host/opt/nvvm");
  struct Case {
    const char* name;
    std::string driver_on_host, target;
    bool there;
  };
  for (const auto& [text, on_host, target, there] : std::initializer_list<Case>{
           {"relative", "/", "../../../etc/alternatives/nvvm", true},
           {"relative, to nothing", "/", "../nvvm", false},
           {"absolute, the driver is the host's", "/", "/etc/alternatives/nvvm", true},
           {"absolute, within the driver's root", "/run/nvidia/driver",
            "/run/nvidia/driver/etc/alternatives/nvvm", true},
           {"absolute, out of it and to nothing", "/run/nvidia/driver", "/etc/alternatives/nvvm",
            false},
           {"absolute, out of it to the host's", "/run/nvidia/driver", "/opt/nvvm", true},
           {"to itself", "/", name, false},
       }) {
    link(name, target);
    const auto files = find_driver_files(
        {.driver = root_, .dev = root_, .host = host, .driver_on_host = on_host}, kVersion, "", {});
    ASSERT_TRUE(files.has_value()) << files.error().message();
    EXPECT_EQ(files->libraries.size(), there ? 3U : 2U) << text;
    EXPECT_EQ(files->dangling.size(), there ? 0U : 1U) << text;
    std::filesystem::remove(at(name));
  }
}

TEST_F(DriverFilesTest, AFolderBehindALinkIsFollowedToo) {
  std::filesystem::create_directories(at("/usr"));
  link("/usr/lib64", "/opt/driver/lib");
  file("/opt/driver/lib/libcuda.so." + kVersion);
  file("/opt/driver/lib/libnvidia-nvvm.so." + kVersion);
  const auto files = find();
  EXPECT_THAT(files.cuda_folders, ElementsAre("/usr/lib64", kLib));
  EXPECT_THAT(files.dangling, IsEmpty());
}

// A specification without a folder's files would take them from containers.
TEST_F(DriverFilesTest, AFolderThatCannotBeReadIsNotEmpty) {
  link(kLib + "/vdpau", "vdpau");  // in a circle: it exists and cannot be listed
  const auto files =
      find_driver_files({.driver = root_, .dev = root_, .host = root_}, kVersion, "", {});
  ASSERT_FALSE(files.has_value());
  EXPECT_THAT(files.error().what, HasSubstr("/vdpau"));
}

TEST_F(DriverFilesTest, LinksThatLeadToALibrary) {
  link(kLib + "/libnvidia-ml.so.1", "libnvidia-ml.so." + kVersion);
  link(kLib + "/libnvidia-ml.so", "libnvidia-ml.so.1");
  link(kLib + "/libunrelated.so", "libc.so.6");
  EXPECT_THAT(find().library_links,
              ElementsAre("libcuda.so.1::" + kLib + "/libcuda.so",
                          "libnvidia-ml.so." + kVersion + "::" + kLib + "/libnvidia-ml.so.1",
                          "libnvidia-ml.so.1::" + kLib + "/libnvidia-ml.so"));
}

TEST_F(DriverFilesTest, LinksInACircleEnd) {
  link(kLib + "/liba.so", "libb.so");
  link(kLib + "/libb.so", "liba.so");
  link(kLib + "/libcuda.so.1", "libcuda.so." + kVersion);
  EXPECT_THAT(find().library_links,
              ElementsAre("libcuda.so.1::" + kLib + "/libcuda.so",
                          "libcuda.so." + kVersion + "::" + kLib + "/libcuda.so.1"));
}

TEST_F(DriverFilesTest, LinksOfGraphicsLibraries) {
  file(kLib + "/libGLX_nvidia.so." + kVersion);
  file(kLib + "/libnvidia-allocator.so." + kVersion);
  EXPECT_THAT(find().library_links,
              ElementsAre("libGLX_nvidia.so." + kVersion + "::" + kLib + "/libGLX_indirect.so.0",
                          "libcuda.so.1::" + kLib + "/libcuda.so",
                          "../libnvidia-allocator.so.1::" + kLib + "/gbm/nvidia-drm_gbm.so"));
}

TEST_F(DriverFilesTest, OneFolderUnderTwoNamesCountsOnce) {
  link("/lib", "usr/lib");
  EXPECT_THAT(find().cuda_folders, ElementsAre(kLib));
  file("/usr/lib64/libcuda.so." + kVersion);
  EXPECT_THAT(find().cuda_folders, ElementsAre("/usr/lib64", kLib));
}

TEST_F(DriverFilesTest, BinariesConfigsFirmwareSockets) {
  file("/usr/bin/nvidia-smi");
  file("/bin/nvidia-smi");
  file("/usr/sbin/nvidia-persistenced");
  file("/usr/share/glvnd/egl_vendor.d/10_nvidia.json");
  file("/usr/share/vulkan/icd.d/nvidia_icd.json");
  file("/lib/firmware/nvidia/" + kVersion + "/gsp_ga10x.bin");
  file("/lib/firmware/6.1.0-x/nvidia/" + kVersion + "/gsp_tu10x.bin");
  file("/lib/firmware/nvidia/" + kVersion + "/readme.txt");
  file("/opt/fw/nvidia/" + kVersion + "/gsp.bin");
  file("/sys/module/firmware_class/parameters/path", "/opt/fw\n");
  file("/run/nvidia-persistenced/socket");
  file("/var/run/nvidia-fabricmanager/socket");
  std::filesystem::create_directories(at("/tmp/nvidia-mps"));

  const auto files = find({}, "6.1.0-x");
  EXPECT_THAT(files.binaries, ElementsAre("/usr/bin/nvidia-smi", "/usr/sbin/nvidia-persistenced"));
  EXPECT_THAT(files.configs, ElementsAre(PlacedFile{"/usr/share/glvnd/egl_vendor.d/10_nvidia.json",
                                                    "/usr/share/glvnd/egl_vendor.d/10_nvidia.json"},
                                         PlacedFile{"/usr/share/vulkan/icd.d/nvidia_icd.json",
                                                    "/etc/vulkan/icd.d/nvidia_icd.json"}));
  EXPECT_THAT(files.firmware,
              ElementsAre("/opt/fw/nvidia/" + kVersion + "/gsp.bin",
                          "/lib/firmware/6.1.0-x/nvidia/" + kVersion + "/gsp_tu10x.bin",
                          "/lib/firmware/nvidia/" + kVersion + "/gsp_ga10x.bin"));
  EXPECT_THAT(files.sockets,
              ElementsAre("/run/nvidia-persistenced/socket", "/var/run/nvidia-fabricmanager/socket",
                          "/tmp/nvidia-mps"));
}

TEST_F(DriverFilesTest, ConfigsStandWhereTheyWereFoundAndThoseOfVulkanInEtc) {
  file("/etc/egl/egl_external_platform.d/15_nvidia_gbm.json");
  file("/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json");
  file("/usr/local/share/OpenCL/vendors/nvidia.icd");
  file("/vulkan/icd.d/nvidia_icd.json");
  file("/usr/share/vulkan/icd.d/nvidia_icd.x86_64.json");
  file("/vulkan/icd.d/nvidia_icd.x86_64.json");
  const auto same = [](const std::string& path) { return PlacedFile{path, path}; };
  EXPECT_THAT(
      find().configs,
      ElementsAre(same("/etc/egl/egl_external_platform.d/15_nvidia_gbm.json"),
                  same("/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json"),
                  same("/usr/local/share/OpenCL/vendors/nvidia.icd"),
                  PlacedFile{"/vulkan/icd.d/nvidia_icd.json", "/etc/vulkan/icd.d/nvidia_icd.json"},
                  PlacedFile{"/usr/share/vulkan/icd.d/nvidia_icd.x86_64.json",
                             "/etc/vulkan/icd.d/nvidia_icd.x86_64.json"}));
}

TEST_F(DriverFilesTest, AVersionThatIsUnknownIsNamed) {
  const auto files = find_driver_files({.driver = root_, .dev = root_, .host = root_}, "", "", {});
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(files.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(files.error().what, HasSubstr("does not tell its version"));
}

TEST_F(DriverFilesTest, Nodes) {
  for (const std::string path :
       {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-caps/nvidia-cap21", "/dev/nvidia-fs0",
        "/dev/gdrdrv", "/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm", "/dev/sda",
        "/dev/infiniband/umad0", "/dev/nvidia-caps-imex-channels/channel0"}) {
    file(path);
  }
  const auto files = find();
  EXPECT_THAT(files.nodes,
              UnorderedElementsAre(Key("/dev/nvidia0"), Key("/dev/nvidiactl"),
                                   Key("/dev/nvidia-caps/nvidia-cap21"), Key("/dev/nvidia-fs0"),
                                   Key("/dev/gdrdrv"), Key("/dev/infiniband/uverbs0"),
                                   Key("/dev/infiniband/rdma_cm")));
  EXPECT_EQ(files.nodes.at("/dev/nvidia0"), std::nullopt) << "a plain file has no numbers";
}

TEST_F(DriverFilesTest, TheMajorNumberOfCapabilities) {
  EXPECT_EQ(find().caps_major, std::nullopt);
  file("/proc/devices",
       "Character devices:\n195 nvidia\n237 nvidia-caps\n238 nvidia-caps-imex\n\nBlock devices:\n  "
       "8 sd\n");
  EXPECT_EQ(find().caps_major, 237U);
}

// A device node that every machine has stands for a GPU's.
TEST_F(DriverFilesTest, NumbersOfACharacterDevice) {
  link("/dev/nvidia0", "/dev/null");
  const auto numbers = find().nodes.at("/dev/nvidia0");
  ASSERT_TRUE(numbers.has_value());
  EXPECT_EQ(numbers->major, 1U);
  EXPECT_EQ(numbers->minor, 3U);
  EXPECT_EQ(numbers->mode & 0666U, 0666U);
}

TEST_F(DriverFilesTest, DisplayFilesByPciAddress) {
  const gpu::PciAddress address{0, 0x3b, 0, 0};
  file("/sys/bus/pci/devices/0000:3b:00.0/drm/card1/uevent");
  file("/sys/bus/pci/devices/0000:3b:00.0/drm/renderD128/uevent");
  file("/sys/bus/pci/devices/0000:3b:00.0/drm/controlD64/uevent");
  file("/dev/dri/card0");
  file("/dev/dri/card1");
  file("/dev/dri/renderD128");
  link("/dev/dri/by-path/pci-0000:3b:00.0-card", "../card1");
  link("/dev/dri/by-path/pci-0000:3b:00.0-render", "../renderD999");
  const auto files = find({address, {0, 0x86, 0, 0}});
  ASSERT_EQ(files.drm.size(), 1U);
  EXPECT_THAT(files.drm.at(address).nodes, ElementsAre("/dev/dri/card1", "/dev/dri/renderD128"));
  EXPECT_THAT(files.drm.at(address).links,
              ElementsAre("../card1::/dev/dri/by-path/pci-0000:3b:00.0-card"));
}

TEST_F(DriverFilesTest, DevRoot) {
  const FsRoot host("/host");
  EXPECT_EQ(find_dev_root(root_, host).root(), host.root()) << "no /dev in the driver's root";
  EXPECT_FALSE(find().nodes_below_driver);
  file("/dev/null");
  EXPECT_EQ(find_dev_root(root_, host).root(), host.root()) << "none of NVIDIA's in it";
  file("/dev/nvidia0");
  EXPECT_EQ(find_dev_root(root_, host).root(), root_.root());
  EXPECT_TRUE(find().nodes_below_driver);
  EXPECT_FALSE(find().imex_below_driver);
  file("/dev/nvidia-caps-imex-channels/channel0");
  EXPECT_TRUE(find().imex_below_driver);
}

TEST_F(DriverFilesTest, ImexChannels) {
  config::Imex imex{.channel_ids = {0}, .required = false};
  const FsRoot driver(root_.resolve("/driver-root"));
  const auto none = find_imex_channels(driver, root_, "/", {});
  EXPECT_THAT(none->ids, IsEmpty());
  const auto missing = find_imex_channels(driver, root_, "/run/driver", imex);
  ASSERT_TRUE(missing.has_value());
  EXPECT_THAT(missing->ids, IsEmpty());
  EXPECT_THAT(missing->warnings, ElementsAre(HasSubstr("IMEX channel 0 is missing")));
  imex.required = true;
  const auto refused = find_imex_channels(driver, root_, "/", imex);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);

  link("/run/driver/dev/nvidia-caps-imex-channels/channel0", "/dev/null");
  EXPECT_THAT(find_imex_channels(driver, root_, "/run/driver", imex)->ids, ElementsAre(0));
  link("/dev/nvidia-caps-imex-channels/channel0", "/dev/null");
  EXPECT_THAT(find_imex_channels(driver, root_, "/elsewhere", imex)->ids, ElementsAre(0));
}

// NVIDIA's DaemonSet has the host's /dev only there.
TEST_F(DriverFilesTest, ImexChannelsUnderTheDriversRootOfTheContainer) {
  const config::Imex imex{.channel_ids = {0}, .required = true};
  link("/driver-root/dev/nvidia-caps-imex-channels/channel0", "/dev/null");
  const auto found = find_imex_channels(FsRoot(root_.resolve("/driver-root")), root_, "/", imex);
  ASSERT_TRUE(found.has_value()) << found.error().message();
  EXPECT_THAT(found->ids, ElementsAre(0));
}

}  // namespace
}  // namespace tranche::cdi::driver_files_test
