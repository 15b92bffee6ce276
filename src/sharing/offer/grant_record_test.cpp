#include "offer/grant_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "base/envelope.h"

namespace tranche::offer::grant_record_test {
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

// Later releases read the stored form. A change of this text needs a new version.
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

GrantRecord limited() {
  GrantRecord record = sample();
  record.grant.mounts = {{"/run/tranche/t1", "/s/tenants/t1", true}};
  record.grant.tenant = "t1";
  record.grant.limits =
      GrantLimits{.enforcement = Enforcement::kElastic,
                  .priority = Priority::kBestEffort,
                  .devices = {{.uuid = "GPU-a",
                               .memory = Bytes::from_mib(500),
                               .weight = 250,
                               .permille = 250,
                               .borrowing = Borrowing{Bytes::from_mib(700), Bytes::from_mib(1000)},
                               .enforcer = MemoryEnforcer::kMps},
                              {.uuid = "GPU-b"}}};
  return record;
}

TEST(GrantRecords, ALimitedOneHasItsTenantAndItsLimits) {
  const Result<GrantRecord> record = decode(encode(limited()));
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_EQ(*record, limited());
}

// Earlier releases wrote no `tenant`: the mounted folder names it.
TEST(GrantRecords, OfEarlierReleasesHaveTheTenantByItsMount) {
  const std::pair<std::vector<Mount>, std::string> cases[] = {
      {{{"/x", "/y", true}, {"/run/tranche/t1", "/s/tenants/t1", true}}, "t1"},
      {{{"/run/tranched/x", "/y", true}, {"/run/tranche", "/y", true}}, ""}};
  for (const auto& [mounts, tenant] : cases) {
    GrantRecord before = sample();
    before.grant.mounts = mounts;
    const std::string line = encode(before);
    EXPECT_EQ(line.find("tenant\":"), std::string::npos);
    const Result<GrantRecord> record = decode(line);
    ASSERT_TRUE(record) << record.error().message();
    EXPECT_EQ(record->grant.tenant, tenant);
    EXPECT_EQ(record->grant.limits, std::nullopt);
  }
}

TEST(GrantRecords, ComeBackAsTheyWere) {
  const std::string line = encode(sample());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Result<GrantRecord> record = decode(line);
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_EQ(*record, sample());
}

// Includes quotes, control characters and bytes that are not UTF-8. encode() writes the text
// itself. Its checksum must be that of the text that the reader makes from the parsed values.
RC_GTEST_PROP(GrantRecords, AnyTextIsReadBack, (const std::string& a, const std::string& b)) {
  GrantRecord record = sample();
  record.grant.ids = {a, b};
  record.grant.envs = {{a, b}};
  record.grant.mounts = {{a, b, false}, {b, a, true}};
  record.grant.devices = {{a, b, a}};
  record.grant.annotations = {{b, a}};
  record.grant.cdi_devices = {b, b, a};
  const Result<GrantRecord> back = decode(encode(record));
  RC_ASSERT(back.has_value());
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(a + b, is_ascii)) RC_ASSERT(*back == record);
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
              HasSubstr("its checksum does not match its content"));
  EXPECT_THAT(refusal(std::string(100'000, '[')), HasSubstr("torn"));
}

TEST(GrantRecords, InvalidFieldsAreNamed) {
  const auto refusal = [](const std::string& ids, const std::string& mounts,
                          const std::string& end = R"(,"resource":"r")") {
    const auto record =
        decode(seal({.version = "grant/v1", .key = "record"},
                    R"({"annotations":{},"cdiDevices":[],"devices":[],"envs":{},"grantedAtMs":5,)"
                    R"("ids":)" +
                        ids + R"(,"mounts":)" + mounts + end + "}"));
    return record ? "" : record.error().what;
  };
  EXPECT_EQ(refusal("[]", "[]"), "");
  EXPECT_EQ(refusal(R"([7])", "[]"), "stored grant: ids[0] is a number where a text is expected");
  EXPECT_EQ(refusal("[]", "null"), "stored grant: mounts is null where a list is expected");
  EXPECT_EQ(refusal("[]", R"([{"containerPath":"/a","hostPath":"/b"}])"),
            "stored grant: mounts[0].readOnly is missing");
  EXPECT_EQ(refusal("[]", "[]", ""), "stored grant: resource is missing");
  EXPECT_EQ(refusal("[]", "[]", R"(,"resource":"r","tenant":null)"),
            "stored grant: tenant is null where a text is expected");
}

}  // namespace
}  // namespace tranche::offer::grant_record_test
