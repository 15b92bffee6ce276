// Tokens and certificates are replaced while the client exists.

#include <filesystem>
#include <fstream>

#include "kube/certificates.h"
#include "kube/client_fixture.h"
#include "support/temp_dir.h"

namespace tranche::test::credentials_in_use_test {
namespace {

using namespace cluster;
using testing::HasSubstr;

const ObjectKey kKey{"x", "a"};

class CredentialsInUseTest : public ClientTest {
 protected:
  // Like kubelet: the files are in a folder of their own, and a link is swapped.
  void mount(const std::string& version, const std::string& token) {
    namespace fs = std::filesystem;
    const auto folder = dir_.path() / version;
    fs::create_directory(folder);
    std::ofstream(folder / "token") << token << "\n";
    fs::create_directory_symlink(version, dir_.path() / "..data_tmp");
    fs::rename(dir_.path() / "..data_tmp", dir_.path() / "..data");
    if (!fs::is_symlink(token_file())) fs::create_symlink("..data/token", token_file());
  }
  std::filesystem::path token_file() const { return dir_.path() / "token"; }
  kube::Credentials credentials() const {
    auto credentials = server_.credentials();
    credentials.token = {"", token_file()};
    return credentials;
  }
  std::string bearer() { return server_.asked().headers["authorization"]; }

  TempDir dir_;
  StubServer server_;
};

TEST_F(CredentialsInUseTest, ANewTokenIsUsedFromTheNextCallOn) {
  mount("1", "first");
  const auto client = open(credentials());
  server_.answer({.body = config_map("a")});
  ASSERT_TRUE(client->get(kConfigMap, kKey));
  EXPECT_EQ(bearer(), "Bearer first");
  mount("2", "second");
  server_.answer({.body = config_map("a")});
  ASSERT_TRUE(client->get(kConfigMap, kKey));
  EXPECT_EQ(bearer(), "Bearer second");
}

TEST_F(CredentialsInUseTest, ATokenThatIsGoneForAMomentStaysInForce) {
  mount("1", "first");
  const auto client = open(credentials());
  std::filesystem::remove(token_file());
  server_.answer({.body = config_map("a")});
  ASSERT_TRUE(client->get(kConfigMap, kKey));
  EXPECT_EQ(bearer(), "Bearer first");
}

TEST_F(CredentialsInUseTest, AnExpiredTokenIsSaid) {
  mount("1", "first");
  const auto client = open(credentials());
  server_.answer(refusal(401, "Unauthorized", "Unauthorized"));
  const auto object = client->get(kConfigMap, kKey);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, Code::kPermission);
  EXPECT_THAT(object.error().hint, HasSubstr("expired"));
}

TEST_F(CredentialsInUseTest, WhatCannotBeReadIsSaidAtTheStart) {
  const auto client = kube::Client::open(credentials());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Code::kNotFound);
  EXPECT_THAT(client.error().what, HasSubstr("the test: read " + token_file().string()));
}

TEST_F(CredentialsInUseTest, ATokenThatNoHeaderCanHoldIsRefused) {
  mount("1", "two\nlines");
  const auto client = kube::Client::open(credentials());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Code::kInvalidArgument);
  EXPECT_THAT(client.error().what, HasSubstr("control character"));
}

TEST_F(CredentialsInUseTest, ANewClientCertificateIsUsedFromTheNextCallOn) {
  namespace fs = std::filesystem;
  StubServer server({.client_certificates = true});
  Certificates made;
  const auto use = [&](const std::string& name) {
    fs::copy_file(certificates().pem(name), dir_.path() / "tls.crt.new");
    fs::copy_file(certificates().key(name), dir_.path() / "tls.key.new");
    fs::rename(dir_.path() / "tls.crt.new", dir_.path() / "tls.crt");
    fs::rename(dir_.path() / "tls.key.new", dir_.path() / "tls.key");
  };
  use("client");
  auto credentials = server.credentials();
  credentials.token = {};
  credentials.certificate.file = dir_.path() / "tls.crt";
  credentials.key.file = dir_.path() / "tls.key";
  const auto client = open(credentials);
  server.answer({.body = config_map("a")});
  ASSERT_TRUE(client->get(kConfigMap, kKey));
  EXPECT_EQ(server.asked().subject, "client");
  use("server");  // signed by the same CA
  server.answer({.body = config_map("a")});
  ASSERT_TRUE(client->get(kConfigMap, kKey));
  EXPECT_EQ(server.asked().subject, "server");
}

}  // namespace
}  // namespace tranche::test::credentials_in_use_test
