#include "controller/web/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/fs.h"
#include "controller/web/visible.h"
#include "fleet/fleet_json.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::controller::site_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

fleet::Fleet two_namespaces() {
  fleet::Fleet fleet{.cluster = "prod"};
  auto& node = fleet.nodes.emplace_back();
  node.name = "n";
  for (const auto* const ns : {"mine", "others"}) {
    node.usage.containers.push_back({.ns = ns,
                                     .pod = std::string(ns) + "-pod",
                                     .container = "c",
                                     .resource = "nvidia.com/gpu",
                                     .memory_used = 7});
    fleet.namespaces.push_back({.ns = ns, .resource = "nvidia.com/gpu", .allocated = 1});
    fleet.waiting.push_back(
        {.ns = ns, .pod = std::string(ns) + "-waits", .message = std::string("claim ") + ns});
  }
  fleet.namespaces.push_back({.ns = "others2", .resource = "nvidia.com/gpu", .allocated = 2});
  return fleet;
}

class SiteTest : public testing::Test {
 protected:
  SiteTest() {
    objects_.answer_reviews([](const cluster::Kind& kind, std::string_view text) {
      const auto spec = json::parse(text)["spec"];
      if (kind == cluster::kTokenReview) {
        const auto token = spec["token"].get<std::string>();
        const bool known = token == "admin" || token.starts_with("user");
        return json{{"status", {{"authenticated", known}, {"user", {{"username", spec["token"]}}}}}}
            .dump();
      }
      const bool comes_in = spec.contains("nonResourceAttributes");
      const auto ns = comes_in ? "" : spec["resourceAttributes"].value("namespace", std::string());
      const bool allowed = comes_in || spec["user"] == "admin" || ns == "mine";
      return json{{"status", {{"allowed", allowed}}}}.dump();
    });
    open();
  }
  void open(const std::string& token_file = "") {
    site_ = std::make_unique<Site>(
        Site::Ports{.fleet = [this]() -> Result<fleet::Fleet> {
                      ++made_;
                      if (while_made_) while_made_();
                      if (!synced_) return fail(Code::kUnavailable, "not read yet");
                      return two_namespaces();
                    },
                    .figures = [this]() -> Result<std::optional<FleetFigures>> {
                      ++counted_;
                      if (!synced_) return fail(Code::kUnavailable, "not read yet");
                      return leads_ ? std::optional(FleetFigures()) : std::nullopt;
                    },
                    .part = [](std::string_view path) -> std::optional<SitePart> {
                      if (path != "/") return std::nullopt;
                      return SitePart{"text/html", "<h1>", "\"1\""};
                    }},
        access_, token_file, clock_, log_.log());
  }
  http::Response get(const std::string& path, const std::string& bearer = "") {
    http::Request request{.method = "GET", .path = path, .peer = "10.0.0.9"};
    if (!bearer.empty()) request.authorization = "Bearer " + bearer;
    return site_->answer(request, {});
  }
  static std::string header(const http::Response& response, std::string_view name) {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return value;
    }
    return "";
  }

  bool synced_ = true;
  bool leads_ = true;
  int made_ = 0;
  int counted_ = 0;
  std::function<void()> while_made_;
  test::TempDir dir_;
  test::LogRecorder log_;
  test::FakeObjects objects_;
  test::FakeClock clock_;
  Access access_{objects_, clock_};
  std::unique_ptr<Site> site_;
};

TEST_F(SiteTest, TheFleetNeedsATokenOfTheCluster) {
  EXPECT_EQ(get("/v1/fleet").status, 401);
  EXPECT_EQ(header(get("/v1/fleet"), "WWW-Authenticate"), "Bearer");
  EXPECT_EQ(get("/v1/fleet", "made-up").status, 401);
  EXPECT_EQ(get("/v1/fleet", "admin").status, 200);
  const auto in_own_header =
      site_->answer({.method = "GET", .path = "/v1/fleet", .body = {}, .token = "admin"}, {});
  EXPECT_EQ(in_own_header.status, 200);
}

TEST_F(SiteTest, NothingIsToldWhileTheApiServerIsAway) {
  objects_.refuse("review", cluster::kTokenReview, {Code::kUnavailable, "away"});
  const auto answer = get("/v1/fleet", "admin");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, Not(HasSubstr("mine")));
  objects_.recover();
  synced_ = false;
  EXPECT_EQ(get("/v1/fleet", "admin").status, 503);
  EXPECT_EQ(get("/metrics").status, 503);
}

TEST_F(SiteTest, NamesOfOthersAreHiddenAndTheirUseIsNot) {
  const auto all = fleet::parse_fleet(get("/v1/fleet", "admin").body);
  ASSERT_TRUE(all);
  EXPECT_EQ(*all, two_namespaces());
  const auto answer = get("/v1/fleet", "user");
  EXPECT_THAT(answer.body, Not(HasSubstr("others")));
  const auto some = fleet::parse_fleet(answer.body);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->nodes[0].usage.containers[0].pod, "mine-pod");
  EXPECT_EQ(some->nodes[0].usage.containers[1].pod, "");
  EXPECT_EQ(some->nodes[0].usage.containers[1].memory_used, 7U);
  ASSERT_EQ(some->namespaces.size(), 2U);
  EXPECT_EQ(some->namespaces[0].ns, "");
  EXPECT_EQ(some->namespaces[0].allocated, 3U);
  EXPECT_EQ(some->waiting[1].pod, "");
}

TEST_F(SiteTest, WhoAsksTooOftenIsToldSo) {
  int answered = 0;
  while (answered < 100 && get("/v1/fleet", "admin").status == 200) ++answered;
  // The first time nobody knows the token.
  EXPECT_EQ(answered, 1 + static_cast<int>(Site::kBurst));
  EXPECT_EQ(made_, 1) << "one fleet a second is made";
  const auto refused = get("/v1/fleet", "admin");
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(header(refused, "Retry-After"), "");
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(get("/v1/fleet", "admin").status, 200);
}

TEST_F(SiteTest, TokensAreNotGuessed) {
  int asked = 0;
  while (asked < 100 && get("/v1/fleet", "guess-" + std::to_string(asked)).status == 401) ++asked;
  EXPECT_LE(asked, static_cast<int>(Site::kBurst));
  EXPECT_LE(objects_.count_calls("review"), static_cast<std::ptrdiff_t>(Site::kBurst));
}

TEST_F(SiteTest, StrangersTakeNoReadersPlace) {
  ASSERT_EQ(get("/v1/fleet", "admin").status, 200);
  clock_.advance(Site::kFleetKept);
  std::vector<int> strangers;
  int reader = 0;
  // Each asks while those before are being answered.
  while_made_ = [&] {
    if (made_ == 2) strangers.push_back(get("/v1/fleet", "user-2").status);
    if (made_ != 3) return;
    strangers.push_back(get("/v1/fleet", "user-3").status);
    reader = get("/v1/fleet", "admin").status;
  };
  EXPECT_EQ(get("/v1/fleet", "user-1").status, 200);
  EXPECT_EQ(strangers, (std::vector<int>{503, 200}));
  EXPECT_EQ(reader, 200);
}

TEST_F(SiteTest, OnlyTheVeryPathIsThatOfTheFleet) {
  for (const auto* const path : {"//v1/fleet", "/v1/fleet/", "/v1//fleet", "/V1/fleet",
                                 "/v1%2ffleet", "/x/../v1/fleet", "/./v1/fleet", ""}) {
    const auto response = get(path, "admin");
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_THAT(response.body, Not(HasSubstr("mine")));
  }
}

TEST_F(SiteTest, MetricsOfTheOneThatLeads) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(get("/metrics").body, HasSubstr("tranche_controller_leads 1"));
  }
  EXPECT_EQ(counted_, 1) << "one page a second is made";
  leads_ = false;
  clock_.advance(Site::kPageKept);
  EXPECT_THAT(get("/metrics").body, HasSubstr("tranche_controller_leads 0"));
  ASSERT_TRUE(FsRoot().write_atomic(dir_.path() / "token", "secret"));
  open(dir_.path() / "token");
  EXPECT_EQ(get("/metrics").status, 401);
  EXPECT_EQ(get("/metrics", "secret").status, 200);
  EXPECT_EQ(get("/v1/fleet", "secret").status, 401) << "it is a token for metrics alone";
}

TEST_F(SiteTest, EveryAnswerKeepsTheBrowserHere) {
  for (const auto* const path : {"/", "/none", "/v1/fleet", "/metrics", "/healthz"}) {
    const auto response = get(path);
    EXPECT_THAT(header(response, "Content-Security-Policy"), HasSubstr("default-src 'none'"));
    EXPECT_EQ(header(response, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(header(response, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(header(response, "Cache-Control"),
              path == std::string_view("/") ? "no-cache" : "no-store");
  }
}

TEST_F(SiteTest, ThePageIsSentOnce) {
  const auto first = get("/");
  EXPECT_EQ(first.body, "<h1>");
  EXPECT_EQ(first.content_type, "text/html");
  const auto again = site_->answer(
      {.method = "GET", .path = "/", .body = {}, .if_none_match = header(first, "ETag")}, {});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(get("/../etc/passwd").status, 404);
  EXPECT_EQ(site_->answer({.method = "POST", .path = "/", .body = {}}, {}).status, 405);
}

TEST(RateLimits, TheOldestIsForgottenFirst) {
  RateLimit limit(1, 1);
  const RateLimit::Time start{};
  EXPECT_TRUE(limit.allows("first", start));
  EXPECT_FALSE(limit.allows("first", start));
  for (std::size_t i = 0; i < RateLimit::kMost; ++i) {
    EXPECT_TRUE(limit.allows(std::to_string(i), start + std::chrono::milliseconds(1)));
  }
  EXPECT_TRUE(limit.allows("first", start + std::chrono::milliseconds(2)));
}

}  // namespace
}  // namespace tranche::controller::site_test
