#include "dra/prepared.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace tranche::dra::prepared_test {
namespace {

PreparedClaim sample() {
  return {.ns = "team",
          .name = "c",
          .uid = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a",
          .boot = "boot-1",
          .devices = {{.request = "gpu",
                       .pool = "gpu-n1",
                       .device = "gpu-0",
                       .share_id = "7d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e0f",
                       .uuid = "GPU-1",
                       .part = ConsumedPart{Bytes::from_mib(7680), 50},
                       .limits = GrantLimits{Enforcement::kStrict,
                                             Priority::kNormal,
                                             {{.uuid = "GPU-1",
                                               .memory = Bytes::from_mib(7680),
                                               .weight = 500,
                                               .permille = 500}}}},
                      {.request = "watch",
                       .pool = "gpu-n1",
                       .device = "gpu-1",
                       .uuid = "GPU-2",
                       .admin_access = true},
                      {.request = "mig",
                       .pool = "gpu-n1",
                       .device = "gpu-2-mig-1g10gb-19-3",
                       .place = MigPlace{{"GPU-3"}, 19, {3, 1}}}}};
}

TEST(PreparedClaim, IsReadAsItWasWritten) {
  const auto read = decode_prepared(encode(sample()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, sample());
}

TEST(PreparedClaim, OneWithAJointShare) {
  auto claim = sample();
  claim.pod = "1b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1b";
  claim.devices[0].joined = "8d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e00";
  const auto read = decode_prepared(encode(claim));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, claim);
  EXPECT_EQ(tenant_of(claim, claim.devices[0]), claim.devices[0].joined);
  claim.devices[0].mps = "nvidia.com/gpu";
  EXPECT_EQ(decode_prepared(encode(claim)).value(), claim);
  claim.devices[0].joined = "../../etc";
  EXPECT_FALSE(decode_prepared(encode(claim))) << "it names a folder";
}

// The sample that tests/e2e/test_schemas.py compares with the schema.
TEST(PreparedClaim, IsWrittenAsTheSample) {
  std::ifstream file("tests/data/checkpoint-v1.json");
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(encode(sample()), text);
}

TEST(PreparedClaim, ADamagedOrEditedTextIsRefused) {
  const auto text = encode(sample());
  for (std::size_t length = 0; length < text.size(); length += 7) {
    EXPECT_FALSE(decode_prepared(text.substr(0, length))) << length;
  }
  auto edited = text;
  edited.replace(edited.find("GPU-1"), 5, "GPU-9");
  EXPECT_FALSE(decode_prepared(edited));
}

TEST(PreparedClaim, ATextOfAnotherVersionIsNotCalledDamaged) {
  const std::pair<const char*, Code> cases[] = {{"checkpoint/v2", Code::kUnsupported},
                                                {"checkpoint/v12", Code::kUnsupported},
                                                {"grant/v1", Code::kInvalidArgument},
                                                {"", Code::kInvalidArgument}};
  for (const auto& [version, code] : cases) {
    auto text = encode(sample());
    text.replace(text.find("checkpoint/v1"), 13, version);
    const auto read = decode_prepared(text);
    ASSERT_FALSE(read) << version;
    EXPECT_EQ(read.error().code, code) << version;
  }
}

// Its UUID changes at each boot, so it is looked up.
TEST(PreparedClaim, TheUuidOfAnInstanceIsNotStored) {
  auto made = sample();
  fill_uuid(made.devices[2], "MIG-7");
  EXPECT_EQ(encode(made), encode(sample()));
}

// Its uid and share ids become file names.
TEST(PreparedClaim, NamesThatCouldBePathsAreRefused) {
  auto claim = sample();
  claim.uid = "../../etc/passwd";
  EXPECT_FALSE(decode_prepared(encode(claim)));
  claim = sample();
  claim.devices[0].share_id = "..";
  EXPECT_FALSE(decode_prepared(encode(claim)));
}

TEST(PreparedClaim, CdiNamesDifferByClaimAndShare) {
  const auto claim = sample();
  EXPECT_EQ(cdi_device_name(claim, claim.devices[0]),
            "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a-gpu-0-7d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e0f");
  EXPECT_EQ(cdi_device_name(claim, claim.devices[1]), "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a-gpu-1");
}

}  // namespace
}  // namespace tranche::dra::prepared_test
