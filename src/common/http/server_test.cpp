#include "http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <thread>

#include "http/certificate.h"
#include "support/https_client.h"
#include "support/wait.h"

namespace tranche::http::server_test {
namespace {

using namespace std::chrono_literals;
using test::HttpsClient;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const KeyPair& authority() {
  static const KeyPair kAuthority =
      *make_authority("test", {.begin = std::chrono::system_clock::now() - 1h,
                               .end = std::chrono::system_clock::now() + 1h});
  return kAuthority;
}

Certificate certificate() {
  const auto made =
      make_server_certificate(authority(), {"127.0.0.1"}, *validity_of(authority().certificate));
  return {.chain = made->certificate, .key = made->key};
}

Response echo(const Request& request, const std::stop_token& /*stop*/) {
  return {.status = 200, .body = request.method + ' ' + request.path + ' ' + request.body};
}

class ServerTest : public testing::Test {
 protected:
  void start(Server::Options options = {}, Handler handler = echo) {
    options.address = "127.0.0.1";
    server_ = *Server::open(std::move(options), std::move(handler));
    ASSERT_TRUE(server_->set_certificate(certificate()));
    // The loop takes it a moment later.
    ASSERT_TRUE(test::eventually([&] { return HttpsClient(port()).is_connected(); }));
  }
  std::uint16_t port() const { return server_->port(); }

  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, AnswersOnOneConnectionAgainAndAgain) {
  start();
  HttpsClient client(port(), authority().certificate);
  ASSERT_TRUE(client.is_connected());
  EXPECT_THAT(client.ask("/a?b=c", "body"),
              AllOf(StartsWith("HTTP/1.1 200"), EndsWith("POST /a body")));
  EXPECT_THAT(client.ask("/readyz"), EndsWith("GET /readyz "));
  const std::string large(700'000, 'x');
  EXPECT_THAT(client.ask("/large", large), EndsWith("POST /large " + large));
}

TEST_F(ServerTest, HasNoCertificateUntilItGetsOne) {
  server_ = *Server::open({.address = "127.0.0.1"}, echo);
  EXPECT_FALSE(HttpsClient(port()).is_connected());
  EXPECT_TRUE(server_->set_certificate(certificate()));
  EXPECT_TRUE(test::eventually([&] { return HttpsClient(port()).is_connected(); }));
}

TEST_F(ServerTest, ACertificateIsReplacedUnderOpenConnections) {
  start();
  HttpsClient before(port(), authority().certificate);
  EXPECT_THAT(before.ask("/1"), StartsWith("HTTP/1.1 200"));
  const Validity hour{.begin = std::chrono::system_clock::now() - 1h,
                      .end = std::chrono::system_clock::now() + 1h};
  const auto other = *make_authority("other", hour);
  const auto next = *make_server_certificate(other, {"127.0.0.1"}, hour);
  ASSERT_TRUE(server_->set_certificate({.chain = next.certificate, .key = next.key}));
  EXPECT_TRUE(
      test::eventually([&] { return HttpsClient(port(), other.certificate).is_connected(); }));
  EXPECT_FALSE(HttpsClient(port(), authority().certificate).is_connected());
  EXPECT_THAT(before.ask("/2"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, RefusesACertificateThatIsNone) {
  start();
  auto mixed = certificate();
  mixed.key = authority().key;
  for (const auto& one : {Certificate{.chain = "hello", .key = "hello"}, mixed}) {
    const auto set = server_->set_certificate(one);
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, Code::kInvalidArgument);
  }
  EXPECT_TRUE(HttpsClient(port(), authority().certificate).is_connected());
}

TEST_F(ServerTest, RefusesWhatIsTooLarge) {
  start({.max_body_bytes = 1000});
  EXPECT_THAT(HttpsClient(port()).ask("/", std::string(1001, 'x')), StartsWith("HTTP/1.1 413"));
  HttpsClient chunked(port());
  chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  chunked.send("7d0\r\n" + std::string(2000, 'x') + "\r\n0\r\n\r\n");
  EXPECT_THAT(chunked.receive(), testing::Not(StartsWith("HTTP/1.1 200")));
  HttpsClient headers(port());
  headers.send("GET / HTTP/1.1\r\nA: " + std::string(40'000, 'x'));
  EXPECT_THAT(headers.receive(), testing::Not(StartsWith("HTTP/1.1 200")));
  EXPECT_THAT(HttpsClient(port()).ask("/", "small"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, RefusesWhatIsNoHttp) {
  start();
  for (const auto* text : {"\r\n\r\n\r\n", "hello\r\n\r\n", "DELETE / HTTP/1.1\r\n\r\n",
                           "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"}) {
    HttpsClient client(port());
    client.send(text);
    EXPECT_THAT(client.receive(), testing::Not(StartsWith("HTTP/1.1 200"))) << text;
  }
  EXPECT_THAT(HttpsClient(port()).ask("/"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, EndsARequestThatDoesNotArrive) {
  start({.request_time = 300ms});
  HttpsClient slow(port());
  slow.send("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab");
  EXPECT_TRUE(slow.is_ended());
}

TEST_F(ServerTest, EndsAnIdleConnection) {
  start({.idle_time = 300ms});
  HttpsClient idle(port());
  EXPECT_THAT(idle.ask("/"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(idle.is_ended());
}

TEST_F(ServerTest, BoundsWhatAllRequestsHoldTogether) {
  start({.max_bytes_under_way = 3000});
  HttpsClient large(port());
  large.send("POST / HTTP/1.1\r\nContent-Length: 4001\r\n\r\n" + std::string(4000, 'x'));
  EXPECT_TRUE(large.is_ended());
  // What it held is free again.
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(HttpsClient(port()).ask("/", std::string(1500, 'x')), StartsWith("HTTP/1.1 200"));
  }
}

TEST_F(ServerTest, WhoIsIdleLongestMakesRoom) {
  start({.max_connections = 2});
  HttpsClient first(port());
  EXPECT_THAT(first.ask("/"), StartsWith("HTTP/1.1 200"));
  HttpsClient second(port());
  EXPECT_THAT(second.ask("/"), StartsWith("HTTP/1.1 200"));
  HttpsClient third(port());
  EXPECT_THAT(third.ask("/"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(first.is_ended());
  EXPECT_THAT(second.ask("/"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, AClientThatGoesWhileItIsServedDoesNoHarm) {
  std::latch begun(1);
  std::latch go_on(1);
  start({}, [&](const Request& request, const std::stop_token&) -> Response {
    if (request.path == "/slow") {
      begun.count_down();
      go_on.wait();
    }
    return {.body = "done"};
  });
  {
    HttpsClient client(port());
    client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
    begun.wait();
  }
  // The loop has seen the end before it gets the answer.
  EXPECT_THAT(HttpsClient(port()).ask("/"), EndsWith("done"));
  go_on.count_down();
  EXPECT_THAT(HttpsClient(port()).ask("/"), EndsWith("done"));
  server_.reset();  // its handlers use the latches
}

TEST_F(ServerTest, ASlowHandlerHoldsUpNobodyElse) {
  std::latch go_on(1);
  start({.handlers = 2}, [&](const Request& request, const std::stop_token&) -> Response {
    if (request.path == "/slow") go_on.wait();
    return {.body = "done"};
  });
  HttpsClient slow(port());
  slow.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(HttpsClient(port()).ask("/"), EndsWith("done"));
  go_on.count_down();
  EXPECT_THAT(slow.receive(), EndsWith("done"));
}

TEST_F(ServerTest, EndsWhileAHandlerRuns) {
  std::latch begun(1);
  std::atomic<bool> was_told = false;
  start({}, [&](const Request& request, const std::stop_token& stop) -> Response {
    if (request.path != "/slow") return {};
    begun.count_down();
    was_told = test::eventually([&] { return stop.stop_requested(); });
    return {};
  });
  HttpsClient client(port());
  client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  begun.wait();
  server_.reset();
  EXPECT_TRUE(was_told);
  client.receive();  // an answer, if it came in time
  EXPECT_TRUE(client.is_ended());
}

TEST(Server, NeedsAnAddressThatIsFree) {
  const auto none = Server::open({.address = "localhost:80"}, echo);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kInvalidArgument);
  const auto first = Server::open({.address = "127.0.0.1"}, echo);
  ASSERT_TRUE(first);
  const auto second = Server::open({.address = "127.0.0.1", .port = (*first)->port()}, echo);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, HasSubstr("listen on 127.0.0.1:"));
  EXPECT_TRUE(Server::open({}, echo));  // all addresses
}

}  // namespace
}  // namespace tranche::http::server_test
