#include "http/certificate_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "base/descriptor.h"
#include "http/certificate.h"
#include "http/server.h"
#include "support/https_client.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace tranche::http::certificate_files_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Issued {
  Certificate pair;
  std::string authority;
};

// Each of an authority of its own.
Issued issue() {
  const Validity hour{.begin = std::chrono::system_clock::now() - 1h,
                      .end = std::chrono::system_clock::now() + 1h};
  const auto authority = *make_authority("test", hour);
  const auto made = *make_server_certificate(authority, {"127.0.0.1"}, hour);
  return {.pair = {.chain = made.certificate, .key = made.key}, .authority = authority.certificate};
}

class CertificateFilesTest : public testing::Test {
 protected:
  void write(const char* name, const std::string& text) {
    ASSERT_TRUE(root_.write_atomic(std::filesystem::path("/") / name, text, 0600));
  }
  void write(const Certificate& pair) {
    write("tls.crt", pair.chain);
    write("tls.key", pair.key);
  }
  // Of an error, its text alone.
  std::string error() {
    const auto changed = files_.changed();
    return changed ? "" : changed.error().message();
  }

  test::TempDir dir_;
  FsRoot root_{dir_.path()};
  CertificateFiles files_{root_, "/tls.crt", "/tls.key"};
};

TEST_F(CertificateFilesTest, APairIsGivenOnce) {
  const auto first = issue().pair;
  write(first);
  EXPECT_EQ(*files_.changed(), first);
  EXPECT_EQ(*files_.changed(), std::nullopt);
  write(first);  // other files, the same content
  EXPECT_EQ(*files_.changed(), std::nullopt);
  const auto second = issue().pair;
  write(second);
  EXPECT_EQ(*files_.changed(), second);
  EXPECT_EQ(*files_.changed(), std::nullopt);
}

TEST_F(CertificateFilesTest, HalfAChangeIsAnErrorAndNoPair) {
  const auto first = issue().pair;
  const auto second = issue().pair;
  write(first);
  EXPECT_EQ(*files_.changed(), first);
  write("tls.crt", second.chain);
  for (int i = 0; i < 2; ++i) {
    const auto torn = files_.changed();
    ASSERT_FALSE(torn);
    EXPECT_EQ(torn.error().code, Code::kInvalidArgument);
    EXPECT_THAT(torn.error().what, HasSubstr("/tls.crt and /tls.key: certificate and key"));
  }
  write("tls.key", second.key);
  EXPECT_EQ(*files_.changed(), second);
  // And back, by way of nothing.
  write("tls.key", first.key);
  EXPECT_FALSE(files_.changed());
  write("tls.key", second.key);
  EXPECT_EQ(*files_.changed(), std::nullopt);
}

TEST_F(CertificateFilesTest, WhatIsNoPairIsAnError) {
  const auto good = issue().pair;
  EXPECT_THAT(error(), HasSubstr("tls.crt: No such file"));
  write("tls.crt", good.chain);
  EXPECT_THAT(error(), HasSubstr("tls.key: No such file"));
  write("tls.key", "");
  EXPECT_THAT(error(), HasSubstr("tls.key is empty"));
  for (const auto& key : {std::string("hello"), good.key.substr(0, good.key.size() / 2), good.chain,
                          std::string(1000, '\0')}) {
    write("tls.key", key);
    EXPECT_THAT(error(), HasSubstr("/tls.crt and /tls.key: ")) << key;
  }
  write("tls.key", std::string(CertificateFiles::kMaxBytes + 1, 'x'));
  EXPECT_THAT(error(), HasSubstr("longer than 1048576 bytes"));
  write("tls.key", good.key);
  for (const auto& chain : {std::string("hello"), good.chain.substr(0, good.chain.size() / 2),
                            good.key, good.chain + good.chain.substr(0, 100)}) {
    write("tls.crt", chain);
    EXPECT_THAT(error(), HasSubstr("/tls.crt and /tls.key: ")) << chain;
  }
  std::filesystem::remove(dir_.path() / "tls.crt");
  ASSERT_EQ(::mkfifo((dir_.path() / "tls.crt").c_str(), 0600), 0);
  EXPECT_THAT(error(), HasSubstr("no regular file"));
  write(good);
  EXPECT_EQ(*files_.changed(), good);
}

TEST_F(CertificateFilesTest, AFileThatIsBeingWrittenIsWaitedFor) {
  const auto first = issue().pair;
  write(first);
  if (!root_.observe("/tls.key")->being_written) GTEST_SKIP() << "no leases here";
  {
    const Descriptor writer(
        ::open((dir_.path() / "tls.key").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    const auto changed = files_.changed();
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, Code::kUnavailable);
  }
  EXPECT_EQ(*files_.changed(), first);
}

TEST_F(CertificateFilesTest, AServerTakesWhatIsGiven) {
  const auto server = *Server::open(
      {.address = "127.0.0.1"}, [](const Request&, const std::stop_token&) { return Response{}; });
  for (const auto& issued : {issue(), issue()}) {
    write(issued.pair);
    const auto changed = files_.changed();
    ASSERT_TRUE(changed && *changed);
    ASSERT_TRUE(server->set_certificate(**changed));
    EXPECT_TRUE(test::eventually(
        [&] { return test::HttpsClient(server->port(), issued.authority).is_connected(); }));
  }
}

}  // namespace
}  // namespace tranche::http::certificate_files_test
