#include "limit/arbiter_status.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/envelope.h"

namespace tranche::limit::arbiter_status_test {
namespace {

using namespace std::chrono_literals;

const auto kTime = std::chrono::system_clock::time_point(1'767'225'600s);

ArbiterStatus full() {
  return {.nvml_failure = "NVML does not start",
          .tenants = {{.id = "t-1",
                       .resource = "nvidia.com/gpu",
                       .enforcement = Enforcement::kStrict,
                       .priority = Priority::kBestEffort,
                       .processes = 2,
                       .refused = 7,
                       .longest_ns = 8'000'000,
                       .degraded = {Degraded::kMemoryOverLimit, Degraded::kMemoryNotTold,
                                    Degraded::kMemoryLent, Degraded::kNotReconciled,
                                    Degraded::kKernelLimitFailed},
                       .devices = {{.limits = {.uuid = "GPU-1",
                                               .memory = Bytes{1U << 30U},
                                               .weight = 2,
                                               .permille = 500,
                                               .borrowing = Borrowing{{2U << 30U}, {3U << 30U}},
                                               .enforcer = MemoryEnforcer::kKernel},
                                    .may_hold_bytes = 9,
                                    .charged_bytes = 5,
                                    .released_bytes = 4,
                                    .outside_bytes = 6,
                                    .gpu_ns = ~std::uint64_t{0},
                                    .asked_ns = 11,
                                    .waited_ns = 12,
                                    .launches = 13},
                                   {.limits = {.uuid = "MIG-2"}}}}},
          .refused = {{"t-2", "torn"}},
          .mps_servers = {{"GPU-1", 40}},
          .findings = {{.kind = Finding::Kind::kUnregistered,
                        .tenant = "t-1",
                        .pid = 41,
                        .start_time = 8123,
                        .name = "python3",
                        .cgroup = "/kubepods.slice/x",
                        .device = "GPU-1",
                        .memory_bytes = 300,
                        .since = kTime},
                       {.kind = Finding::Kind::kNoGrant,
                        .pid = 42,
                        .name = "a",
                        .cgroup = "/kubepods.slice/y",
                        .device = "GPU-1",
                        .since = kTime + 1us},
                       {.kind = Finding::Kind::kImagePreload,
                        .tenant = "t-1",
                        .pid = 43,
                        .start_time = 8124,
                        .cgroup = "/kubepods.slice/x",
                        .preload = "libjemalloc.so.2",
                        .since = kTime},
                       {.kind = Finding::Kind::kKernelLimitChanged,
                        .tenant = "t-1",
                        .cgroup = "/sys/fs/cgroup/kubepods.slice/x",
                        .device = "GPU-1",
                        .since = kTime}}};
}

TEST(ArbiterStatus, IsReadAsWritten) {
  const auto read = decode_status(encode(full(), kTime));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, full());
  EXPECT_EQ(decode_status(encode({}, kTime)).value(), ArbiterStatus{});
}

// A process may give itself any name.
TEST(ArbiterStatus, InvalidUtf8InNamesIsReplaced) {
  ArbiterStatus status;
  status.findings.push_back({.name = "a\xff\"b\n", .cgroup = "c", .device = "d", .since = kTime});
  const auto read = decode_status(encode(status, kTime));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->findings[0].name, "a\xEF\xBF\xBD\"b\n");
}

TEST(ArbiterStatus, ADamagedOrEditedTextIsRefused) {
  const auto whole = encode(full(), kTime);
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    EXPECT_FALSE(decode_status(whole.substr(0, length))) << length;
  }
  auto edited = whole;
  edited.replace(edited.find("8123"), 4, "8124");
  EXPECT_EQ(decode_status(edited).error().what, "its checksum does not match its content");
  EXPECT_EQ(decode_status(R"({"version":"arbiter-status/v2"})").error().what,
            "version \"arbiter-status/v2\" where this release reads arbiter-status/v1");
}

TEST(ArbiterStatus, InvalidFieldsAreNamed) {
  const auto read = [](const std::string& findings, const std::string& tenants = "[]") {
    return decode_status(seal({.version = "arbiter-status/v1", .key = "status"},
                              R"({"findings":)" + findings +
                                  R"(,"mpsServers":[],"refusedTenants":[],"tenants":)" + tenants +
                                  "}"));
  };
  EXPECT_TRUE(read("[]"));
  const auto finding = [](const std::string& rest, const std::string& since = "2026-01-01") {
    return R"([{"cgroup":"c",)" + rest + R"(,"since":")" + since + R"("}])";
  };
  const std::string kind = R"("kind":"no-grant")";
  const std::string time = "2026-01-01T00:00:00Z";
  EXPECT_TRUE(read(finding(kind, time)));
  const struct {
    Result<ArbiterStatus> status;
    const char* why;
  } cases[] = {
      {read("null"), "findings is null where a list is expected"},
      {read(finding(R"("kind":"luck")", time)), "findings[0].kind: unknown word \"luck\""},
      {read(finding(R"("kind":7)", time)), "findings[0].kind is a number where a text is expected"},
      {read(finding(kind + R"(,"pid":4294967297)", time)),
       "findings[0].pid is 4294967297, no whole number from -2147483648 to 2147483647"},
      {read(finding(kind + R"(,"name":null)", time)),
       "findings[0].name is null where a text is expected"},
      {read(finding(kind + R"(,"memoryBytes":null)", time)),
       "findings[0].memoryBytes is null where a number is expected"},
      {read("[]", R"([{"id":"a"}])"), "tenants[0].resource is missing"},
  };
  for (const auto& [status, why] : cases) {
    ASSERT_FALSE(status) << why;
    EXPECT_EQ(status.error().what, std::string("torn or not arbiter-status/v1: ") + why);
  }
  EXPECT_EQ(read(finding(kind))
                .error()
                .what.find("torn or not arbiter-status/v1: "
                           "findings[0].since: "),
            0U);
}

// The schema's test (tests/e2e/test_schemas.py) reads this sample.
TEST(ArbiterStatus, TheSampleIsAsTheCodeWritesIt) {
  std::ifstream file("tests/data/arbiter-status-v1.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text, encode(full(), kTime) + "\n");
}

}  // namespace
}  // namespace tranche::limit::arbiter_status_test
