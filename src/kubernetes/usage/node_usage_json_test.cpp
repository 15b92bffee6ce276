#include "usage/node_usage_json.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

namespace tranche::usage {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr const char* kGpu = "GPU-8f1b2c3d-0000-4000-8000-000000000001";

NodeUsage full() {
  NodeUsage usage{
      .node = "node-a",
      .taken_at = std::chrono::system_clock::time_point(milliseconds(1'700'000'000'123)),
      .agent = "0.1.0",
      .driver_version = "570.158.01"};
  usage.gpus.push_back({.index = 0,
                        .uuid = kGpu,
                        .model = "NVIDIA A100-SXM4-80GB",
                        .mig = true,
                        .instances = {{.uuid = "MIG-1",
                                       .profile = "1g.10gb",
                                       .gpu_instance = 7,
                                       .memory = 10'200'547'328,
                                       .start = 0,
                                       .size = 1}},
                        .memory = MemoryAccount{.gpu = kGpu,
                                                .total = 100,
                                                .free = 40,
                                                .reserved = 1,
                                                .containers = 50,
                                                .host_processes = 2,
                                                .unknown = 3,
                                                .unattributed = 4,
                                                .excess = 5},
                        .memory_total = 100,
                        .memory_used = 60,
                        .utilization = 0.25,
                        .temperature_c = 41,
                        .power_w = 287.412,
                        .last_xid = 79});
  usage.gpus.push_back({.index = 1, .uuid = "GPU-2"});
  usage.containers.push_back({.ns = "team",
                              .pod = "train-0",
                              .container = "main",
                              .resource = "nvidia.com/gpu",
                              .mechanism = Mechanism::kTimeSlicing,
                              .tier = "shared",
                              .gpu = kGpu,
                              .device = kGpu,
                              .mig_profile = "",
                              .gpus = 0.25,
                              .attributed = true,
                              .processes = 0,
                              .memory_used = 0,
                              .memory_peak = std::numeric_limits<std::uint64_t>::max(),
                              .memory_limit = 10,
                              .compute_promised = 0.25,
                              .compute = nanoseconds(1'234'567'890'123),
                              .waited = nanoseconds(0),
                              .compute_share = 0.21,
                              .waited_share = 0,
                              .launches = 12,
                              .allocation_failures = 0});
  usage.containers.push_back({.ns = "team",
                              .pod = "train-1",
                              .container = "main",
                              .resource = "nvidia.com/mig-1g.10gb",
                              .mechanism = Mechanism::kMig,
                              .gpu = kGpu,
                              .device = "MIG-1",
                              .mig_profile = "1g.10gb",
                              .gpus = 0.5,
                              .compute_estimated = nanoseconds(7),
                              .compute_asked = nanoseconds(8)});
  usage.processes.push_back({.pid = 4711,
                             .name = "py\"th\non",
                             .device = kGpu,
                             .owner = ProcessOwner::kContainer,
                             .ns = "team",
                             .pod = "train-0",
                             .container = "main",
                             .memory = 5,
                             .busy = 0.5});
  usage.tranches.push_back({.resource = "nvidia.com/gpu",
                            .mechanism = Mechanism::kTimeSlicing,
                            .advertised = 4,
                            .allocated = 1,
                            .withheld = 1});
  usage.checks = {{"driver", true}, {"pods", false}};
  usage.age = milliseconds(312);
  return usage;
}

std::string error_of(std::string_view text) {
  const auto usage = parse_node_usage(text);
  return usage ? "none" : usage.error().message();
}

TEST(UsageJson, KeepsEverything) {
  const auto usage = parse_node_usage(to_json(full()));
  ASSERT_TRUE(usage) << usage.error().message();
  EXPECT_EQ(*usage, full());
}

// The sample that the schema is held to (tests/e2e/test_schemas.py).
TEST(UsageJson, IsWrittenAsTheSample) {
  std::ifstream file("tests/data/usage-v1.json");
  const auto sample = nlohmann::json::parse(file);
  EXPECT_EQ(nlohmann::json::parse(to_json(full())), sample);
  EXPECT_EQ(parse_node_usage(sample.dump()).value(), full());
}

TEST(UsageJson, KeepsWhatIsUnknownApartFromZero) {
  auto usage = full();
  usage.containers.pop_back();
  const auto text = to_json(usage);
  EXPECT_NE(text.find("\"memoryUsed\":0"), std::string::npos);  // an idle container
  EXPECT_EQ(text.find("computeAskedNs"), std::string::npos);    // unknown
}

TEST(UsageJson, OfNothingKnownHasTheVersionAndTheTime) {
  const NodeUsage nothing{};
  EXPECT_EQ(to_json(nothing), R"({"version":"usage/v1","takenAt":"1970-01-01T00:00:00.000000Z"})");
  EXPECT_EQ(parse_node_usage(to_json(nothing)).value(), nothing);
}

TEST(UsageJson, IgnoresFieldsThatItDoesNotKnow) {
  EXPECT_EQ(
      parse_node_usage(R"({"version":"usage/v1","takenAt":"1970-01-01T00:00:00Z","later":[1]})")
          .value(),
      NodeUsage{});
}

TEST(UsageJson, NamesWhatIsWrong) {
  EXPECT_EQ(error_of("[]"), "usage/v1: it is a list, not an object");
  EXPECT_NE(error_of("{"), "none");
  EXPECT_EQ(error_of("{}"), "version is \"\", where usage/v1 is expected");
  EXPECT_EQ(error_of(R"({"version":"usage/v2"})"),
            "version is \"usage/v2\", where usage/v1 is expected");
  const std::string begin = R"({"version":"usage/v1","takenAt":"1970-01-01T00:00:00Z",)";
  EXPECT_EQ(error_of(begin + R"("gpus":[{"index":-1}]})"),
            "gpus[0].index is -1, no whole number from 0 to 4294967295");
  EXPECT_EQ(error_of(begin + R"("containers":[{"mechanism":"magic"}]})"),
            "containers[0].mechanism is no known word: \"magic\"");
  EXPECT_EQ(error_of(R"({"version":"usage/v1","takenAt":"noon"})"), "takenAt is no time");
}

TEST(UsageJson, RefusesWhatIsTooLarge) {
  EXPECT_EQ(error_of(std::string(kLongestUsage + 1, ' ')),
            "usage/v1: the text is longer than 16 MiB");
  std::string many = R"({"version":"usage/v1","takenAt":"1970-01-01T00:00:00Z","checks":[{})";
  for (std::size_t i = 0; i < kMostEntries; ++i) many += ",{}";
  EXPECT_EQ(error_of(many + "]}"), "checks has too many entries");
}

}  // namespace
}  // namespace tranche::usage
