#include "kube/server_url.h"

#include <gtest/gtest.h>

namespace tranche::kube::server_url_test {
namespace {

TEST(ServerUrl, IsRead) {
  const struct {
    const char* text;
    const char* expected;  // nullptr: refused
  } cases[] = {
      {"https://10.96.0.1", "https://10.96.0.1:443"},
      {"https://10.96.0.1:6443/", "https://10.96.0.1:6443"},
      {"https://[fd00::1]:6443", "https://[fd00::1]:6443"},
      {"https://[::1]", "https://[::1]:443"},
      {"http://localhost", "http://localhost:80"},
      {"https://rancher.example.com/k8s/clusters/c-1/",
       "https://rancher.example.com:443/k8s/clusters/c-1"},
      {"", nullptr},
      {"10.96.0.1:443", nullptr},
      {"ftp://a", nullptr},
      {"https://", nullptr},
      {"https://:443", nullptr},
      {"https://a:", nullptr},
      {"https://a:0", nullptr},
      {"https://a:65536", nullptr},
      {"https://a:1x", nullptr},
      {"https://fd00::1:443", nullptr},
      {"https://[::1", nullptr},
      {"https://[::1]x", nullptr},
      {"https://user:password@a", nullptr},
      {"https://a/?q", nullptr},
      {"https://a/#f", nullptr},
      {"https://a b/", nullptr},
      {"https://a/b c", nullptr},
      {"https://a\n", nullptr},
  };
  for (const auto& test : cases) {
    const auto url = parse_server_url(test.text);
    ASSERT_EQ(url.has_value(), test.expected != nullptr) << test.text;
    if (url) {
      EXPECT_EQ(url->to_string(), test.expected);
    } else {
      EXPECT_EQ(url.error().hint, "write https://host:port");
    }
  }
}

}  // namespace
}  // namespace tranche::kube::server_url_test
