// GET requests to servers that are not the API server.

#include "kube/http_get.h"

#include <gmock/gmock.h>

#include <thread>

#include "kube/certificates.h"
#include "kube/stub_server.h"

namespace tranche::test::http_get_test {
namespace {

using kube::HttpGet;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr seconds kLong(60);

std::unique_ptr<HttpGet> open(const kube::Credentials& credentials,
                              HttpGet::Options options = {.peer = "the agent"}) {
  auto get = HttpGet::open(credentials, std::move(options));
  EXPECT_TRUE(get) << (get ? "" : get.error().message());
  return get ? *std::move(get) : nullptr;
}

TEST(HttpGetTest, GetsABodyAndUsesTheConnectionAgain) {
  StubServer server;
  const auto get = open(server.credentials());
  for (int i = 0; i < 2; ++i) {
    server.answer({.body = "figures"});
    EXPECT_EQ(get->get("/usage?a=b", {.deadline = kLong}).value(), "figures");
  }
  const auto first = server.asked();
  EXPECT_EQ(first.method, "GET");
  EXPECT_EQ(first.target, "/usage?a=b");
  EXPECT_EQ(first.headers.at("authorization"), "Bearer secret");
  EXPECT_FALSE(first.headers.contains("x-tranche-token"));
  EXPECT_EQ(server.asked().connection, first.connection);
}

TEST(HttpGetTest, TheTokenGoesIntoASecondHeaderIfOneIsNamed) {
  StubServer server;
  server.answer({.body = "{}"});
  const auto get = open(server.credentials(), {.token_header = "X-Tranche-Token"});
  EXPECT_TRUE(get->get("/v1/fleet", {.deadline = kLong}));
  const auto asked = server.asked();
  EXPECT_EQ(asked.headers.at("x-tranche-token"), "secret");
  EXPECT_EQ(asked.headers.at("authorization"), "Bearer secret");

  auto credentials = server.credentials();
  credentials.proxied_token.text = "another";
  server.answer({.body = "{}"});
  EXPECT_TRUE(open(credentials, {.token_header = "X-Tranche-Token"})
                  ->get("/v1/fleet", {.deadline = kLong}));
  const auto other = server.asked();
  EXPECT_EQ(other.headers.at("x-tranche-token"), "another");
  EXPECT_EQ(other.headers.at("authorization"), "Bearer secret");
}

TEST(HttpGetTest, WithoutTlsATokenIsSentOnlyIfThatIsWanted) {
  StubServer server({.tls = false});
  auto credentials = server.credentials();
  credentials.server = "http://127.0.0.1:" + std::to_string(server.port());
  credentials.token.text = "secret";
  const auto refused = HttpGet::open(credentials, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  server.answer({.body = "ok"});
  EXPECT_EQ(open(credentials, {.token_without_tls = true})->get("/", {.deadline = kLong}).value(),
            "ok");
}

TEST(HttpGetTest, StatusesBecomeCodesAndTheReasonIsRepeatedWithoutControlCharacters) {
  struct Case {
    int status;
    Code code;
    std::string hint;
  };
  StubServer server;
  const auto get = open(server.credentials());
  for (const auto& [status, code, hint] :
       {Case{401, Code::kPermission, "the agent does not accept the token, or needs one"},
        Case{403, Code::kPermission, "not allowed"}, Case{404, Code::kNotFound, "the agent"},
        Case{429, Code::kUnavailable, "less often"}, Case{503, Code::kUnavailable, ""},
        Case{302, Code::kUnavailable, ""}}) {
    server.answer({.status = status,
                   .body = "no\x1b[2J!\nmore",
                   .headers = {{"Location", "https://127.0.0.1:1/"}}});
    const auto body = get->get("/usage", {.deadline = kLong});
    ASSERT_FALSE(body) << status;
    EXPECT_EQ(body.error().code, code) << status;
    EXPECT_THAT(body.error().what, HasSubstr(std::to_string(status) + ": no?[2J!"));
    EXPECT_THAT(body.error().what, testing::Not(HasSubstr("more")));
    EXPECT_THAT(body.error().hint, HasSubstr(hint));
  }
}

TEST(HttpGetTest, ALongAnswerIsRefused) {
  StubServer server;
  server.answer({.body = "0123456789", .repeat = 1000});
  const auto get = open(server.credentials());
  const auto body = get->get("/usage", {.deadline = kLong, .bytes = 9'999});
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().code, Code::kUnsupported);
  EXPECT_THAT(body.error().what, HasSubstr("longer than 9999 bytes"));
  server.answer({.body = "short"});
  EXPECT_TRUE(get->get("/usage", {.deadline = kLong}));
}

TEST(HttpGetTest, AHangingServerIsLeftAtTheDeadlineOrWhenStopped) {
  StubServer server;
  const auto get = open(server.credentials());
  server.answer({.silent = true});
  EXPECT_EQ(get->get("/usage", {.deadline = milliseconds(50)}).error().code, Code::kTimeout);
  server.answer({.silent = true});
  server.asked();
  std::stop_source stop;
  std::jthread stopper([&] {
    server.asked();
    stop.request_stop();
  });
  EXPECT_THAT(get->get("/usage", {.deadline = kLong, .stop = stop.get_token()}).error().what,
              HasSubstr("stopped"));
}

TEST(HttpGetTest, AnAnswerThatBreaksOffIsNoAnswer) {
  StubServer server;
  const auto get = open(server.credentials());
  server.answer({.body = "half", .cut = true});
  const auto body = get->get("/usage", {.deadline = kLong});
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().code, Code::kUnavailable);
}

TEST(HttpGetTest, TheServerMustBeTheOneThatTheAuthorityVouchesFor) {
  StubServer server;
  Certificates others;
  auto credentials = server.credentials();
  credentials.authority.file = others.pem("ca");
  EXPECT_THAT(open(credentials)->get("/usage", {.deadline = kLong}).error().hint,
              HasSubstr("the agent's certificate is not signed"));
}

TEST(HttpGetTest, NobodyListens) {
  kube::Credentials credentials;
  credentials.server = "http://127.0.0.1:1";
  const auto body = open(credentials)->get("/usage", {.deadline = kLong});
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().code, Code::kUnavailable);
  EXPECT_EQ(body.error().hint, "is the agent running, and is its address right?");
}

}  // namespace
}  // namespace tranche::test::http_get_test
