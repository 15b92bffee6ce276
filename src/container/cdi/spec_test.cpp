#include "cdi/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cdi/hooks.h"

namespace tranche::cdi::spec_test {
namespace {

using testing::ElementsAre;

DeviceNode node(std::string path, std::string host_path = "") {
  return {.container_path = std::move(path), .host_path = std::move(host_path)};
}

Spec one_device(const std::string& name, ContainerEdits edits) {
  return {.kind = "vendor.com/class", .devices = {{.name = name, .edits = std::move(edits)}}};
}

TEST(SpecJson, LeavesOutWhatIsEmptyOrZero) {
  auto spec = one_device("a", {.device_nodes = {node("/dev/x")}});
  EXPECT_EQ(to_json(spec),
            R"({"cdiVersion":"0.3.0","kind":"vendor.com/class","devices":[{"name":"a",)"
            R"("containerEdits":{"deviceNodes":[{"path":"/dev/x"}]}}],"containerEdits":{}})");
}

TEST(SpecJson, EveryField) {
  auto full = node("/dev/x", "/root/dev/x");
  full.major = 195;
  full.minor = 3;
  full.file_mode = 0660;
  full.permissions = "rwm";
  full.gid = 44;
  Spec spec = one_device("a", {.device_nodes = {full}});
  spec.edits.env = {"A=b"};
  spec.edits.hooks = {
      {.hook_name = "createContainer", .path = "/h", .args = {"h", "x"}, .env = {"D=1"}}};
  spec.edits.mounts = {
      {.container_path = "/f", .host_path = "/h/f", .read_only = true, .options = {"nosuid"}}};
  spec.edits.additional_gids = {44};
  EXPECT_EQ(
      to_json(spec),
      R"({"cdiVersion":"0.7.0","kind":"vendor.com/class","devices":[{"name":"a","containerEdits":)"
      R"({"deviceNodes":[{"path":"/dev/x","hostPath":"/root/dev/x","major":195,"minor":3,)"
      R"("fileMode":432,"permissions":"rwm","gid":44}]}}],"containerEdits":{"env":["A=b"],)"
      R"("hooks":[{"hookName":"createContainer","path":"/h","args":["h","x"],"env":["D=1"]}],)"
      R"("mounts":[{"hostPath":"/h/f","containerPath":"/f","options":["ro","nosuid"]}],)"
      R"("additionalGids":[44]}})");
}

TEST(SpecVersion, LowestThatHasWhatIsUsed) {
  struct Case {
    std::string name;
    Spec spec;
    std::string want;
  };
  const ContainerEdits plain{.device_nodes = {node("/dev/x")}};
  const ContainerEdits moved{.device_nodes = {node("/dev/x", "/r/dev/x")}};
  Spec common = one_device("a", plain);
  common.edits = moved;
  const std::vector<Case> cases = {
      {"nothing special", one_device("a", plain), "0.3.0"},
      {"host path of a device", one_device("a", moved), "0.5.0"},
      {"host path in the common edits", common, "0.5.0"},
      {"name begins with a digit", one_device("0", plain), "0.5.0"},
      {"additional groups", one_device("a", {.additional_gids = {44}}), "0.7.0"},
  };
  for (const auto& c : cases) EXPECT_EQ(minimum_version(c.spec), c.want) << c.name;
}

TEST(SpecOrder, ByDepthThenPathWithoutRepeats) {
  Spec spec = one_device("b", {});
  spec.devices.push_back({.name = "a", .edits = {}});
  auto& edits = spec.devices[0].edits;
  edits.device_nodes = {node("/dev/dri/card0"), node("/dev/nvidia1"), node("/dev/nvidia0"),
                        node("/dev/nvidia1")};
  edits.mounts = {{.container_path = "/usr/lib/x", .host_path = "/h/usr/lib/x"},
                  {.container_path = "/run/y", .host_path = "/h/run/y"}};
  edits.additional_gids = {44, 7, 44};
  put_in_order(spec);
  EXPECT_EQ(spec.devices[0].name, "a");
  const auto& sorted = spec.devices[1].edits;
  EXPECT_THAT(sorted.device_nodes,
              ElementsAre(node("/dev/nvidia0"), node("/dev/nvidia1"), node("/dev/dri/card0")));
  EXPECT_THAT(sorted.mounts, ElementsAre(testing::Field(&Mount::container_path, "/run/y"),
                                         testing::Field(&Mount::container_path, "/usr/lib/x")));
  EXPECT_THAT(sorted.additional_gids, ElementsAre(7, 44));
}

TEST(Hooks, ProgramDecidesTheArguments) {
  const HookMaker own("/usr/local/nvidia/toolkit/nvidia-cdi-hook", {});
  const auto hook = own.make("update-ldcache", {"--folder", "/usr/lib64"});
  ASSERT_TRUE(hook.has_value());
  EXPECT_EQ(hook->hook_name, "createContainer");
  EXPECT_EQ(hook->path, "/usr/local/nvidia/toolkit/nvidia-cdi-hook");
  EXPECT_THAT(hook->args,
              ElementsAre("nvidia-cdi-hook", "update-ldcache", "--folder", "/usr/lib64"));
  EXPECT_THAT(hook->env, ElementsAre("NVIDIA_CTK_DEBUG=false"));

  const HookMaker toolkit("/usr/bin/nvidia-ctk", {});
  EXPECT_THAT(toolkit.make("update-ldcache")->args,
              ElementsAre("nvidia-ctk", "hook", "update-ldcache"));
}

TEST(Hooks, Disabled) {
  const HookMaker some("/usr/bin/nvidia-ctk", {"update-ldcache"});
  EXPECT_FALSE(some.make("update-ldcache").has_value());
  EXPECT_TRUE(some.make("create-symlinks").has_value());
  const HookMaker none("/usr/bin/nvidia-ctk", {"all"});
  EXPECT_FALSE(none.make("create-symlinks").has_value());
}

}  // namespace
}  // namespace tranche::cdi::spec_test
