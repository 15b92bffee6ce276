#include "explain/lint/cel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explain/lint/testing.h"

namespace tranche::lint::cel_test {
namespace {

using testing::HasSubstr;

struct Case {
  const char* name;
  const char* written;
  const char* corrected;  // "": it stays
  const char* says = "";  // "": nothing
};

class Cel : public testing::TestWithParam<Case> {};

TEST_P(Cel, IsCorrectedOnce) {
  const auto& [name, written, corrected, says] = GetParam();
  const auto around = testing_::around();
  const auto checked = check_cel(written, around);
  std::string texts;
  for (const auto& one : checked.findings) texts += one.what + "; " + one.fix + '\n';
  EXPECT_EQ(checked.expression, *corrected == '\0' ? written : corrected) << texts;
  if (*says == '\0') {
    EXPECT_EQ(texts, "");
  } else {
    EXPECT_THAT(texts, HasSubstr(says));
  }
  for (const auto& one : check_cel(checked.expression, around).findings) {
    EXPECT_FALSE(one.corrected) << one.what;
  }
}

constexpr const char* kMemory = "device.capacity['gpu.nvidia.com'].memory";

INSTANTIATE_TEST_SUITE_P(
    All, Cel,
    testing::Values(
        Case{"right",
             "device.driver == 'gpu.nvidia.com' && "
             "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0",
             ""},
        Case{"asPublished",
             "device.driver == 'gpu.nvidia.com' && device.attributes['memory'] >= 40000",
             "device.driver == 'gpu.nvidia.com' && "
             "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40000Mi')) >= 0",
             "memory is no attribute but a capacity"},
        Case{"gib", "device.capacity['gpu.nvidia.com'].memory > 40",
             "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) > 0",
             "40 is read as 40Gi"},
        Case{"bytes", "device.capacity['gpu.nvidia.com'].memory >= 42949672960",
             "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('42949672960')) >= 0",
             "compared with a number"},
        Case{"text", "(device.capacity['gpu.nvidia.com'].memory == \"40Gi\")",
             "(device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) == 0)",
             "compared with a text"},
        Case{"quantitiesHaveNoOrder", "device.capacity['gpu.nvidia.com'].memory<quantity('40Gi')",
             "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) < 0",
             "quantities have no <"},
        Case{"quantitiesAreEqual", "device.capacity['gpu.nvidia.com'].memory == quantity('40Gi')",
             ""},
        Case{"before", "40000 <= device.attributes.memory || true",
             "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40000Mi')) >= 0 || true",
             "memory is no attribute"},
        Case{"attributeNotCapacity", "device.capacity['gpu.nvidia.com'].uuid == 'GPU-0'",
             "device.attributes['gpu.nvidia.com'].uuid == 'GPU-0'",
             "uuid is no capacity but an attribute"},
        Case{"noDomain", "device.attributes['productName'] == 'NVIDIA L20'",
             "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA L20'",
             "the brackets hold a domain, and productName is none"},
        Case{"qualified", "device.attributes['resource.kubernetes.io/pcieRoot'] == 'x'",
             "device.attributes['resource.kubernetes.io'].pcieRoot == 'x'",
             "the domain stands in the brackets"},
        Case{"version", "device.attributes['gpu.nvidia.com'].cudaComputeCapability >= '9.0'",
             "device.attributes['gpu.nvidia.com'].cudaComputeCapability.compareTo(semver('9.0.0')) "
             ">= 0",
             "a version cannot be compared with a text"},
        Case{"versionNumber", "device.attributes['gpu.nvidia.com'].cudaComputeCapability == 8.9",
             "device.attributes['gpu.nvidia.com'].cudaComputeCapability.compareTo(semver('8.9.0')) "
             "== 0",
             "a version cannot be compared with a number"},
        Case{"versionOrder",
             "device.attributes['gpu.nvidia.com'].cudaComputeCapability >= semver('9.0.0')",
             "device.attributes['gpu.nvidia.com'].cudaComputeCapability.compareTo(semver('9.0.0')) "
             ">= 0",
             "versions have no >="},
        Case{"numberAsText", "device.attributes['gpu.nvidia.com'].numaNode == '0'",
             "device.attributes['gpu.nvidia.com'].numaNode == 0", "compared with a text"},
        Case{"truth", "device.attributes['gpu.nvidia.com'].healthy == 'true'",
             "device.attributes['gpu.nvidia.com'].healthy == true", "true or false"},
        Case{"unknown", "device.attributes['gpu.nvidia.com'].product == 'NVIDIA L20'", "",
             "no attribute and no capacity product"},
        Case{"misspelt", "device.attributes['gpu.nvidia.com'].productNme == 'NVIDIA L20'", "",
             "did you mean \"productName\"?"},
        Case{"domainMisspelt", "device.attributes['nvidia.com'].productName == 'x'", "",
             "did you mean \"gpu.nvidia.com\"?"},
        Case{"anothersDomain", "device.attributes['dra.example.com'].x == 1", ""},
        Case{"driverMisspelt", "device.driver == 'gpu.nvidia.con'", "",
             "did you mean \"gpu.nvidia.com\"?"},
        Case{"wholeDomain", "'uuid' in device.attributes['gpu.nvidia.com']", ""},
        Case{"inText", "device.driver == \"device.attributes['memory'] >= 1\"", ""},
        Case{"arithmetic", "device.attributes['gpu.nvidia.com'].numaNode + 1 == 2", ""},
        Case{"method", "device.attributes['gpu.nvidia.com'].productName.startsWith('NVIDIA')", ""},
        Case{"methodOfAText", "device.capacity['gpu.nvidia.com'].memory.compareTo('40Gi') >= 0",
             "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0",
             "compared with a text"},
        Case{"methodOfANumber", "!device.capacity['gpu.nvidia.com'].memory.isLessThan(40)",
             "!device.capacity['gpu.nvidia.com'].memory.isLessThan(quantity('40Gi'))",
             "40 is read as 40Gi"},
        Case{
            "methodOfAVersion",
            "device.attributes['cudaComputeCapability'].isGreaterThan(semver('8.9'))",
            "device.attributes['gpu.nvidia.com'].cudaComputeCapability.isGreaterThan(semver('8.9.0'"
            "))",
            "the brackets hold a domain"},
        Case{"methodThatIsRight",
             "device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('40Gi'))", ""},
        Case{"otherVariable", "my.device.attributes['memory'] >= 1", ""},
        Case{"noQuantity", "device.capacity['gpu.nvidia.com'].memory >= 'much'", "",
             "write a comparison"},
        Case{"empty", "  ", "", "the expression is empty"},
        Case{"openText", "device.driver == 'gpu", "", "is not closed"},
        Case{"openBracket", "(device.driver == 'x'", "", "a \"(\" is not closed"},
        Case{"wrongBracket", "device.driver == ('x']", "", "closes nothing"},
        Case{"assignment", "device.driver = 'x'", "", "write == to compare"},
        Case{"sign", "device.driver ; 'x'", "", "no sign of CEL"}),
    [](const auto& one) { return one.param.name; });

TEST(CelLength, IsBounded) {
  const auto checked = check_cel(std::string(kLongestCel + 1, ' '), testing_::around());
  ASSERT_EQ(checked.findings.size(), 1U);
  EXPECT_THAT(checked.findings[0].what, HasSubstr("10241 bytes"));
}

TEST(CelOfACluster, UnknownNamesAreErrors) {
  auto around = testing_::around();
  for (const bool asked : {false, true}) {
    around.names_are_the_clusters = asked;
    const auto checked = check_cel("device.attributes['gpu.nvidia.com'].brand == 'Tesla'", around);
    ASSERT_EQ(checked.findings.size(), 1U);
    EXPECT_EQ(checked.findings[0].certain, asked);
  }
  const auto other = check_cel("device.attributes['dra.example.com'].x == 1", around);
  ASSERT_EQ(other.findings.size(), 1U);
  EXPECT_TRUE(other.findings[0].certain);
}

// Several edits of one expression do not disturb each other.
TEST(CelEdits, SeveralOfThem) {
  const std::string memory = kMemory;
  const auto checked = check_cel(
      "device.attributes['memory'] >= 40 && (8 < device.capacity['gpu.nvidia.com'].compute || "
      "device.attributes['type'] == 'gpu')",
      testing_::around());
  EXPECT_EQ(checked.expression,
            memory +
                ".compareTo(quantity('40Gi')) >= 0 && "
                "(device.capacity['gpu.nvidia.com'].compute.compareTo(quantity('8')) > 0 || "
                "device.attributes['gpu.nvidia.com'].type == 'gpu')");
}

}  // namespace
}  // namespace tranche::lint::cel_test
