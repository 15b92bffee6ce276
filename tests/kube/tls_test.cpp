// Which servers the client trusts, and which identity it shows.

#include <gmock/gmock.h>

#include "kube/certificates.h"
#include "kube/client_fixture.h"

namespace tranche::test::tls_test {
namespace {

using namespace cluster;
using std::chrono::seconds;
using testing::HasSubstr;

const ObjectKey kKey{"x", "a"};

class TlsTest : public ClientTest {};

TEST_F(TlsTest, TheServersCertificateMustBeSignedByTheAuthority) {
  StubServer server;
  Certificates others;
  auto credentials = server.credentials();
  credentials.authority.file = others.pem("ca");
  const auto object = open(credentials)->get(kConfigMap, kKey);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, Code::kUnavailable);
  EXPECT_THAT(object.error().what, HasSubstr("get configmaps x/a: API server https://127.0.0.1:"));
  EXPECT_THAT(object.error().hint, HasSubstr("not signed by the certificate authority"));
}

TEST_F(TlsTest, WithoutAnAuthorityTheSystemsAreAsked) {
  StubServer server;
  auto credentials = server.credentials();
  credentials.authority = {};
  EXPECT_FALSE(open(credentials)->get(kConfigMap, kKey));
}

TEST_F(TlsTest, TheServersCertificateMustBeForItsHost) {
  StubServer server;
  auto credentials = server.credentials();
  credentials.server = "https://localhost:" + std::to_string(server.port());
  EXPECT_THAT(open(credentials)->get(kConfigMap, kKey).error().hint, HasSubstr("another host"));
}

TEST_F(TlsTest, TlsServerNameTakesTheHostsPlace) {
  StubServer server;
  auto credentials = server.credentials();
  credentials.tls_server_name = "api.example.test";
  server.answer({.body = config_map("a")});
  const auto object = open(credentials)->get(kConfigMap, kKey);
  EXPECT_TRUE(object) << object.error().message();
  credentials.tls_server_name = "other.example.test";
  EXPECT_FALSE(open(credentials)->get(kConfigMap, kKey));
}

TEST_F(TlsTest, InsecureTrustsEverybody) {
  StubServer server;
  auto credentials = server.credentials();
  credentials.authority = {};
  credentials.insecure = true;
  server.answer({.body = config_map("a")});
  EXPECT_TRUE(open(credentials)->get(kConfigMap, kKey));
}

TEST_F(TlsTest, ClientCertificateFromFilesAndInline) {
  StubServer server({.client_certificates = true});
  auto credentials = server.credentials();
  credentials.token = {};
  credentials.certificate.file = certificates().pem("client");
  credentials.key.file = certificates().key("client");
  server.answer({.body = config_map("a")});
  auto object = open(credentials)->get(kConfigMap, kKey);
  ASSERT_TRUE(object) << object.error().message();
  auto asked = server.asked();
  EXPECT_EQ(asked.subject, "client");
  EXPECT_FALSE(asked.headers.contains("authorization"));

  credentials.certificate = {FsRoot().read(certificates().pem("client")).value(), {}};
  credentials.key = {FsRoot().read(certificates().key("client")).value(), {}};
  credentials.authority = {FsRoot().read(certificates().pem("ca")).value(), {}};
  server.answer({.body = config_map("a")});
  object = open(credentials)->get(kConfigMap, kKey);
  ASSERT_TRUE(object) << object.error().message();
  EXPECT_EQ(server.asked().subject, "client");
}

TEST_F(TlsTest, ClientCertificateAndKeyMustBelongTogether) {
  StubServer server({.client_certificates = true});
  auto credentials = server.credentials();
  credentials.certificate.file = certificates().pem("client");
  credentials.key.file = certificates().key("server");
  const auto object = open(credentials)->get(kConfigMap, kKey);
  ASSERT_FALSE(object);
  EXPECT_THAT(object.error().hint, HasSubstr("do not belong together"));
}

TEST_F(TlsTest, ServerThatIsNotThere) {
  kube::Credentials credentials;
  {
    StubServer server;
    credentials = server.credentials();
  }
  const auto client = open(credentials);
  for (const bool write : {false, true}) {
    const auto object =
        write ? client->create(kConfigMap, "x", config_map("a")) : client->get(kConfigMap, kKey);
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().code, Code::kUnavailable);
    EXPECT_THAT(object.error().what, HasSubstr("(5 attempts)"));
    EXPECT_THAT(object.error().hint, HasSubstr("is the API server running"));
  }
}

TEST_F(TlsTest, CredentialsAreNotSentWithoutTls) {
  StubServer server({.tls = false});
  auto credentials = server.credentials();
  server.answer({.body = config_map("a")});
  EXPECT_TRUE(open(credentials)->get(kConfigMap, kKey));
  credentials.token.text = "secret";
  const auto refused = kube::Client::open(credentials);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().what, HasSubstr("credentials are not sent"));
}

TEST_F(TlsTest, ServerWithoutTlsIsNotTalkedTo) {
  StubServer server({.tls = false});
  auto credentials = server.credentials();
  credentials.server = "https://127.0.0.1:" + std::to_string(server.port());
  const auto object =
      open(credentials)->get(kConfigMap, kKey, {.deadline = std::chrono::seconds(20)});
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace tranche::test::tls_test
