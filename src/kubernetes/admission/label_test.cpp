#include "admission/label.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::admission::label_test {
namespace {

TEST(DnsLabel, KeepsALabel) {
  EXPECT_EQ(dns_label("tranche-gpu-main"), "tranche-gpu-main");
  EXPECT_EQ(dns_label("A  b_c-"), "a-b-c");
  const auto one = dns_label(std::string(70, 'a') + "1");
  EXPECT_EQ(one.size(), 63U);
  EXPECT_NE(one, dns_label(std::string(70, 'a') + "2"));
  EXPECT_EQ(numbered_label("a", 1), "a");
  EXPECT_EQ(numbered_label(std::string(62, 'a'), 12).size(), 63U);
}

}  // namespace
}  // namespace tranche::admission::label_test
