#include "offer/grant_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::offer {
namespace {

using ::testing::HasSubstr;

GrantRecord sample() {
  return {.grant = {.resource = {"nvidia.com/gpu.shared"},
                    .ids = {"GPU-a::1", "GPU-b::0"},
                    .envs = {{"NVIDIA_VISIBLE_DEVICES", "GPU-a,GPU-b"}},
                    .mounts = {{"/var/run/x", "/dev/null", true}},
                    .devices = {{"/dev/nvidia0", "/run/dev/nvidia0", "rw"}},
                    .annotations = {{"cdi.k8s.io/x", "y\n\"quoted\""}},
                    .cdi_devices = {"k8s.device-plugin.nvidia.com/gpu=GPU-a"}},
          .granted_at_ms = 1'767'225'600'123};
}

// The stored form is read by later releases: a change of this text needs a new version.
TEST(GrantRecords, StoredForm) {
  GrantRecord record;
  record.grant.resource = {"nvidia.com/gpu"};
  record.grant.ids = {"GPU-a"};
  record.granted_at_ms = 5;
  EXPECT_EQ(
      encode(record),
      R"({"checksum":"0750170c1bcd8f27","record":{"annotations":{},"cdiDevices":[],"devices":[],)"
      R"("envs":{},"grantedAtMs":5,"ids":["GPU-a"],"mounts":[],"resource":"nvidia.com/gpu"},)"
      R"("version":"grant/v1"})");
}

TEST(GrantRecords, ComeBackAsTheyWere) {
  const std::string line = encode(sample());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Result<GrantRecord> record = decode(line);
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_EQ(*record, sample());
}

TEST(GrantRecords, EveryTornLineIsSeen) {
  const std::string line = encode(sample());
  for (std::size_t length = 0; length < line.size(); ++length) {
    const Result<GrantRecord> record = decode(line.substr(0, length));
    ASSERT_FALSE(record) << length;
    EXPECT_EQ(record.error().code, Code::kInvalidArgument);
  }
}

TEST(GrantRecords, AChangedByteIsSeen) {
  const std::string line = encode(sample());
  for (std::size_t i = 0; i < line.size(); ++i) {
    std::string changed = line;
    changed[i] = changed[i] == '7' ? '8' : '7';
    EXPECT_FALSE(decode(changed)) << i;
  }
}

TEST(GrantRecords, RefusalsSayWhy) {
  const auto refusal = [](std::string_view line) { return decode(line).error().what; };
  EXPECT_THAT(refusal(""), HasSubstr("torn or not grant/v1"));
  EXPECT_THAT(refusal("[]"), HasSubstr("torn or not grant/v1"));
  EXPECT_THAT(refusal(R"({"version":"grant/v9","record":{},"checksum":""})"),
              HasSubstr("version \"grant/v9\" where this release reads grant/v1"));
  EXPECT_THAT(refusal(R"({"version":"grant/v1","record":{},"checksum":"00"})"),
              HasSubstr("checksum 00 does not match"));
  EXPECT_THAT(refusal(std::string(100'000, '[')), HasSubstr("torn"));
}

}  // namespace
}  // namespace tranche::offer
