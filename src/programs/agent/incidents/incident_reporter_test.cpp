#include "agent/incidents/incident_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "incidents/testing.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::incident_reporter_test {
namespace {

using incidents::Cause;
using incidents::Incident;
using incidents::IncidentFiles;
using nlohmann::json;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

holdings::Holding holding(const std::string& tenant, const std::string& ns,
                          const std::string& pod) {
  return {.device = "GPU-1",
          .gpu = "GPU-1",
          .resource = {"nvidia.com/gpu"},
          .id = "GPU-1::" + pod,
          .tenant = tenant,
          .ns = ns,
          .pod = pod,
          .pod_uid = "uid-" + pod,
          .container = "main"};
}

class IncidentReporterTest : public testing::Test {
 protected:
  IncidentReporterTest() { restart(); }
  void restart(bool has_arbiter = true) {
    reporter_.emplace(
        IncidentReporter::Ports{.state_dir = agent(),
                                .arbiter_dir = has_arbiter ? arbiter() : std::filesystem::path(),
                                .held = [this] { return holdings::Holdings(held_); },
                                .objects = &objects_,
                                .node = "n1",
                                .clock = clock_,
                                .log = log_.log()});
  }
  std::filesystem::path agent() const { return dir_.path() / "agent"; }
  std::filesystem::path arbiter() const { return dir_.path() / "arbiter"; }
  // As the arbiter writes it: without names.
  std::string happened(Cause cause = Cause::kDevice, const std::string& id = {}) {
    auto incident = incidents::testing::refused_by_device();
    incident.cause = cause;
    incident.id = id;
    incident.at = clock_.wall_now();
    for (auto& holder : incident.holders) holder.pod = {};
    IncidentFiles files(arbiter() / "incidents");
    EXPECT_TRUE(files.put(incident));
    return incident.id;
  }
  void look() { reporter_->look({}); }
  // Notes by reason and Pod: "GpuOutOfMemory train".
  std::map<std::string, std::string> events(const std::string& ns) {
    std::map<std::string, std::string> notes;
    const auto list = objects_.list(cluster::kEvent, {.ns = ns}).value();
    for (const auto& item : list.items) {
      const auto event = json::parse(item.json);
      notes[event["reason"].get<std::string>() + " " +
            event["regarding"]["name"].get<std::string>()] = event["note"].get<std::string>();
    }
    return notes;
  }
  Incident kept(const std::string& id) const {
    return IncidentFiles(agent() / "incidents").read(id).value();
  }
  std::size_t number_kept() const {
    return IncidentFiles(agent() / "incidents").ids().value().size();
  }

  test::TempDir dir_;
  test::FakeClock clock_;
  test::FakeObjects objects_;
  test::LogRecorder log_;
  std::vector<holdings::Holding> held_{holding("t-a", "team-a", "train"),
                                       holding("t-b", "team-b", "other")};
  std::optional<IncidentReporter> reporter_;
};

TEST_F(IncidentReporterTest, VictimAndNeighbourAreToldWithoutNamesOfOtherNamespaces) {
  const auto id = happened();
  look();
  const auto victim = events("team-a")["GpuOutOfMemory train"];
  EXPECT_THAT(victim, HasSubstr("container main: asked 2 GiB, limit 8 GiB, used 7.2 GiB"));
  EXPECT_THAT(victim, HasSubstr("4 s before, a Pod of another namespace took 3 GiB"));
  EXPECT_THAT(victim, HasSubstr("tranche incident show " + id));
  EXPECT_THAT(victim, Not(HasSubstr("other,")));
  const auto neighbour = events("team-b")["GpuMemoryTaken other"];
  EXPECT_THAT(neighbour, HasSubstr("took 3 GiB; 4 s later a Pod of another namespace was refused"));
  EXPECT_THAT(neighbour, Not(HasSubstr("train")));
  EXPECT_EQ(kept(id).holders[1].pod.pod, "other") << "the node's file has all names";
}

TEST_F(IncidentReporterTest, NeighboursOfOneNamespaceSeeEachOther) {
  held_[1].ns = "team-a";
  happened();
  look();
  EXPECT_THAT(events("team-a")["GpuOutOfMemory train"], HasSubstr("Pod team-a/other"));
  EXPECT_THAT(events("team-a")["GpuMemoryTaken other"], HasSubstr("Pod team-a/train"));
}

TEST_F(IncidentReporterTest, AContainersOwnLimitIsNobodyElsesEvent) {
  happened(Cause::kLimit);
  look();
  EXPECT_EQ(events("team-a").size(), 1U);
  EXPECT_TRUE(events("team-b").empty());
}

TEST_F(IncidentReporterTest, ManyOfAContainerAreOneEvent) {
  for (int i = 0; i < 5; ++i) {
    happened();
    look();
    clock_.advance(seconds(31));
  }
  look();
  EXPECT_EQ(events("team-a").size(), 1U);
  EXPECT_EQ(number_kept(), 5U);
}

TEST_F(IncidentReporterTest, ANameIsWaitedForAndThenGivenUp) {
  const auto all = std::exchange(held_, {});
  const auto id = happened();
  look();
  EXPECT_EQ(number_kept(), 0U);
  clock_.advance(seconds(4));
  held_ = all;
  look();
  EXPECT_EQ(kept(id).victim()->pod.pod, "train");
  held_.clear();
  const auto other = happened(Cause::kStarved);
  clock_.advance(IncidentReporter::kPatience);
  look();
  EXPECT_EQ(kept(other).victim()->pod.pod, "");
  EXPECT_EQ(events("team-a").size(), 1U);
}

TEST_F(IncidentReporterTest, TheNextAgentTellsNothingTwice) {
  happened();
  look();
  restart();
  look();
  EXPECT_EQ(events("team-a").size(), 1U);
  EXPECT_EQ(number_kept(), 1U);
}

TEST_F(IncidentReporterTest, AnOldOneIsKeptAndNotTold) {
  const auto id = happened();
  clock_.advance(IncidentReporter::kStands + seconds(1));
  look();
  EXPECT_EQ(kept(id).id, id);
  EXPECT_TRUE(events("team-a").empty());
}

TEST_F(IncidentReporterTest, ATornFileIsToldOnceAndTheRestIsTaken) {
  const auto id = happened();
  std::ofstream(arbiter() / "incidents/20260101-000000-limit.json") << "{";
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(number_kept(), 1U);
  EXPECT_EQ(log_.count("20260101-000000-limit"), 1);
}

TEST_F(IncidentReporterTest, WhatAFullDiskRefusesIsTriedAgain) {
  ASSERT_TRUE(FsRoot().make_directories(agent()));
  std::ofstream(agent() / "incidents") << "in the way";
  const auto id = happened();
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(log_.count("cannot be kept"), 1);
  EXPECT_EQ(events("team-a").size(), 1U) << "told all the same";
  std::filesystem::remove(agent() / "incidents");
  look();
  EXPECT_EQ(kept(id).id, id);
  EXPECT_EQ(events("team-a").size(), 1U);
}

TEST_F(IncidentReporterTest, WhatTheArbiterNoLongerHasIsForgotten) {
  const auto id = happened();
  look();
  std::filesystem::remove(arbiter() / "incidents" / (id + ".json"));
  look();
  happened(Cause::kStarved, id);
  look();
  EXPECT_EQ(kept(id).cause, Cause::kStarved);
}

TEST_F(IncidentReporterTest, WhatCannotBeReadNowIsTriedAgain) {
  const auto id = happened();
  const auto file = arbiter() / "incidents" / (id + ".json");
  std::filesystem::rename(file, arbiter() / "there");
  std::filesystem::create_directory(file);
  look();
  std::filesystem::remove(file);
  std::filesystem::rename(arbiter() / "there", file);
  look();
  EXPECT_EQ(kept(id).id, id);
}

class XidTest : public IncidentReporterTest {
 protected:
  XidTest() {
    EXPECT_TRUE(FsRoot().make_directories(agent() / "tenants"));
    held_.push_back(holding("", "team-c", "whole"));
    machine_.gpus.resize(1);
    machine_.gpus[0].uuid.value = "GPU-1";
  }
  void xid(std::uint64_t number) {
    reporter_->heard({{.gpu = "GPU-1", .xid = number, .at = clock_.wall_now()}}, machine_);
  }
  std::vector<incidents::Ask> asked() const {
    const auto text = FsRoot().read(agent() / "tenants" / incidents::kAsksFile);
    return text ? incidents::decode_asks(*text).value() : std::vector<incidents::Ask>();
  }
  gpu::Machine machine_;
};

TEST_F(XidTest, TheArbiterIsAskedAndAllHoldersAreTold) {
  xid(31);
  look();
  ASSERT_EQ(asked().size(), 1U);
  EXPECT_EQ(asked()[0].xid, 31U);
  EXPECT_EQ(number_kept(), 0U);
  Incident answer = incidents::testing::refused_by_device();
  answer.id = asked()[0].id;
  answer.cause = Cause::kXid;
  answer.tenant.clear();
  answer.xid = 31;
  answer.at = clock_.wall_now();
  for (auto& holder : answer.holders) holder.pod = {};
  IncidentFiles files(arbiter() / "incidents");
  ASSERT_TRUE(files.put(answer));
  look();
  EXPECT_EQ(kept(answer.id).holders.size(), 3U) << "one has no limits";
  for (const auto& [ns, pod] : std::map<std::string, std::string>{
           {"team-a", "train"}, {"team-b", "other"}, {"team-c", "whole"}}) {
    EXPECT_THAT(events(ns)["GpuXid " + pod], HasSubstr("GPU-1 reported XID 31")) << pod;
  }
}

TEST_F(XidTest, WithoutAnAnswerTheHoldersAreToldAllTheSame) {
  xid(79);
  look();
  clock_.advance(IncidentReporter::kPatience);
  look();
  ASSERT_EQ(number_kept(), 1U);
  EXPECT_THAT(events("team-c")["GpuXid whole"], HasSubstr("XID 79"));
  restart(false);
  clock_.advance(seconds(60));
  xid(13);
  look();
  EXPECT_EQ(number_kept(), 2U) << "at once where no arbiter runs";
}

TEST_F(XidTest, OneOfSeveralInHalfAMinute) {
  for (int i = 0; i < 10; ++i) {
    xid(31);
    xid(45);
    look();
    clock_.advance(seconds(2));
  }
  EXPECT_EQ(asked().size(), 1U);
  EXPECT_EQ(number_kept(), 1U);
}

TEST_F(XidTest, AnInstanceOfTheGpuHasItToo) {
  machine_.gpus[0].mig_instances.resize(1);
  machine_.gpus[0].mig_instances[0].uuid.value = "MIG-1";
  xid(31);
  look();
  EXPECT_THAT(asked()[0].devices, testing::ElementsAre("GPU-1", "MIG-1"));
}

}  // namespace
}  // namespace tranche::agent::incident_reporter_test
