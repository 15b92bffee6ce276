#include "fleet/fleet_json.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace tranche::fleet {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

Fleet full() {
  Fleet fleet{.cluster = "prod",
              .taken_at = system_clock::time_point(std::chrono::milliseconds(1'700'000'000'123))};
  fleet.nodes.push_back(
      {.name = "node-a",
       .reporting = Reporting::kFresh,
       .closed = "cordoned",
       .usage = {.node = "node-a",
                 .taken_at = system_clock::time_point(seconds(1'700'000'000)),
                 .gpus = {{.index = 1, .uuid = "GPU-1", .model = "NVIDIA L20"}}}});
  fleet.nodes.push_back({.name = "node-b", .why = "no answer"});
  fleet.capacity.push_back({.resource = "nvidia.com/mig-1g.10gb",
                            .mechanism = usage::Mechanism::kMig,
                            .tier = "small",
                            .advertised = 14,
                            .allocated = 3,
                            .withheld = 1,
                            .free = 10,
                            .pending = 2});
  fleet.namespaces.push_back(
      {.ns = "team", .resource = "nvidia.com/gpu", .tier = "t", .allocated = 1, .pending = 2});
  fleet.waiting.push_back({.ns = "team",
                           .pod = "train",
                           .since = system_clock::time_point(seconds(1'700'000'000)),
                           .wants = {{"nvidia.com/gpu", 8}},
                           .tier = "t",
                           .cause = Cause::kNotEnough,
                           .message = "0/2 nodes are available",
                           .node = "node-a"});
  return fleet;
}

std::string error_of(std::string_view text) {
  const auto fleet = parse_fleet(text);
  return fleet ? "none" : fleet.error().message();
}

// The sample that the schema is held to (tests/e2e/test_schemas.py).
TEST(FleetJson, IsWrittenAsTheSample) {
  std::ifstream file("tests/data/fleet-v1.json");
  const auto sample = nlohmann::json::parse(file);
  EXPECT_EQ(nlohmann::json::parse(to_json(full())), sample);
  EXPECT_EQ(parse_fleet(sample.dump()).value(), full());
}

TEST(FleetJson, KeepsEverything) {
  const auto fleet = parse_fleet(to_json(full()));
  ASSERT_TRUE(fleet) << fleet.error().message();
  EXPECT_EQ(*fleet, full());
}

TEST(FleetJson, NamesWhatIsWrong) {
  EXPECT_EQ(error_of("3"), "fleet/v1: it is a number, not an object");
  EXPECT_EQ(error_of("{}"), "version is \"\", where fleet/v1 is expected");
  const std::string begin = R"({"version":"fleet/v1","takenAt":"1970-01-01T00:00:00Z",)";
  EXPECT_EQ(error_of(begin + R"("waiting":[{"since":"1970-01-01T00:00:00Z","cause":"bad"}]})"),
            "waiting[0].cause is no known word: \"bad\"");
  EXPECT_EQ(error_of(begin + R"("nodes":[{"reporting":"fresh"}]})"),
            "nodes[0].usage.version is \"\", where usage/v1 is expected");
}

}  // namespace
}  // namespace tranche::fleet
