#include "dra/health_board.h"

#include <gtest/gtest.h>

namespace tranche::dra::health_board_test {
namespace {

using std::chrono::seconds;

const std::chrono::steady_clock::time_point kStart{seconds(1000)};

TEST(HealthBoard, GoesUnaskedIfKubeletNeverRequestsTheStream) {
  HealthBoard board;
  EXPECT_FALSE(board.goes_unasked(kStart + seconds(3600))) << "it has not taken the driver";
  board.note_taken(kStart);
  EXPECT_FALSE(board.goes_unasked(kStart + seconds(59))) << "it may ask yet";
  EXPECT_TRUE(board.goes_unasked(kStart + seconds(60)));
  board.note_taken(kStart + seconds(60));
  EXPECT_TRUE(board.goes_unasked(kStart + seconds(61))) << "it has taken it again, as before";
  board.note_asked();
  EXPECT_FALSE(board.goes_unasked(kStart + seconds(3600)));
}

}  // namespace
}  // namespace tranche::dra::health_board_test
