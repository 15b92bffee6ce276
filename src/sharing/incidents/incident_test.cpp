#include "incidents/incident.h"

#include <gtest/gtest.h>

#include "incidents/asks.h"
#include "incidents/incident_json.h"
#include "incidents/incident_words.h"
#include "incidents/testing.h"

namespace tranche::incidents::incident_test {
namespace {

TEST(IncidentTest, AFileHasAllOfIt) {
  Incident incident = testing::refused_by_device();
  incident.stalled_ms = 7;
  incident.left_out = 3;
  EXPECT_EQ(decode(encode(incident)).value(), incident);
  Incident xid{.id = "20260101-000000-xid", .cause = Cause::kXid, .device = "GPU-1", .xid = 79};
  xid.holders = {{.pod = {.ns = "a", .pod = "p"}}};
  EXPECT_EQ(decode(encode(xid)).value(), xid);
}

TEST(IncidentTest, ATornOrEditedFileIsRefusedAndSaysSo) {
  const auto text = encode(testing::refused_by_device());
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, text.size() / 2}) {
    EXPECT_FALSE(decode(text.substr(0, length))) << length;
  }
  auto edited = text;
  edited.replace(edited.find("2147483648"), 1, "3");
  const auto read = decode(edited);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("checksum"), std::string::npos) << read.error().message();
}

TEST(IncidentTest, NamesOfFilesAreSafe) {
  for (const char* bad : {"", "..", "../a", "a/b", "A", "-x", "a.json", "a b"}) {
    EXPECT_FALSE(is_id(bad)) << bad;
  }
  EXPECT_FALSE(is_id(std::string(65, 'a')));
  const auto at = cluster::parse_time("2026-11-28T15:43:01Z").value();
  EXPECT_EQ(make_id(at, Cause::kLongLaunch, 0), "20261128-154301-long-launch");
  EXPECT_EQ(make_id(at, Cause::kXid, 2), "20261128-154301-xid-2");
  EXPECT_TRUE(is_id(make_id(at, Cause::kXid, 2)));
}

TEST(IncidentTest, ThoseWhoGrewComeFirstAndTheRestIsCounted) {
  Incident incident{.tenant = "v", .holders = {}};
  for (unsigned i = 0; i < Incident::kMostHolders + 8; ++i) {
    incident.holders.push_back({.tenant = "t" + std::to_string(i), .held_bytes = i});
  }
  incident.holders.push_back({.tenant = "grew", .held_bytes = 1, .growth = {.bytes = 5}});
  incident.holders.push_back({.tenant = "v"});
  put_in_order(incident);
  EXPECT_EQ(incident.holders.size(), Incident::kMostHolders);
  EXPECT_EQ(incident.left_out, 10U);
  EXPECT_EQ(incident.holders[0].tenant, "v");
  EXPECT_EQ(incident.holders[1].tenant, "grew");
  EXPECT_EQ(incident.holders[2].tenant, "t39");
}

TEST(IncidentTest, TheVictimsSentence) {
  auto incident = testing::refused_by_device();
  incident.cause = Cause::kLimit;
  EXPECT_EQ(victim_words(incident),
            "asked 2 GiB, limit 8 GiB, used 7.2 GiB; 4 s before, Pod team-b/other, container main "
            "took 3 GiB");
  EXPECT_EQ(victim_words(incident, "team-a"),
            "asked 2 GiB, limit 8 GiB, used 7.2 GiB; 4 s before, a Pod of another namespace took "
            "3 GiB");
  EXPECT_TRUE(culprits(incident).empty()) << "its own limit refused it";
}

TEST(IncidentTest, TheHoldersSentenceNamesOnlyWhatItsNamespaceMaySee) {
  const auto incident = testing::refused_by_device();
  const auto all = culprits(incident);
  ASSERT_EQ(all.size(), 1U);
  const Holder* const other = all[0];
  EXPECT_EQ(holder_words(incident, *other, "team-b"),
            "took 3 GiB; 4 s later a Pod of another namespace was refused 2 GiB");
  EXPECT_EQ(holder_words(incident, *other, "team-a"),
            "took 3 GiB; 4 s later Pod team-a/train, container main was refused 2 GiB");
  EXPECT_NE(victim_words(incident, "team-a").find("others hold 12 GiB of it"), std::string::npos);
}

TEST(IncidentTest, ASmallGrowthIsNobodysFault) {
  auto incident = testing::refused_by_device();
  incident.holders[1].growth.bytes = std::uint64_t{100} << 20U;  // of 2 GiB that were asked
  EXPECT_TRUE(culprits(incident).empty());
  incident.asked_bytes.reset();
  EXPECT_EQ(culprits(incident).size(), 1U) << "what was asked is unknown";
}

TEST(IncidentTest, ANameThatIsNotKnownIsNotMadeUp) {
  Incident incident{.cause = Cause::kDevice, .tenant = "a", .times = 10000, .holders = {}};
  incident.holders = {{.tenant = "a"}, {.tenant = "b", .growth = {.bytes = 1U << 30U}}};
  EXPECT_EQ(victim_words(incident, "ns"),
            "asked more memory, no limit (10000 times): within its limit, but the GPU is full; "
            "others hold 0 KiB of it; less than 1 s before, another container took 1 GiB");
  EXPECT_NE(victim_words(incident).find("tenant b took"), std::string::npos);
}

TEST(AsksTest, ComeBackAsTheyWere) {
  const std::vector<Ask> asks{{.id = "20260101-000000-xid",
                               .gpu = "GPU-1",
                               .devices = {"GPU-1", "MIG-1"},
                               .xid = 31,
                               .at = cluster::parse_time("2026-01-01T00:00:00.5Z").value()}};
  EXPECT_EQ(decode_asks(encode(asks)).value(), asks);
  EXPECT_FALSE(decode_asks("{}"));
  EXPECT_EQ(decode_asks(encode(std::vector<Ask>(40, asks[0]))).value().size(), kMostAsks);
}

}  // namespace
}  // namespace tranche::incidents::incident_test
