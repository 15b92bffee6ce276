// The server without TLS: what its clients, none of which it can trust, may do to it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <latch>
#include <memory>
#include <vector>

#include "http/server.h"
#include "support/http_client.h"
#include "support/wait.h"

namespace tranche::http::plain_server_test {
namespace {

using namespace std::chrono_literals;
using test::HttpClient;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// What a TLS client says first (RFC 8446, section 4.1.2), cut short.
const std::string kTlsHello("\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03\x00\x0a\x0d\x0a", 15);
// An answer of which the kernel keeps only a part, where the client does not read.
constexpr std::size_t kLarge = std::size_t{2} << 20U;
constexpr int kKernelPart = 32 << 10;

Response echo(const Request& request, const std::stop_token& /*stop*/) {
  if (request.path == "/large") return {.body = std::string(kLarge, 'x')};
  return {.body = request.method + ' ' + request.path + ' ' + request.body};
}

class PlainServerTest : public testing::Test {
 protected:
  void start(Server::Options options = {}, Handler handler = echo) {
    options.tls = false;
    options.address = "127.0.0.1";
    auto opened = Server::open(std::move(options), std::move(handler));
    ASSERT_TRUE(opened) << opened.error().message();
    server_ = *std::move(opened);
  }
  std::uint16_t port() const { return server_->port(); }
  bool serves() { return HttpClient(port()).ask("/alive").ends_with("GET /alive "); }

  std::unique_ptr<Server> server_;
};

TEST_F(PlainServerTest, AnswersOnOneConnectionAgainAndAgain) {
  start();
  HttpClient client(port());
  EXPECT_THAT(client.ask("/a?b=c", "body"),
              AllOf(StartsWith("HTTP/1.1 200"), EndsWith("POST /a body")));
  EXPECT_THAT(client.ask("/metrics"), EndsWith("GET /metrics "));
  const std::string large(700'000, 'x');
  EXPECT_THAT(client.ask("/large-body", large), EndsWith("POST /large-body " + large));
}

TEST_F(PlainServerTest, WhoAsksAndHeadersOfItsOwn) {
  start({}, [](const Request& request, const std::stop_token&) {
    Response response{.status = 203,
                      .body = request.peer + '|' + request.token + '|' + request.if_none_match};
    response.headers = {{"ETag", request.if_none_match}, {"Seen", response.body}};
    response.body.clear();
    return response;
  });
  const auto answer =
      HttpClient(port()).ask("/", "", "x-tranche-token: T\r\nIf-None-Match: \"1\"\r\n");
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 203"), HasSubstr("Seen: 127.0.0.1|T|\"1\"\r\n"),
                            HasSubstr("ETag: \"1\"\r\n")));
}

TEST_F(PlainServerTest, TakesNoCertificate) {
  start();
  const auto set = server_->set_certificate({.chain = "a", .key = "b"});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(serves());
}

TEST_F(PlainServerTest, AHandlerSeesTheHeadersThatItNeeds) {
  start({}, [](const Request& request, const std::stop_token&) -> Response {
    return {.body = request.accept + '|' + request.accept_encoding + '|' + request.authorization};
  });
  HttpClient client(port());
  EXPECT_THAT(client.ask("/", {},
                         "accept: text/plain\r\nAccept-Encoding: gzip, br\r\n"
                         "AUTHORIZATION: Bearer one\r\nAuthorization: Bearer two\r\n"),
              EndsWith("\r\n\r\ntext/plain|gzip, br|Bearer one"));
  EXPECT_THAT(client.ask("/"), EndsWith("\r\n\r\n||"));
}

TEST_F(PlainServerTest, TheEncodingOfABodyIsAHeader) {
  start({}, [](const Request& request, const std::stop_token&) -> Response {
    if (request.path == "/plain") return {.body = "a"};
    return {.body = std::string("\0b", 2), .content_encoding = "gzip"};
  });
  HttpClient client(port());
  EXPECT_THAT(client.ask("/"), AllOf(HasSubstr("Content-Encoding: gzip\r\n"),
                                     EndsWith(std::string("\r\n\r\n\0b", 6))));
  EXPECT_THAT(client.ask("/plain"), AllOf(Not(HasSubstr("Content-Encoding")), EndsWith("\r\na")));
}

TEST_F(PlainServerTest, RefusesOtherMethods) {
  start({.request_time = 300ms});  // libevent leaves a connection open that wanted a tunnel
  for (const auto* method :
       {"HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "X"}) {
    HttpClient client(port());
    client.send(std::string(method) + " / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_THAT(client.receive(), AnyOf(StartsWith("HTTP/1.1 501"), StartsWith("HTTP/1.1 400")))
        << method;
  }
  EXPECT_TRUE(serves());
}

TEST_F(PlainServerTest, RequestsSentTogetherAreAnsweredInOrder) {
  start();
  HttpClient client(port());
  std::string all;
  for (int i = 0; i < 200; ++i) {
    all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  }
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < 200; ++i) {
    ASSERT_THAT(client.receive(), EndsWith("GET /" + std::to_string(i) + ' '));
  }
  // All of it is counted off again: the connection is idle, and asks once more.
  EXPECT_THAT(client.ask("/last"), EndsWith("GET /last "));
}

TEST_F(PlainServerTest, RequestsSentTogetherAreCountedOff) {
  start({.max_bytes_under_way = 4000});
  for (int i = 0; i < 10; ++i) {
    HttpClient client(port());
    const std::string one =
        "POST / HTTP/1.1\r\nContent-Length: 900\r\n\r\n" + std::string(900, 'x');
    ASSERT_TRUE(client.send(one + one + one));
    for (int j = 0; j < 3; ++j) ASSERT_THAT(client.receive(), StartsWith("HTTP/1.1 200")) << i;
  }
}

TEST_F(PlainServerTest, EndsAClientThatSendsWithoutEndAndReadsNothing) {
  start({.max_body_bytes = 1000,
         .max_bytes_under_way = std::size_t{1} << 30U,
         .request_time = 1h,
         .idle_time = 1h});
  HttpClient client(port(), kKernelPart);
  ASSERT_TRUE(client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n"));
  const std::string more(65536, 'x');
  std::size_t sent = 0;
  while (client.send(more)) {
    sent += more.size();
    ASSERT_LT(sent, std::size_t{256} << 20U);
  }
  EXPECT_TRUE(serves());
}

TEST_F(PlainServerTest, EndsAClientThatNeverReadsItsAnswer) {
  start({.max_connections = 2, .idle_time = 300ms});
  std::vector<std::unique_ptr<HttpClient>> deaf;
  for (int i = 0; i < 8; ++i) {
    deaf.push_back(std::make_unique<HttpClient>(port(), kKernelPart));
    ASSERT_TRUE(deaf.back()->send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n"));
  }
  // Not while handlers have the requests of both places.
  EXPECT_TRUE(test::eventually([&] { return serves(); }));
  for (const auto& one : deaf) EXPECT_TRUE(one->is_ended());
}

TEST_F(PlainServerTest, BoundsWhatIsLeftUnread) {
  start({.max_unread_bytes = 2 * kLarge});
  std::vector<std::unique_ptr<HttpClient>> deaf;
  for (int i = 0; i < 6; ++i) {
    deaf.push_back(std::make_unique<HttpClient>(port(), kKernelPart));
    deaf.back()->send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(deaf.back()->has_answer());
  }
  // Two and what the kernel has of them fit, and those are the last ones.
  for (std::size_t i = 0; i < 4; ++i) EXPECT_LT(deaf[i]->receive().size(), kLarge) << i;
  for (std::size_t i = 4; i < 6; ++i) EXPECT_GT(deaf[i]->receive().size(), kLarge) << i;
  EXPECT_THAT(deaf.back()->ask("/again"), EndsWith("GET /again "));
}

TEST_F(PlainServerTest, AnAnswerLargerThanWhatMayBeUnreadIsGivenAlone) {
  start({.max_unread_bytes = 1000});
  HttpClient client(port());
  for (int i = 0; i < 3; ++i) EXPECT_GT(client.ask("/large").size(), kLarge);
  HttpClient deaf(port(), kKernelPart);
  deaf.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(deaf.has_answer());
  EXPECT_TRUE(serves());  // which ends the other
  EXPECT_TRUE(deaf.is_ended());
}

TEST_F(PlainServerTest, EndsARequestWhoseBytesComeTooSlowly) {
  start({.request_time = 300ms});
  HttpClient slow(port());
  // Each byte is progress, and none of it counts.
  const std::string request = "GET / HTTP/1.1\r\nHost: " + std::string(1000, 'a');
  std::size_t sent = 0;
  EXPECT_TRUE(test::eventually(
      [&] { return sent == request.size() || !slow.send(request.substr(sent++, 1)); }));
  EXPECT_TRUE(slow.is_ended());
  HttpClient silent(port());
  EXPECT_TRUE(silent.is_ended());
  HttpClient body(port());
  body.send("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab");
  EXPECT_TRUE(body.is_ended());
  EXPECT_TRUE(serves());
}

TEST_F(PlainServerTest, EndsAnIdleConnection) {
  start({.idle_time = 300ms});
  HttpClient idle(port());
  EXPECT_THAT(idle.ask("/"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(idle.is_ended());
}

TEST_F(PlainServerTest, WhoIsIdleLongestMakesRoom) {
  start({.max_connections = 2});
  HttpClient first(port());
  EXPECT_THAT(first.ask("/"), StartsWith("HTTP/1.1 200"));
  HttpClient second(port());
  EXPECT_THAT(second.ask("/"), StartsWith("HTTP/1.1 200"));
  HttpClient third(port());
  EXPECT_THAT(third.ask("/"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(first.is_ended());
  EXPECT_THAT(second.ask("/"), StartsWith("HTTP/1.1 200"));
}

TEST_F(PlainServerTest, ManyIdleConnectionsKeepNobodyOut) {
  start({.max_connections = 16});
  std::vector<std::unique_ptr<HttpClient>> idle;
  for (int i = 0; i < 400; ++i) {
    idle.push_back(std::make_unique<HttpClient>(port()));
    ASSERT_TRUE(idle.back()->is_connected()) << i;
  }
  EXPECT_TRUE(serves());
  // That one made room as well: of the 400 at most 15 are left, the latest.
  for (int i = 0; i < 385; ++i) EXPECT_TRUE(idle[static_cast<std::size_t>(i)]->is_ended()) << i;
  EXPECT_THAT(idle.back()->ask("/late"), EndsWith("GET /late "));
}

TEST_F(PlainServerTest, WhereHandlersHaveAllPlacesANewConnectionEnds) {
  std::latch begun(2);
  std::latch go_on(1);
  start({.max_connections = 2, .request_time = 1h, .handlers = 2},
        [&](const Request& request, const std::stop_token&) -> Response {
          if (request.path == "/slow") {
            begun.count_down();
            go_on.wait();
          }
          return {.body = "done"};
        });
  HttpClient one(port());
  HttpClient two(port());
  one.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  two.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  begun.wait();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(HttpClient(port()).is_ended());
  go_on.count_down();
  EXPECT_THAT(one.receive(), EndsWith("done"));
  EXPECT_THAT(two.receive(), EndsWith("done"));
  EXPECT_THAT(HttpClient(port()).ask("/"), EndsWith("done"));
  server_.reset();  // its handlers use the latches
}

TEST_F(PlainServerTest, RefusesWhatIsTooLarge) {
  start({.max_body_bytes = 1000});
  EXPECT_THAT(HttpClient(port()).ask("/", std::string(1001, 'x')), StartsWith("HTTP/1.1 413"));
  const std::string x(40'000, 'x');
  std::string many;
  for (int i = 0; i < 8000; ++i) many += "A: b\r\n";
  for (const auto& text :
       {"GET / HTTP/1.1\r\nA: " + x, "GET /" + x, "GET / HTTP/1.1\r\n" + x + ": a\r\n\r\n",
        "GET / HTTP/1.1\r\n" + many + "\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + x,
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" + x,
        "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n" + x}) {
    HttpClient client(port());
    client.send(text);
    EXPECT_THAT(client.receive(), Not(StartsWith("HTTP/1.1 200"))) << text.substr(0, 60);
  }
  EXPECT_THAT(HttpClient(port()).ask("/", "small"), StartsWith("HTTP/1.1 200"));
}

TEST_F(PlainServerTest, RefusesWhatIsNoHttp) {
  start({.request_time = 300ms});
  std::string every;
  for (int i = 0; i < 256; ++i) every += static_cast<char>(i);
  for (const auto& text :
       {std::string("\r\n\r\n\r\n"), std::string("hello\r\n\r\n"), every + every + "\r\n\r\n",
        std::string(2000, '\0'), std::string("GET / HTTP/9.9\r\nHost: a\r\n\r\n"),
        std::string("GET\r\n\r\n"), std::string("GET / HTTP/1.1\r\nno header\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), kTlsHello,
        kTlsHello + std::string(500, '\n')}) {
    HttpClient client(port());
    client.send(text);
    EXPECT_THAT(client.receive(), Not(StartsWith("HTTP/1.1 200"))) << text;
    EXPECT_TRUE(client.is_ended()) << text;
  }
  EXPECT_TRUE(serves());
}

TEST_F(PlainServerTest, BoundsWhatAllRequestsHoldTogether) {
  start({.max_bytes_under_way = 3000});
  HttpClient large(port());
  large.send("POST / HTTP/1.1\r\nContent-Length: 4001\r\n\r\n" + std::string(4000, 'x'));
  EXPECT_TRUE(large.is_ended());
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(HttpClient(port()).ask("/", std::string(1500, 'x')), StartsWith("HTTP/1.1 200"));
  }
}

TEST_F(PlainServerTest, ClientsThatComeAndGoLeaveNothing) {
  start({.max_bytes_under_way = 3000, .max_connections = 4});
  for (int i = 0; i < 300; ++i) {
    HttpClient client(port());
    client.send("POST / HTTP/1.1\r\nContent-Length: 900\r\n\r\n" + std::string(800, 'x'));
  }
  EXPECT_TRUE(test::eventually([&] { return serves(); }));
}

TEST_F(PlainServerTest, AClientThatGoesWhileItIsServedDoesNoHarm) {
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
    HttpClient client(port());
    client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
    begun.wait();
  }
  EXPECT_THAT(HttpClient(port()).ask("/"), EndsWith("done"));
  go_on.count_down();
  EXPECT_THAT(HttpClient(port()).ask("/"), EndsWith("done"));
  server_.reset();  // its handlers use the latches
}

TEST_F(PlainServerTest, EndsWithConnectionsInEveryState) {
  std::latch begun(1);
  start({}, [&](const Request& request, const std::stop_token& stop) -> Response {
    if (request.path == "/slow") {
      begun.count_down();
      test::eventually([&] { return stop.stop_requested(); });
    }
    return echo(request, stop);
  });
  HttpClient idle(port());
  EXPECT_THAT(idle.ask("/"), StartsWith("HTTP/1.1 200"));
  HttpClient half(port());
  half.send("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab");
  HttpClient deaf(port(), kKernelPart);
  deaf.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\nGET /next");
  HttpClient served(port());
  served.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  begun.wait();
  std::vector<std::unique_ptr<HttpClient>> silent;  // the loop may not have seen the last ones
  for (int i = 0; i < 50; ++i) silent.push_back(std::make_unique<HttpClient>(port()));
  server_.reset();
  for (auto* one : {&idle, &half, &deaf, &served}) EXPECT_TRUE(one->is_ended());
  for (const auto& one : silent) EXPECT_TRUE(one->is_ended());
}

// Puts back the process's limit, whatever happens.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    auto lower = before_;
    lower.rlim_cur = limit;
    ::setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(PlainServerTest, WaitsForADescriptorWhereThereIsNone) {
  start();
  const auto first = std::make_unique<HttpClient>(port());
  EXPECT_THAT(first->ask("/"), StartsWith("HTTP/1.1 200"));
  testing::internal::CaptureStderr();
  const auto second = [&] {
    // A socket gets the lowest free number, and the server's end the next one.
    const int next = ::dup(0);
    ::close(next);
    const DescriptorLimit limit(static_cast<rlim_t>(next) + 1);
    auto client = std::make_unique<HttpClient>(port());
    EXPECT_TRUE(client->is_connected());
    EXPECT_THAT(first->ask("/"), StartsWith("HTTP/1.1 200"));
    return client;
  }();
  EXPECT_THAT(second->ask("/late"), EndsWith("GET /late "));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace tranche::http::plain_server_test
