#include "mps/order.h"

#include <gtest/gtest.h>

namespace tranche::mps::order_test {
namespace {

TEST(Order, IsShownAsItIsTyped) {
  EXPECT_EQ(shown({{"server", "list"}, ""}), "server list");
  EXPECT_EQ(shown({{}, "get_server_list"}), "get_server_list");
}

TEST(Words, AreOneLineOfAMessage) {
  EXPECT_EQ(words("the GPU\nis busy\n"), "the GPU is busy");
  EXPECT_EQ(words(std::string(1000, 'x')).size(), 300U);
  EXPECT_EQ(words(""), "");
}

TEST(Count, IsAWholeNumberOnly) {
  EXPECT_EQ(count_in("23"), 23);
  EXPECT_EQ(count_in("0"), 0);
  for (const auto* text : {"", "-", "-1", " 3", "3 ", "3M", "99999999999"}) {
    EXPECT_EQ(count_in(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tranche::mps::order_test
