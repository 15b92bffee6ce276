#include "explain/lint/driver_name.h"

#include <gtest/gtest.h>

#include "explain/lint/testing.h"

namespace tranche::lint::driver_name_test {
namespace {

std::optional<std::string> named_in(const std::string& text) {
  return driver_named_in(
      {{.name = "first.yaml", .text = "kind: Pod\n"}, {.name = "second.yaml", .text = text}});
}

constexpr const char* kController = R"(
apiVersion: v1
kind: Namespace
---
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      - name: controller
        args: [--namespace=tranche, --dra-driver-name=gpu.example.com]
)";

constexpr const char* kAgent = R"(
apiVersion: apps/v1
kind: DaemonSet
spec:
  template:
    spec:
      containers:
      - name: agent
        env:
        - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: TRANCHE_DRA_DRIVER_NAME, value: gpu.example.com}
)";

TEST(DriverNamedIn, IsReadFromOurContainers) {
  EXPECT_EQ(named_in(kController), "gpu.example.com");
  EXPECT_EQ(named_in(kAgent), "gpu.example.com");
}

TEST(DriverNamedIn, IsNothingWhereNoContainerHasIt) {
  EXPECT_EQ(named_in("apiVersion: v1\nkind: Pod\n"), std::nullopt);
  EXPECT_EQ(named_in("# --dra-driver-name=gpu.example.com\nkind: Pod\n"), std::nullopt);
  EXPECT_EQ(named_in("args: [--dra-driver-name=]\n"), std::nullopt);
  EXPECT_EQ(named_in("args: [--dra-driver-name=gpu.example.com\n"), std::nullopt) << "no YAML";
}

// Names without a domain are of this driver.
TEST(DriverNamedIn, IsTheDomainThatLintWrites) {
  auto around = testing_::around();
  around.names.add("gpu.example.com", "uuid", AttributeKind::kText);
  around.driver = "gpu.example.com";
  const auto texts = testing_::texts_of(testing_::lint_one(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.nvidia.com, count: 2}
    constraints:
    - matchAttribute: uuid
)",
                                                           around));
  ASSERT_EQ(texts.size(), 1U) << testing::PrintToString(texts);
  EXPECT_NE(texts[0].find("write gpu.example.com/uuid"), std::string::npos) << texts[0];
}

}  // namespace
}  // namespace tranche::lint::driver_name_test
