#include "explain/lint/dra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explain/lint/testing.h"

namespace tranche::lint::dra_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_::lint_one;
using testing_::texts_of;

std::string claim(const std::string& devices, const std::string& version = "v1") {
  return "apiVersion: resource.k8s.io/" + version +
         "\nkind: ResourceClaim\nmetadata:\n  name: a\nspec:\n  devices:\n" + devices;
}

struct Case {
  const char* name;
  std::string written;
  std::string corrected;  // "": nothing
  std::vector<std::string> says;
};

class Dra : public testing::TestWithParam<Case> {};

TEST_P(Dra, IsToldAndCorrected) {
  const auto& [name, written, corrected, says] = GetParam();
  const auto result = lint_one(written);
  EXPECT_EQ(result.corrected.value_or(""), corrected);
  const auto texts = texts_of(result);
  EXPECT_EQ(texts.size(), says.size()) << testing::PrintToString(texts);
  for (const auto& one : says) EXPECT_THAT(texts, Contains(HasSubstr(one)));
  if (!result.corrected) return;
  const auto again = lint_one(*result.corrected);
  EXPECT_FALSE(again.corrected) << *again.corrected;
}

INSTANTIATE_TEST_SUITE_P(
    All, Dra,
    testing::Values(
        Case{"right",
             claim("    requests:\n    - name: gpu\n      exactly:\n        deviceClassName: c\n"),
             "",
             {}},
        Case{"flat",
             claim("    requests:\n    - name: gpu\n      deviceClassName: c\n      count: 2\n"),
             claim("    requests:\n    - name: gpu\n      exactly:\n        deviceClassName: c\n"
                   "        count: 2\n"),
             {"9 error spec.devices.requests[0].deviceClassName: deviceClassName, count stand "
              "beside name"}},
        Case{"beta1",
             claim("    requests:\n    - name: g\n      deviceClassName: c\n", "v1beta1"),
             claim("    requests:\n    - name: g\n      exactly:\n        deviceClassName: c\n"),
             {"1 error apiVersion: Kubernetes 1.36 does not serve resource.k8s.io/v1beta1",
              "deviceClassName stands beside name, where resource.k8s.io/v1 does not know it"}},
        Case{
            "beta2",
            claim("    requests:\n    - name: g\n      exactly: {deviceClassName: c}\n", "v1beta2"),
            claim("    requests:\n    - name: g\n      exactly:\n        deviceClassName: c\n"),
            {"1 error apiVersion"}},
        Case{"halfMoved",
             claim("    requests:\n    - name: g\n      count: 1\n      exactly: {deviceClassName: "
                   "c}\n"),
             claim("    requests:\n    - name: g\n      exactly:\n        deviceClassName: c\n"
                   "        count: 1\n"),
             {"count stands beside name"}},
        Case{"halfMovedWithCel",
             claim("    requests:\n    - name: g\n      selectors: [{cel: {expression: "
                   "\"device.attributes['memory'] > 4\"}}]\n      exactly: {deviceClassName: c}\n"),
             claim("    requests:\n    - name: g\n      exactly:\n        deviceClassName: c\n"
                   "        selectors:\n        - cel:\n            expression: \"device.capacity["
                   "'gpu.nvidia.com'].memory.compareTo(quantity('4Gi')) > 0\"\n"),
             {"memory is no attribute", "selectors stands beside name"}},
        Case{
            "twice",
            claim(
                "    requests:\n    - name: g\n      count: 1\n      exactly: {deviceClassName: c, "
                "count: 2}\n"),
            "",
            {"count stands both beside name and below it"}},
        Case{"classic",
             "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaim\nmetadata: {name: a}\n"
             "spec: {resourceClassName: gpu.nvidia.com, allocationMode: Immediate}\n",
             "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: a\nspec:\n"
             "  devices:\n    requests:\n    - name: device\n      exactly:\n"
             "        deviceClassName: gpu.nvidia.com\n",
             {"1 error apiVersion", "no resourceClassName"}},
        Case{"resourceClass",
             "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClass\nmetadata: {name: a}\n"
             "driverName: gpu.nvidia.com\n",
             "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: a\nspec:\n"
             "  selectors:\n  - cel:\n      expression: \"device.driver == 'gpu.nvidia.com'\"\n",
             {"no ResourceClass"}},
        Case{"scheduling",
             "apiVersion: resource.k8s.io/v1alpha2\nkind: PodSchedulingContext\nmetadata: {name: "
             "a}\n",
             "",
             {"has no kind PodSchedulingContext"}},
        Case{"template",
             "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: a}\n"
             "spec: {devices: {requests: [{name: g, exactly: {deviceClassName: c}}]}}\n",
             "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata:\n  name: a\n"
             "spec:\n  spec:\n    devices:\n      requests:\n      - name: g\n        exactly:\n"
             "          deviceClassName: c\n",
             {"4 error spec: devices stand in the template's spec"}},
        Case{"capacityKey",
             claim(
                 "    requests:\n    - name: g\n      exactly:\n        deviceClassName: c\n"
                 "        capacity:\n          requests:\n            gpu.nvidia.com/memory: 12Gi\n"
                 "            compute: 50%\n"),
             claim("    requests:\n    - name: g\n      exactly:\n        deviceClassName: c\n"
                   "        capacity:\n          requests:\n            memory: 12Gi\n"
                   "            compute: \"50\"\n"),
             {"so the claim would wait for ever; write memory", "50% is no quantity"}},
        Case{
            "amounts",
            claim("    requests:\n    - name: g\n      exactly:\n        deviceClassName: c\n"
                  "        capacity:\n          requests: {memory: 12, compute: 500m, mem: 1Gi}\n"),
            "",
            {"memory is 12 bytes; write a unit, such as 12Gi", "500m is no whole number",
             "no device has a capacity mem"}},
        Case{"tooMuch",
             claim("    requests:\n    - name: g\n      exactly:\n        deviceClassName: c\n"
                   "        capacity: {requests: {compute: 150, memory: -1Gi}}\n"),
             "",
             {"compute is 150, and a device has 100 percent", "-1Gi is negative"}},
        Case{"constraints",
             claim("    requests:\n    - name: g\n      exactly: {deviceClassName: c, count: 2}\n"
                   "    constraints:\n    - matchAttribute: uuid\n      requests: [h]\n"),
             claim("    requests:\n    - name: g\n      exactly:\n        deviceClassName: c\n"
                   "        count: 2\n    constraints:\n    - matchAttribute: "
                   "\"gpu.nvidia.com/uuid\"\n"
                   "      requests:\n      - h\n"),
             {"uuid lacks the domain", "the claim has no request h"}},
        Case{
            "unknownFields",
            claim(
                "    request: []\n    requests:\n    - name: g\n      exactly: {deviceClass: c}\n"),
            "",
            {"unknown field \"request\"; did you mean \"requests\"?",
             "unknown field \"deviceClass\"; did you mean \"deviceClassName\"?",
             "deviceClassName is missing"}},
        Case{"wrongKinds",
             claim("    requests: {name: g}\n    constraints: [1]\n"),
             "",
             {"requests is a mapping where a list is expected",
              "the entry is a scalar where a mapping is expected"}},
        Case{"counts",
             claim("    requests:\n    - name: g\n      exactly: {deviceClassName: c, count: 0}\n"
                   "    - name: h\n      exactly: {deviceClassName: c, count: 2, allocationMode: "
                   "All}\n"
                   "    - exactly: {deviceClassName: c, allocationMode: Some}\n    - name: i\n"),
             "",
             {"0 is no number of devices", "count stands beside allocationMode: All",
              "Some is no allocationMode", "the request has no name",
              "the request asks for nothing"}},
        Case{"slice",
             "apiVersion: resource.k8s.io/v1beta1\nkind: ResourceSlice\nmetadata: {name: a}\n"
             "spec:\n  driver: d\n  devices:\n  - name: x\n    basic:\n      capacity: {memory: "
             "1Gi}\n",
             "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata:\n  name: a\nspec:\n"
             "  driver: d\n  devices:\n  - name: x\n    capacity:\n      memory:\n        value: "
             "1Gi\n",
             {"1 error apiVersion", "no basic", "a capacity is a mapping"}},
        Case{"sliceOfBoth",
             "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: a}\n"
             "spec: {driver: d, devices: [{name: x}], sharedCounters: [{name: c}]}\n",
             "",
             {"devices and sharedCounters stand in one ResourceSlice"}},
        Case{"futureVersion",
             claim("    requests: []\n", "v2"),
             "",
             {"resource.k8s.io has no version v2"}}),
    [](const auto& one) { return one.param.name; });

TEST(DraNames, AreThoseOfTheCluster) {
  auto around = testing_::around();
  around.classes = {"gpu.nvidia.com"};
  const auto text =
      claim("    requests:\n    - name: g\n      exactly: {deviceClassName: gpu.nvida.com}\n");
  EXPECT_THAT(texts_of(lint_one(text, around)),
              ElementsAre(HasSubstr("have no DeviceClass gpu.nvida.com; did you mean")));
  // A DeviceClass in a file is known.
  const auto both = text +
                    "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\n"
                    "metadata: {name: gpu.nvida.com}\nspec: {}\n";
  EXPECT_THAT(texts_of(lint_one(both, around)), IsEmpty());
}

TEST(DraParameters, AreReadByTheDriversReader) {
  auto around = testing_::around();
  around.check_parameters = [](std::string_view json) -> Result<void> {
    return fail(Code::kInvalidArgument, std::string(json), "hint");
  };
  const auto text = claim(
      "    requests:\n    - name: g\n      exactly: {deviceClassName: c}\n    config:\n"
      "    - opaque: {driver: gpu.nvidia.com, parameters: {kind: GpuConfig}}\n"
      "    - opaque: {driver: other.example.com, parameters: {kind: X}}\n");
  EXPECT_THAT(texts_of(lint_one(text, around)),
              ElementsAre(HasSubstr("parameters: {\"kind\":\"GpuConfig\"}; hint")));
}

}  // namespace
}  // namespace tranche::lint::dra_test
