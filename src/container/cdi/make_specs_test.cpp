#include "cdi/make_specs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "cdi/find_driver_files.h"
#include "offer/make_offer.h"
#include "support/machines.h"
#include "support/temp_dir.h"

namespace tranche::cdi::make_specs_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Json = nlohmann::ordered_json;

const std::string kVersion = "550.163.01";
const std::string kLib = "/usr/lib/x86_64-linux-gnu";

offer::Device whole(int index) {
  return {.uuid = test::gpu_uuid(index),
          .index = std::to_string(index),
          .gpu_index = index,
          .gpu_uuid = test::gpu_uuid(index),
          .mig = false,
          .numa_node = {},
          .paths = {"/dev/nvidia" + std::to_string(index)},
          .unhealthy_reason = {}};
}

offer::Device instance(int gpu, int slot) {
  auto device = whole(gpu);
  device.uuid = test::mig_uuid(gpu, slot);
  device.index += ":" + std::to_string(slot);
  device.mig = true;
  device.paths.insert(device.paths.end(),
                      {"/dev/nvidia-caps/nvidia-cap21", "/dev/nvidia-caps/nvidia-cap22"});
  return device;
}

offer::Offer offer_of(std::vector<offer::Device> devices) {
  offer::ResourceOffer resource;
  resource.name = resource.base = {"nvidia.com/gpu"};
  resource.devices = std::move(devices);
  offer::Offer offer;
  offer.resources.push_back(std::move(resource));
  return offer;
}

DeviceNumbers numbers(std::uint32_t major, std::uint32_t minor = 0, std::uint32_t mode = 0666,
                      std::uint32_t gid = 0) {
  return {.major = major, .minor = minor, .mode = mode, .gid = gid};
}

// A small installation: two GPUs, control nodes, one library.
DriverFiles small_driver() {
  DriverFiles files;
  files.driver_version = kVersion;
  files.cuda_folders = {kLib};
  files.libraries = {kLib + "/libcuda.so." + kVersion};
  files.library_links = {"libcuda.so.1::" + kLib + "/libcuda.so"};
  files.nodes = {{"/dev/nvidia0", numbers(195, 0)},
                 {"/dev/nvidia1", numbers(195, 1)},
                 {"/dev/nvidiactl", numbers(195, 255)},
                 {"/dev/nvidia-caps/nvidia-cap21", numbers(237, 21, 0444)},
                 {"/dev/nvidia-caps/nvidia-cap22", numbers(237, 22, 0444)}};
  return files;
}

Json json_of(const Specs& specs, const std::string& class_name) {
  for (const auto& file : specs.files) {
    if (file.class_name == class_name) return Json::parse(file.json);
  }
  ADD_FAILURE() << "no file of class " << class_name;
  return {};
}

std::vector<std::string> paths(const Json& edits) {
  std::vector<std::string> out;
  for (const auto& node : edits.value("deviceNodes", Json::array())) out.push_back(node["path"]);
  return out;
}

Specs specs_of(const offer::Offer& offer, const gpu::Machine& machine, const DriverFiles& files,
               const SpecOptions& options) {
  auto specs = make_specs(offer, machine, files, options);
  EXPECT_TRUE(specs.has_value()) << specs.error().message();
  return specs.value_or(Specs());
}

std::vector<std::string> hook_names(const Json& edits) {
  std::vector<std::string> out;
  for (const auto& hook : edits.value("hooks", Json::array())) {
    out.push_back(hook["args"][0] == "nvidia-ctk" ? hook["args"][2] : hook["args"][1]);
  }
  return out;
}

// The file that NVIDIA's plugin wrote for a driver container's root: the same except for layout.
TEST(MakeSpecs, PublishedSample) {
  const test::TempDir dir;
  const FsRoot root(dir.path());
  const auto file = [&](const std::string& path) {
    std::filesystem::create_directories(root.resolve(path).parent_path());
    std::ofstream(root.resolve(path)) << "x";
  };
  for (const std::string name : {"libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler"}) {
    file(fmt::format("{}/{}.so.{}", kLib, name, kVersion));
  }
  std::filesystem::create_symlink("libnvidia-ml.so." + kVersion,
                                  root.resolve(kLib + "/libnvidia-ml.so.1"));
  for (const std::string path :
       {"/usr/bin/nvidia-smi", "/usr/bin/nvidia-cuda-mps-control", "/dev/nvidia0", "/dev/nvidia1",
        "/dev/nvidiactl", "/dev/nvidia-uvm"}) {
    file(path);
  }
  auto files = find_driver_files({.driver = root, .dev = root, .host = root}, kVersion, "", {});
  ASSERT_TRUE(files.has_value()) << files.error().message();
  // A test cannot make device nodes, so their numbers are the sample's.
  for (auto& [path, known] : files->nodes) {
    known = numbers(path == "/dev/nvidia-uvm" ? 511 : 195, 0, 0644);
  }

  auto first = test::a100_40gb(0).uuid("GPU-12345678-1234-1234-1234-123456780000");
  auto second = test::a100_40gb(1).uuid("GPU-12345678-1234-1234-1234-123456780001");
  const auto machine = test::machine_of({first, second});
  config::Config config;
  config.flags.nvidia_driver_root = config.flags.nvidia_dev_root = "/run/nvidia/driver";
  config.flags.plugin.nvidia_ctk_path = "/usr/local/nvidia/toolkit/nvidia-cdi-hook";
  const auto offer = offer::make_offer(machine, config, {});

  const auto specs = specs_of(offer, machine, *files, spec_options(config));
  ASSERT_EQ(specs.files.size(), 1U);
  EXPECT_EQ(specs.files[0].name, "k8s.device-plugin.nvidia.com-gpu.json");
  std::ifstream sample("tests/data/cdi-sample.json");
  const std::string text((std::istreambuf_iterator<char>(sample)), {});
  EXPECT_EQ(specs.files[0].json, Json::parse(text).dump());
}

TEST(MakeSpecs, DriverInTheHostsOwnRoot) {
  const auto specs =
      specs_of(offer_of({whole(0)}), test::machine_of({test::l20(0)}), small_driver(), {});
  const auto json = json_of(specs, "gpu");
  EXPECT_EQ(json["cdiVersion"], "0.3.0") << "no host paths needed: any runtime reads it";
  const auto& node = json["devices"][0]["containerEdits"]["deviceNodes"][0];
  EXPECT_EQ(node["path"], "/dev/nvidia0");
  EXPECT_FALSE(node.contains("hostPath"));
  EXPECT_EQ(json["containerEdits"]["mounts"][0]["hostPath"], kLib + "/libcuda.so." + kVersion);
  EXPECT_THAT(paths(json["containerEdits"]), ElementsAre("/dev/nvidiactl"));
  EXPECT_EQ(json["containerEdits"]["hooks"][0]["args"],
            (Json{"nvidia-ctk", "hook", "create-symlinks", "--link",
                  "libcuda.so.1::" + kLib + "/libcuda.so"}));
}

TEST(MakeSpecs, NamesAndDevicesOfEveryResource) {
  auto offer = offer_of({whole(0)});
  offer.resources.push_back(offer.resources[0]);
  offer.resources[1].devices = {instance(1, 0), whole(0)};
  const auto machine = test::machine_of({test::l20(0), test::a100_40gb(1).mig({"1g.5gb"})});
  const auto by_uuid = json_of(specs_of(offer, machine, small_driver(), {}), "gpu");
  ASSERT_EQ(by_uuid["devices"].size(), 2U) << "a device of two resources is listed once";
  EXPECT_EQ(by_uuid["devices"][0]["name"], test::gpu_uuid(0));
  EXPECT_EQ(by_uuid["devices"][1]["name"], test::mig_uuid(1, 0));
  EXPECT_THAT(paths(by_uuid["devices"][1]["containerEdits"]),
              ElementsAre("/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap21",
                          "/dev/nvidia-caps/nvidia-cap22"));

  const auto by_index = json_of(
      specs_of(offer, machine, small_driver(), {.id_strategy = config::DeviceIdStrategy::kIndex}),
      "gpu");
  EXPECT_EQ(by_index["devices"][0]["name"], "0");
  EXPECT_EQ(by_index["devices"][1]["name"], "1:0");
  EXPECT_EQ(by_index["cdiVersion"], "0.5.0") << "names that begin with a digit";
}

// As in NVIDIA's plugin: --dev-root is for nodes in the host's /dev.
TEST(MakeSpecs, NodesAreNamedOnTheHostWhereTheyWereFound) {
  struct Case {
    std::string name;
    bool nodes_below_driver, imex_below_driver;
    std::string node, channel;
  };
  const std::vector<Case> cases = {
      {"of the host", false, false, "/host/dev", "/host/dev"},
      {"of a driver container", true, true, "/run/driver/dev", "/run/driver/dev"},
      {"channels on the host alone", true, false, "/run/driver/dev", "/host/dev"},
  };
  for (const auto& c : cases) {
    auto files = small_driver();
    files.nodes_below_driver = c.nodes_below_driver;
    files.imex_below_driver = c.imex_below_driver;
    const auto specs =
        specs_of(offer_of({whole(0)}), test::machine_of({test::l20(0)}), files,
                 {.driver_root = "/run/driver", .dev_root = "/host", .imex_channels = {0}});
    const auto host_path = [&](const std::string& class_name) {
      return json_of(specs,
                     class_name)["devices"][0]["containerEdits"]["deviceNodes"][0]["hostPath"];
    };
    EXPECT_EQ(host_path("gpu"), c.node + "/nvidia0") << c.name;
    EXPECT_EQ(host_path("imex-channel"), c.channel + "/nvidia-caps-imex-channels/channel0")
        << c.name;
    EXPECT_EQ(json_of(specs, "gpu")["containerEdits"]["deviceNodes"][0]["hostPath"],
              c.node + "/nvidiactl")
        << c.name;
  }
}

// A new instance: no program on the host has needed its node yet.
TEST(MakeSpecs, NodeOfAnInstanceThatIsNotThere) {
  auto files = small_driver();
  files.nodes.erase("/dev/nvidia-caps/nvidia-cap22");
  files.caps_major = 237;
  const auto machine = test::machine_of({test::l20(0), test::a100_40gb(1).mig({"1g.5gb"})});
  const auto nodes = [&] {
    const auto json = json_of(specs_of(offer_of({instance(1, 0)}), machine, files, {}), "gpu");
    return json["devices"][0]["containerEdits"]["deviceNodes"];
  };
  EXPECT_EQ(nodes()[2], Json::parse(R"({"path":"/dev/nvidia-caps/nvidia-cap22","type":"c",
      "major":237,"minor":22,"fileMode":292,"permissions":"rwm"})"));
  EXPECT_FALSE(nodes()[1].contains("type")) << "this one is there";
  files.caps_major.reset();
  EXPECT_EQ(nodes()[2], Json::parse(R"({"path":"/dev/nvidia-caps/nvidia-cap22"})"));
}

TEST(MakeSpecs, NodeThatIsNotThere) {
  auto files = small_driver();
  files.nodes.erase("/dev/nvidia0");
  const auto specs = specs_of(offer_of({whole(0)}), test::machine_of({test::l20(0)}), files, {});
  EXPECT_EQ(json_of(specs, "gpu")["devices"][0]["containerEdits"]["deviceNodes"],
            Json::parse(R"([{"path":"/dev/nvidia0"}])"));
  EXPECT_THAT(specs.warnings,
              ElementsAre(AllOf(HasSubstr("device nodes are missing: /dev/nvidia0;"),
                                HasSubstr("nvidia-modprobe"))));
}

TEST(MakeSpecs, DisplayFiles) {
  auto files = small_driver();
  files.nodes["/dev/dri/card1"] = numbers(226, 1, 0660, 44);
  files.nodes["/dev/dri/renderD128"] = numbers(226, 128, 0660, 105);
  const auto mig_gpu = test::a100_40gb(0).mig({"1g.5gb", "1g.5gb+gfx"});
  const auto machine = test::machine_of({mig_gpu});
  files.drm[machine.gpus[0].pci] = {.nodes = {"/dev/dri/card1", "/dev/dri/renderD128"},
                                    .links = {"../card1::/dev/dri/by-path/pci-0000:10:00.0-card"}};

  const auto json = json_of(
      specs_of(offer_of({whole(0), instance(0, 0), instance(0, 1)}), machine, files, {}), "gpu");
  EXPECT_EQ(json["cdiVersion"], "0.7.0");
  const auto& gpu = json["devices"][0]["containerEdits"];
  EXPECT_THAT(paths(gpu), ElementsAre("/dev/nvidia0", "/dev/dri/card1", "/dev/dri/renderD128"));
  EXPECT_EQ(gpu["additionalGids"], (Json{44, 105}));
  EXPECT_EQ(gpu["hooks"][0]["args"].back(), "../card1::/dev/dri/by-path/pci-0000:10:00.0-card");
  EXPECT_THAT(paths(json["devices"][1]["containerEdits"]), Not(Contains(HasSubstr("dri"))));
  EXPECT_THAT(paths(json["devices"][2]["containerEdits"]), Contains("/dev/dri/card1"));

  const auto without =
      specs_of(offer_of({whole(0)}), machine, files, {.features = {.no_additional_gids = true}});
  EXPECT_THAT(without.files[0].json, Not(HasSubstr("additionalGids")));
}

TEST(MakeSpecs, DisabledHooks) {
  struct Case {
    std::string name;
    std::set<std::string> disabled;
    std::vector<std::string> want;
  };
  const std::vector<Case> cases = {
      {"none",
       {},
       {"create-symlinks", "enable-cuda-compat", "update-ldcache",
        "disable-device-node-modification", "update-application-profile"}},
      {"one",
       {"enable-cuda-compat"},
       {"create-symlinks", "update-ldcache", "disable-device-node-modification",
        "update-application-profile"}},
      {"all", {"all"}, {}},
  };
  for (const auto& c : cases) {
    const auto json = json_of(specs_of(offer_of({whole(0)}), test::machine_of({test::l20(0)}),
                                       small_driver(), {.disabled_hooks = c.disabled}),
                              "gpu");
    EXPECT_EQ(hook_names(json["containerEdits"]), c.want) << c.name;
  }
}

TEST(MakeSpecs, MountOptions) {
  auto files = small_driver();
  files.firmware = {"/lib/firmware/nvidia/550.163.01/gsp_ga10x.bin"};
  files.sockets = {"/run/nvidia-persistenced/socket"};
  files.configs = {
      {"/usr/share/vulkan/icd.d/nvidia_icd.json", "/etc/vulkan/icd.d/nvidia_icd.json"}};
  files.explicit_libraries = {kLib + "/libEGL.so"};
  const auto mounts = [&](const Features& features) {
    const auto json =
        json_of(specs_of(offer_of({whole(0)}), test::machine_of({test::l20(0)}), files,
                         {.driver_root = "/run/nvidia/driver/", .features = features}),
                "gpu");
    std::map<std::string, std::string> out;
    for (const auto& mount : json["containerEdits"]["mounts"]) {
      out[mount["containerPath"]] =
          mount["hostPath"].get<std::string>() + " " + mount["options"].dump();
    }
    return out;
  };
  const std::string read_only = R"( ["ro","nosuid","nodev","rbind","rprivate"])";
  const auto usual = mounts({});
  EXPECT_EQ(usual.at(files.firmware[0]), "/run/nvidia/driver" + files.firmware[0] + read_only);
  EXPECT_EQ(usual.at("/etc/vulkan/icd.d/nvidia_icd.json"),
            "/run/nvidia/driver/usr/share/vulkan/icd.d/nvidia_icd.json" + read_only);
  EXPECT_EQ(usual.at("/run/nvidia-persistenced/socket"),
            "/run/nvidia/driver/run/nvidia-persistenced/socket "
            R"(["nosuid","nodev","rbind","rprivate","noexec"])");
  EXPECT_FALSE(usual.contains(kLib + "/libEGL.so"));

  const auto flagged = mounts({.explicit_driver_libraries = true, .no_ipc = true});
  EXPECT_TRUE(flagged.contains(kLib + "/libEGL.so"));
  EXPECT_FALSE(flagged.contains("/run/nvidia-persistenced/socket"));
}

TEST(MakeSpecs, ModesAndImex) {
  auto files = small_driver();
  files.nodes["/dev/nvidia-fs0"] = numbers(509, 0);
  files.nodes["/dev/gdrdrv"] = numbers(508, 0);
  files.nodes["/dev/infiniband/rdma_cm"] = numbers(10, 58);
  files.nodes["/dev/infiniband/uverbs0"] = numbers(231, 192);
  files.gds_files = {"/run/udev"};
  const SpecOptions options{.dev_root = "/run/nvidia/driver",
                            .gdrcopy = true,
                            .gds = true,
                            .mofed = true,
                            .imex_channels = {0}};
  const auto machine = test::machine_of({test::l20(0)});
  const auto specs = specs_of(offer_of({whole(0)}), machine, files, options);
  std::vector<std::string> written;
  for (const auto& file : specs.files) written.push_back(file.class_name);
  EXPECT_THAT(written, ElementsAre("gpu", "imex-channel", "gdrcopy", "gds", "mofed"));
  EXPECT_THAT(specs.modes, ElementsAre("gdrcopy", "gds", "mofed"));
  EXPECT_THAT(specs.warnings, IsEmpty());

  EXPECT_EQ(json_of(specs, "imex-channel"), Json::parse(R"({"cdiVersion":"0.5.0",
              "kind":"k8s.device-plugin.nvidia.com/imex-channel",
              "devices":[{"name":"0","containerEdits":{"deviceNodes":[
                {"path":"/dev/nvidia-caps-imex-channels/channel0",
                 "hostPath":"/run/nvidia/driver/dev/nvidia-caps-imex-channels/channel0"}]}}],
              "containerEdits":{}})"));
  for (const auto* mode : {"gdrcopy", "gds", "mofed"}) {
    EXPECT_EQ(json_of(specs, mode)["containerEdits"],
              Json::parse(R"({"env":["NVIDIA_VISIBLE_DEVICES=void"]})"))
        << mode;
  }
  const auto gds = json_of(specs, "gds")["devices"][0];
  EXPECT_EQ(gds["name"], "all");
  EXPECT_THAT(paths(gds["containerEdits"]), ElementsAre("/dev/nvidia-fs0"));
  EXPECT_EQ(gds["containerEdits"]["mounts"][0]["containerPath"], "/run/udev");
  EXPECT_THAT(paths(json_of(specs, "mofed")["devices"][0]["containerEdits"]),
              ElementsAre("/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0"));
}

TEST(MakeSpecs, EmptyModesAreDroppedWithAWarning) {
  const auto specs = specs_of(offer_of({whole(0)}), test::machine_of({test::l20(0)}),
                              small_driver(), {.gdrcopy = true, .gds = true, .mofed = true});
  EXPECT_EQ(specs.files.size(), 1U);
  EXPECT_THAT(specs.modes, IsEmpty());
  EXPECT_THAT(specs.warnings, ElementsAre(HasSubstr("/dev/gdrdrv"), HasSubstr("/dev/nvidia-fs*"),
                                          HasSubstr("/dev/infiniband")));
}

// A runtime refuses the whole file because of such a device.
TEST(MakeSpecs, ADeviceWhoseNodesAreUnknownIsLeftOut) {
  auto unknown = whole(1);
  unknown.paths.clear();
  const auto machine = test::machine_of({test::l20(0), test::l20(1)});
  const auto json =
      json_of(specs_of(offer_of({whole(0), unknown}), machine, small_driver(), {}), "gpu");
  ASSERT_EQ(json["devices"].size(), 1U);
  EXPECT_THAT(specs_of(offer_of({unknown}), machine, small_driver(), {}).files, IsEmpty());
}

TEST(MakeSpecs, WhatARuntimeWouldRefuseIsAnError) {
  const auto specs = make_specs(offer_of({whole(0)}), test::machine_of({test::l20(0)}),
                                small_driver(), {.hook_program = ""});
  ASSERT_FALSE(specs.has_value());
  EXPECT_THAT(specs.error().what, HasSubstr("CDI file k8s.device-plugin.nvidia.com-gpu.json: hook "
                                            "createContainer without the path"));
}

TEST(MakeSpecs, NothingOfferedNothingWritten) {
  EXPECT_THAT(specs_of({}, {}, small_driver(), {}).files, IsEmpty());
}

TEST(MakeSpecs, Features) {
  std::vector<std::string> warnings;
  const std::vector<std::string> names = {
      "enable-explicit-driver-libraries", "no-additional-gids-for-device-nodes",
      "disable-ipc-discoverer",           "disable-nvsandboxutils",
      "disable-nvsandbox-utils",          "disable-multiple-csv-devices"};
  EXPECT_EQ(
      parse_features(names, warnings),
      (Features{.explicit_driver_libraries = true, .no_additional_gids = true, .no_ipc = true}));
  EXPECT_THAT(warnings, IsEmpty());
  const std::vector<std::string> odd = {"enable-coherent-annotations", "turbo"};
  EXPECT_EQ(parse_features(odd, warnings), Features{});
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("not supported"), HasSubstr("turbo: unknown")));
}

TEST(MakeSpecs, NamesOfHooksThatAreNoneAreTold) {
  std::vector<std::string> warnings;
  const std::vector<std::string> names = {"all",
                                          "create-symlinks",
                                          "enable-cuda-compat",
                                          "update-ldcache",
                                          "chmod",
                                          "disable-device-node-modification",
                                          "update-application-profile"};
  EXPECT_EQ(parse_disabled_hooks(names, warnings).size(), names.size());
  EXPECT_THAT(warnings, IsEmpty());
  const std::vector<std::string> odd = {"update-ldcash"};
  parse_disabled_hooks(odd, warnings);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("CDI hook update-ldcash: unknown")));
}

// The rules of the CDI specification that a runtime checks.
void expect_valid_edits(const Json& edits, const std::string& where) {
  for (const auto& [key, value] : edits.items()) {
    EXPECT_THAT(
        (std::vector<std::string>{"env", "deviceNodes", "hooks", "mounts", "additionalGids"}),
        Contains(key))
        << where;
  }
  for (const auto& env : edits.value("env", Json::array())) {
    EXPECT_TRUE(std::regex_match(env.get<std::string>(), std::regex("[A-Za-z_][A-Za-z0-9_]*=.*")))
        << where << env;
  }
  for (const auto& node : edits.value("deviceNodes", Json::array())) {
    EXPECT_TRUE(node.at("path").get<std::string>().starts_with("/")) << where;
    EXPECT_TRUE(std::regex_match(node.value("permissions", ""), std::regex("[rwm]*"))) << where;
  }
  for (const auto& hook : edits.value("hooks", Json::array())) {
    EXPECT_EQ(hook.at("hookName"), "createContainer") << where;
    EXPECT_TRUE(hook.at("path").get<std::string>().starts_with("/")) << where;
    EXPECT_FALSE(hook.at("args").empty()) << where;
  }
  for (const auto& mount : edits.value("mounts", Json::array())) {
    EXPECT_TRUE(mount.at("hostPath").get<std::string>().starts_with("/")) << where;
    EXPECT_TRUE(mount.at("containerPath").get<std::string>().starts_with("/")) << where;
  }
}

TEST(MakeSpecs, EveryFileKeepsTheRulesOfTheSpecification) {
  auto files = small_driver();
  files.nodes["/dev/gdrdrv"] = numbers(508, 0, 0660, 12);
  files.binaries = {"/usr/bin/nvidia-smi"};
  files.sockets = {"/run/nvidia-persistenced/socket"};
  const auto specs = specs_of(offer_of({whole(0), whole(1), instance(1, 0)}),
                              test::machine_of({test::l20(0), test::a100_40gb(1).mig({"1g.5gb"})}),
                              files, {.dev_root = "/d", .gdrcopy = true, .imex_channels = {0}});
  ASSERT_EQ(specs.files.size(), 3U);
  for (const auto& file : specs.files) {
    const auto json = Json::parse(file.json);
    EXPECT_TRUE(
        std::regex_match(json.at("cdiVersion").get<std::string>(), std::regex("0\\.[3-7]\\.0")));
    EXPECT_TRUE(std::regex_match(json.at("kind").get<std::string>(),
                                 std::regex("[a-z][a-z0-9.-]*[a-z0-9]/[a-z][a-z0-9-]*[a-z0-9]")));
    expect_valid_edits(json.at("containerEdits"), file.class_name + " ");
    std::set<std::string> names;
    for (const auto& device : json.at("devices")) {
      const auto name = device.at("name").get<std::string>();
      EXPECT_TRUE(std::regex_match(name, std::regex("[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")))
          << name;
      EXPECT_TRUE(names.insert(name).second) << name << " twice";
      EXPECT_FALSE(device.at("containerEdits").empty()) << "a device must edit something: " << name;
      expect_valid_edits(device.at("containerEdits"), name + " ");
    }
    EXPECT_FALSE(names.empty()) << file.class_name;
  }
}

}  // namespace
}  // namespace tranche::cdi::make_specs_test
