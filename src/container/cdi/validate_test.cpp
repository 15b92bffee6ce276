#include "cdi/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace tranche::cdi::validate_test {
namespace {

using ::testing::HasSubstr;

Spec good() {
  Spec spec{.kind = "k8s.device-plugin.nvidia.com/gpu"};
  Device gpu{.name = "GPU-0"};
  gpu.edits.device_nodes.push_back({.container_path = "/dev/nvidia0", .permissions = "rwm"});
  spec.devices.push_back(gpu);
  spec.edits.env = {"NVIDIA_VISIBLE_DEVICES=void", "EMPTY="};
  spec.edits.hooks.push_back({.hook_name = "createContainer", .path = "/usr/bin/nvidia-ctk"});
  spec.edits.mounts.push_back({.container_path = "/a", .host_path = "/b"});
  return spec;
}

TEST(Validate, TakesWhatRuntimesTake) {
  EXPECT_TRUE(validate(good()));
  auto by_index = good();
  by_index.devices[0].name = "0:1";
  EXPECT_TRUE(validate(by_index));
}

TEST(Validate, NamesTheRuleThatIsBroken) {
  struct Case {
    const char* name;
    std::function<void(Spec&)> spoil;
    const char* said;
  };
  const Case cases[] = {
      {"no kind", [](Spec& s) { s.kind = "gpu"; }, "no CDI kind"},
      {"no devices", [](Spec& s) { s.devices.clear(); }, "no devices"},
      {"no name", [](Spec& s) { s.devices[0].name.clear(); }, "no name of a CDI device"},
      {"a name with a slash", [](Spec& s) { s.devices[0].name = "a/b"; }, "no name of a CDI"},
      {"twice", [](Spec& s) { s.devices.push_back(s.devices[0]); }, "twice"},
      {"empty edits", [](Spec& s) { s.devices[0].edits = {}; },
       "device \"GPU-0\": it changes nothing"},
      {"a node without a path",
       [](Spec& s) { s.devices[0].edits.device_nodes[0].container_path.clear(); },
       "device node without a path"},
      {"permissions", [](Spec& s) { s.devices[0].edits.device_nodes[0].permissions = "rx"; },
       "are not of r, w, m"},
      {"a hook without a program", [](Spec& s) { s.edits.hooks[0].path.clear(); },
       "hook createContainer without the path"},
      {"an unknown hook", [](Spec& s) { s.edits.hooks[0].hook_name = "later"; }, "no hook"},
      {"a variable without a name", [](Spec& s) { s.edits.env = {"=x"}; }, "not NAME=value"},
      {"a variable without a value", [](Spec& s) { s.edits.hooks[0].env = {"X"}; },
       "not NAME=value"},
      {"a mount of nothing", [](Spec& s) { s.edits.mounts[0].host_path.clear(); },
       "one of the two is missing"},
  };
  for (const auto& c : cases) {
    auto spec = good();
    c.spoil(spec);
    const auto refused = validate(spec);
    ASSERT_FALSE(refused) << c.name;
    EXPECT_THAT(refused.error().what, HasSubstr(c.said)) << c.name;
  }
}

}  // namespace
}  // namespace tranche::cdi::validate_test
