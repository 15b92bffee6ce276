#include "http/openssl_library.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "http/certificate.h"
#include "http/server.h"
#include "support/http_client.h"
#include "support/temp_dir.h"

namespace tranche::http::openssl_library_test {
namespace {

constexpr const char* kWithout = "TRANCHE_TEST_WITHOUT_OPENSSL";

void expect_nothing_works() {
  const auto loaded = load_openssl();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kUnsupported);
  EXPECT_THAT(loaded.error().message(), testing::HasSubstr("install OpenSSL 3"));
  EXPECT_FALSE(make_authority("a", {}));
  EXPECT_FALSE(split_certificates("-----BEGIN CERTIFICATE-----"));
  EXPECT_FALSE(is_key_of("key", "certificate"));
  EXPECT_FALSE(Server::open({.address = "127.0.0.1"}, {}));
  EXPECT_EQ(openssl_function("SSL_connect"), nullptr);
}

void expect_plain_http_works() {
  const auto server =
      Server::open({.tls = false, .address = "127.0.0.1"},
                   [](const Request&, const std::stop_token&) { return Response{.body = "done"}; });
  ASSERT_TRUE(server) << server.error().message();
  EXPECT_THAT(test::HttpClient((*server)->port()).ask("/"), testing::EndsWith("\r\n\r\ndone"));
}

// A library stays loaded, so this restarts the program with an invalid one.
TEST(OpensslLibrary, OneThatIsMissingIsAnError) {
  if (std::getenv(kWithout) != nullptr) {
    expect_nothing_works();
    return expect_plain_http_works();
  }
  const test::TempDir dir;
  std::ofstream(dir.path() / "libssl.so.3").close();
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto command = fmt::format(
      "env -u GTEST_TOTAL_SHARDS {}=1 LD_LIBRARY_PATH='{}' '{}' --gtest_filter=OpensslLibrary.*",
      kWithout, dir.path().string(), self);
  EXPECT_EQ(std::system(command.c_str()), 0);  // NOLINT(cert-env33-c): ours
}

TEST(OpensslLibrary, IsLoadedOnce) {
  if (std::getenv(kWithout) != nullptr) return;
  ASSERT_TRUE(load_openssl());
  EXPECT_TRUE(load_openssl());
  EXPECT_NE(openssl_function("SSL_connect"), nullptr);
  EXPECT_EQ(openssl_function("SSL_no_such_function"), nullptr);
}

}  // namespace
}  // namespace tranche::http::openssl_library_test
