#include "holdings/holdings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::holdings {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Holding granted(const std::string& id, Use use, const std::string& pod = "a",
                const std::string& resource = "nvidia.com/gpu") {
  const auto device = id.substr(0, id.find("::"));
  return {.device = device,
          .gpu = device.starts_with("MIG-") ? "GPU-0" : device,
          .resource = {resource},
          .id = id,
          .ns = "team",
          .pod = pod,
          .use = use};
}

Holding claimed(const std::string& device, const std::string& claim) {
  return {.device = device,
          .gpu = device.starts_with("MIG-") ? "GPU-0" : device,
          .wire = Wire::kClaim,
          .id = "gpu-0",
          .claim = claim,
          .ns = "team",
          .pod = {},
          .use = Use::kWhole};
}

std::vector<std::string> ids_of(const Holdings& holdings) {
  std::vector<std::string> ids;
  for (const auto& one : holdings) ids.push_back(one.claim.empty() ? one.id : one.claim);
  return ids;
}

TEST(Holdings, OfADeviceAreThoseOfItsSilicon) {
  const Holdings all({granted("GPU-0", Use::kWhole), granted("MIG-1", Use::kWhole),
                      granted("MIG-2", Use::kWhole), granted("GPU-1::3", Use::kTimeSliced),
                      claimed("GPU-1", "half")});
  EXPECT_THAT(ids_of(all.of_device("GPU-0")), ElementsAre("GPU-0", "MIG-1", "MIG-2"));
  EXPECT_THAT(ids_of(all.of_device("MIG-1")), ElementsAre("GPU-0", "MIG-1"))
      << "its sister is other silicon";
  EXPECT_THAT(ids_of(all.of_device("GPU-1")), ElementsAre("GPU-1::3", "half"));
  EXPECT_THAT(ids_of(all.of_device("GPU-9")), IsEmpty());
}

TEST(Holdings, OfAPodAreThoseOfBothWires) {
  auto claim = claimed("GPU-1", "half");
  claim.pod = "b";
  const Holdings all(
      {granted("GPU-0", Use::kWhole, "a"), granted("GPU-2", Use::kWhole, "b"), claim});
  EXPECT_THAT(ids_of(all.of_pod("team", "b")), ElementsAre("GPU-2", "half"));
  EXPECT_TRUE(all.of_pod("other", "b").empty());
}

TEST(Holdings, WhichExcludeEachOther) {
  struct Case {
    const char* name;
    Holding held;
    Holding wanted;
    bool excluded;
  };
  const auto place = [] {
    auto one = claimed("", "cut");
    one.gpu = "GPU-0";
    return one;
  }();
  const Case cases[] = {
      {"the same id again", granted("GPU-0", Use::kWhole), granted("GPU-0", Use::kWhole), false},
      {"whole under another name", granted("GPU-0", Use::kWhole),
       granted("GPU-0", Use::kWhole, "b", "nvidia.com/a100"), true},
      {"whole, then one of its replicas", granted("GPU-0", Use::kWhole),
       granted("GPU-0::1", Use::kTimeSliced), false},
      {"whole, then a replica of another name", granted("GPU-0", Use::kWhole),
       granted("GPU-0::1", Use::kTimeSliced, "b", "nvidia.com/gpu.shared"), true},
      {"two replicas", granted("GPU-0::0", Use::kTimeSliced), granted("GPU-0::1", Use::kTimeSliced),
       false},
      {"time-sliced against MPS", granted("GPU-0::0", Use::kTimeSliced),
       granted("GPU-0::1", Use::kMps), true},
      {"shared in a way that is not known", granted("GPU-0::0", Use::kShared),
       granted("GPU-0::1", Use::kMps), false},
      {"a GPU against its instance", granted("GPU-0", Use::kWhole), granted("MIG-1", Use::kWhole),
       true},
      {"two instances", granted("MIG-1", Use::kWhole), granted("MIG-2", Use::kWhole), false},
      {"another GPU", granted("GPU-0", Use::kWhole), granted("GPU-1", Use::kWhole), false},
      {"a claim against the device plugin", claimed("GPU-0", "half"),
       granted("GPU-0::1", Use::kTimeSliced), true},
      {"the device plugin against a claim", granted("MIG-1", Use::kWhole), claimed("GPU-0", "half"),
       true},
      {"two claims", claimed("GPU-0", "half"), claimed("GPU-0", "other"), false},
      {"an instance that is not made yet", place, granted("MIG-1", Use::kWhole), true},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(excludes(one.held, one.wanted), one.excluded);
    EXPECT_EQ(!Holdings({one.held}).conflicts(one.wanted).empty(), one.excluded);
  }
}

TEST(Holdings, NamesTheHolders) {
  auto unnamed = granted("GPU-3", Use::kWhole);
  unnamed.ns = unnamed.pod = "";
  const Holdings all({granted("GPU-0", Use::kWhole, "b"), granted("GPU-1", Use::kWhole, "a"),
                      granted("GPU-2", Use::kWhole, "a"), claimed("GPU-4", "half"), unnamed});
  EXPECT_EQ(all.describe(),
            "claim team/half, team/a, team/b, a container that kubelet does not name");
  EXPECT_EQ(Holdings().describe(), "");
}

TEST(Holdings, NameSixteenPodsAtMost) {
  std::vector<Holding> many;
  for (int i = 10; i < 50; ++i) {
    many.push_back(granted("GPU-0::" + std::to_string(i), Use::kTimeSliced, std::to_string(i)));
  }
  const auto text = describe_holders(many);
  EXPECT_THAT(text, HasSubstr("team/10, team/11"));
  EXPECT_THAT(text, HasSubstr("team/25 and 24 more"));
  EXPECT_THAT(text, Not(HasSubstr("team/26")));
}

TEST(Holdings, AnInstanceThatIsGoneKeepsNothing) {
  auto gone = granted("MIG-1", Use::kWhole);
  gone.gpu = "";
  EXPECT_FALSE(excludes(gone, granted("GPU-0", Use::kWhole)));
}

}  // namespace
}  // namespace tranche::holdings
