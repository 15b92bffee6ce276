#include "cli/incident/show.h"

#include <gtest/gtest.h>

#include <fstream>

#include "cli/incident/read.h"
#include "incidents/incident_files.h"
#include "incidents/incident_json.h"
#include "incidents/testing.h"
#include "support/temp_dir.h"

namespace tranche::cli::incident_show_test {
namespace {

using config::OutputForm;
using incidents::Incident;
using incidents::Second;

TEST(ShowIncident, ForPeople) {
  EXPECT_EQ(show_incident(incidents::testing::refused_by_device(), OutputForm::kTable),
            R"(20261128-154301-device: out-of-memory on GPU-1, 2026-11-28T15:43:01Z
Pod team-a/train, container main: asked 2 GiB, limit 8 GiB, used 7.2 GiB: within its limit, but the GPU is full; others hold 12 GiB of it; 4 s before, Pod team-b/other, container main took 3 GiB

HOLDER                            RESOURCE        LIMIT   HELD     GREW
Pod team-a/train, container main  nvidia.com/gpu  8 GiB   7.2 GiB  -
Pod team-b/other, container main  nvidia.com/gpu  16 GiB  12 GiB   3 GiB, 4 s before

The 60 s before, one letter a second, from low to high .:-=+*%# (space: not recorded)

Pod team-a/train, container main:
  memory   |                                                          ##| at most 7 GiB
  launches |                                                          #.| at most 5 a second
  GPU time |                                                          #.| at most 400 ms a second
  waited   |                                                          .#| at most 900 ms a second
  refused  |                                                          .#| at most 1 a second

Pod team-b/other, container main:
  memory   |                                                   *   #    | at most 12 GiB
)");
}

TEST(ShowIncident, NothingInAFileReachesTheTerminalAsMoreThanText) {
  auto incident = incidents::testing::refused_by_device();
  const std::string hostile = "\x1b]0;owned\x07\r\n\xff";
  incident.device = hostile;
  for (auto& holder : incident.holders) {
    for (auto* text : {&holder.resource, &holder.pod.ns, &holder.pod.pod, &holder.pod.container}) {
      *text = hostile;
    }
  }
  for (const auto cause :
       {incidents::Cause::kLimit, incidents::Cause::kDevice, incidents::Cause::kStarved,
        incidents::Cause::kLongLaunch, incidents::Cause::kXid}) {
    incident.cause = cause;
    const auto shown = show_incident(incident, OutputForm::kTable) +
                       show_incidents({incident}, OutputForm::kTable);
    for (const char c : shown) ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << shown;
  }
}

TEST(ShowIncident, TheDocumentIsTheFile) {
  const auto incident = incidents::testing::refused_by_device();
  EXPECT_EQ(incidents::decode(show_incident(incident, OutputForm::kJson)).value(), incident);
}

TEST(ShowIncident, WhatIsNotKnownIsNotZero) {
  Incident xid{.id = "x", .cause = incidents::Cause::kXid, .device = "GPU-1", .xid = 79};
  xid.holders = {{.pod = {.ns = "a", .pod = "p", .container = "c"}}};
  const auto text = show_incident(xid, OutputForm::kTable);
  EXPECT_NE(text.find("1 containers: GPU-1 reported XID 79"), std::string::npos) << text;
  EXPECT_NE(text.find("unknown"), std::string::npos) << text;
  EXPECT_NE(text.find("Pod a/p, container c: not recorded"), std::string::npos) << text;
}

TEST(ShowIncident, ControlCharactersOfAForeignFileDoNotReachTheTerminal) {
  auto incident = incidents::testing::refused_by_device();
  incident.device = "\x1b[31m";
  incident.holders[1].pod.pod = "\x1b]0;x\a";
  incident.holders[1].resource = "\x1b[2J";
  const auto text = show_incident(incident, OutputForm::kTable);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ShowIncidents, TheNewestFirst) {
  auto one = incidents::testing::refused_by_device();
  auto other = one;
  other.id = "20261128-160000-limit";
  const auto text = show_incidents({one, other}, OutputForm::kTable);
  EXPECT_LT(text.find(other.id), text.find(one.id));
  EXPECT_EQ(show_incidents({}, OutputForm::kTable), "no incidents\n");
}

class ReadIncidents : public ::testing::Test {
 protected:
  IncidentFolders folders() const {
    return {(dir_.path() / "a").string(), (dir_.path() / "b").string()};
  }
  void put(const char* folder, const std::string& id, const std::string& pod) const {
    incidents::IncidentFiles files(dir_.path() / folder / "incidents");
    auto incident = incidents::testing::refused_by_device();
    incident.id = id;
    incident.holders[0].pod.pod = pod;
    ASSERT_TRUE(files.put(incident));
  }
  test::TempDir dir_;
};

TEST_F(ReadIncidents, TheAgentsCopyHasTheNames) {
  EXPECT_EQ(read_incidents(folders()).error().code, Code::kUnavailable);
  put("b", "20260101-000000-limit", "");
  put("b", "20260101-000001-limit", "");
  put("a", "20260101-000000-limit", "train");
  const auto stored = read_incidents(folders()).value();
  ASSERT_EQ(stored.all.size(), 2U);
  EXPECT_EQ(stored.all[0].holders[0].pod.pod, "train");
  EXPECT_EQ(read_incident(folders(), "20260101-000000").value().holders[0].pod.pod, "train");
  EXPECT_EQ(read_incident(folders(), "2026").error().code, Code::kInvalidArgument);
  EXPECT_EQ(read_incident(folders(), "2027").error().code, Code::kNotFound);
  EXPECT_EQ(read_incident(folders(), "").error().code, Code::kInvalidArgument);
}

TEST_F(ReadIncidents, ATornFileSaysSo) {
  put("b", "20260101-000000-limit", "");
  const auto file = dir_.path() / "b/incidents/20260101-000000-limit.json";
  std::ofstream(file) << "{";
  EXPECT_EQ(read_incidents(folders()).value().unreadable.size(), 1U);
  const auto read = read_incident_file(file.string());
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find(file.string()), std::string::npos);
}

}  // namespace
}  // namespace tranche::cli::incident_show_test
