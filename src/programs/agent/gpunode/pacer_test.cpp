#include "agent/gpunode/pacer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tranche::agent::pacer_test {
namespace {

using std::chrono::seconds;

Pacer::TimePoint at(int second) { return Pacer::TimePoint(seconds(1000 + second)); }

TEST(ChangeOf, TellsCountsFromTheRest) {
  const cluster::GpuNodeStatus status{.driver = "570", .summary = {.gpus = 1, .tranches = 4}};
  const auto with = [&](auto change) {
    auto copy = status;
    change(copy);
    return copy;
  };
  using Status = cluster::GpuNodeStatus;
  const struct {
    const char* name;
    Status wanted;
    StatusChange change;
  } cases[] = {
      {"nothing", status, StatusChange::kNone},
      {"a holding comes", with([](Status& s) { s.holdings.push_back({.id = "a"}); }),
       StatusChange::kCounts},
      {"its number", with([](Status& s) { s.summary.held = 1; }), StatusChange::kCounts},
      {"more are cut", with([](Status& s) { s.truncated.holdings = 1; }), StatusChange::kCounts},
      {"tranches on offer", with([](Status& s) { s.summary.tranches = 8; }), StatusChange::kMore},
      {"mode", with([](Status& s) { s.mode = cluster::NodeMode::kDra; }), StatusChange::kMore},
      {"a reason", with([](Status& s) { s.reasons.push_back({"limits", "no arbiter"}); }),
       StatusChange::kMore},
      {"health", with([](Status& s) { s.gpus.push_back({.unhealthy = "XID 79"}); }),
       StatusChange::kMore},
      {"both", with([](Status& s) {
         s.summary.held = 1;
         s.driver = "580";
       }),
       StatusChange::kMore},
  };
  for (const auto& one : cases) EXPECT_EQ(change_of(status, one.wanted), one.change) << one.name;
  EXPECT_EQ(change_of(std::nullopt, status), StatusChange::kMore) << "nothing was written";
}

TEST(Pacer, IsDueByTheRules) {
  struct Seen {
    int second;
    StatusChange change;
  };
  constexpr auto kNone = StatusChange::kNone;
  constexpr auto kCounts = StatusChange::kCounts;
  constexpr auto kMore = StatusChange::kMore;
  const struct {
    const char* name;
    std::optional<Seen> wrote;
    std::vector<Seen> seen;
    std::optional<int> due;
  } cases[] = {
      {"nothing changed", Seen{0, kMore}, {{50, kNone}}, std::nullopt},
      {"the first write is at once", std::nullopt, {{0, kMore}}, 0},
      {"the first counts settle", std::nullopt, {{0, kCounts}}, 2},
      {"after a quiet time at once", Seen{0, kMore}, {{50, kMore}}, 50},
      {"at most every 2 s", Seen{0, kMore}, {{1, kMore}}, 2},
      {"also after counts", Seen{0, kCounts}, {{1, kMore}}, 2},
      {"counts after a quiet time settle", Seen{0, kCounts}, {{50, kCounts}}, 52},
      {"counts at most every 30 s", Seen{0, kCounts}, {{1, kCounts}}, 30},
      {"counts after something else settle", Seen{0, kMore}, {{1, kCounts}}, 3},
      {"what changes on and on is not put off",
       Seen{0, kCounts},
       {{50, kCounts}, {51, kCounts}, {52, kCounts}},
       52},
      {"what matters more comes sooner", Seen{0, kCounts}, {{1, kCounts}, {5, kMore}}, 2},
      {"what is undone is not written", Seen{0, kMore}, {{1, kMore}, {2, kNone}}, std::nullopt},
      {"and begins anew", Seen{0, kCounts}, {{40, kCounts}, {41, kNone}, {45, kCounts}}, 47},
  };
  for (const auto& one : cases) {
    Pacer pacer;
    if (one.wrote) {
      pacer.see(one.wrote->change, at(one.wrote->second));
      pacer.wrote(at(one.wrote->second));
    }
    for (const auto& [second, change] : one.seen) pacer.see(change, at(second));
    const auto due = one.due ? std::optional(at(*one.due)) : std::nullopt;
    EXPECT_EQ(pacer.due(), due) << one.name;
  }
}

TEST(Pacer, WaitsLongerAfterEachFailure) {
  Pacer pacer;
  pacer.see(StatusChange::kMore, at(0));
  const int waits[] = {1, 2, 4, 8, 16, 30, 30};
  int now = 0;
  for (const int wait : waits) {
    pacer.failed(at(now));
    EXPECT_EQ(pacer.due(), at(now + wait));
    now += wait;
  }
  pacer.failed(at(now), seconds(600));
  EXPECT_EQ(pacer.due(), at(now + 600));
  pacer.wrote(at(now + 600));
  pacer.see(StatusChange::kMore, at(now + 700));
  EXPECT_EQ(pacer.due(), at(now + 700)) << "the failures are forgotten";
}

}  // namespace
}  // namespace tranche::agent::pacer_test
