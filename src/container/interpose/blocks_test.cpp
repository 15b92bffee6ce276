#include "interpose/blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

namespace tranche::interpose::blocks_test {
namespace {

TEST(BlocksTest, DoesWhatAMapDoes) {
  Blocks<std::uint64_t> blocks;
  std::map<std::uint64_t, std::uint64_t> model;
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t key = (random() % 5000 + 1) * 512;  // as the driver aligns
    std::uint64_t value = 0;
    if (random() % 2 == 0) {
      ASSERT_TRUE(blocks.put(key, static_cast<std::uint64_t>(i)));
      model[key] = static_cast<std::uint64_t>(i);
    } else {
      const auto there = model.find(key);
      ASSERT_EQ(blocks.take(key, value), there != model.end()) << key;
      if (there == model.end()) continue;
      EXPECT_EQ(value, there->second);
      model.erase(there);
    }
  }
  for (const auto& [key, expected] : model) {
    EXPECT_TRUE(blocks.with(key, [&](std::uint64_t& value) { return value == expected; })) << key;
  }
}

TEST(BlocksTest, ThreadsTakeEachBlockOnce) {
  Blocks<int> blocks;
  constexpr std::uint64_t kCount = 20'000;
  for (std::uint64_t key = 1; key <= kCount; ++key) ASSERT_TRUE(blocks.put(key, 1));
  std::atomic<std::uint64_t> taken = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      int value = 0;
      for (std::uint64_t key = 1; key <= kCount; ++key) {
        if (blocks.take(key, value)) ++taken;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(taken, kCount);
}

TEST(BlocksTest, OneThreadAtATimeHoldsASpinLock) {
  SpinLock lock;
  std::uint64_t sum = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50'000; ++round) {
        const Guard guard(lock);
        ++sum;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(sum, 200'000U);
}

TEST(BlocksTest, TakesOutAllThatAreNamed) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    Blocks<std::uint64_t> blocks;
    std::map<std::uint64_t, std::uint64_t> model;
    while (model.size() < 500) {
      const std::uint64_t key = (random() % 5000 + 1) * 512;
      const std::uint64_t value = random() % 3;
      ASSERT_TRUE(blocks.put(key, value));
      model[key] = value;
    }
    std::map<std::uint64_t, std::uint64_t> taken;
    blocks.take_all([](std::uint64_t value) { return value == 1; },
                    [&](std::uint64_t key, std::uint64_t value) {
                      EXPECT_TRUE(taken.emplace(key, value).second);
                    });
    for (const auto& [key, expected] : model) {
      EXPECT_EQ(taken.contains(key), expected == 1);
      std::uint64_t value = 0;
      EXPECT_EQ(blocks.take(key, value), expected != 1) << key;
    }
  }
}

TEST(BlocksTest, WhatIsPutInAPlaceThatIsTakenIsToldWhatItDisplaced) {
  Blocks<int> blocks;
  int displaced = -1;
  ASSERT_TRUE(blocks.put(7, 1, &displaced));
  EXPECT_EQ(displaced, -1);
  ASSERT_TRUE(blocks.put(7, 2, &displaced));
  EXPECT_EQ(displaced, 1);
}

TEST(BlocksTest, AChildHasNone) {
  Blocks<int> blocks;
  ASSERT_TRUE(blocks.put(1, 1));
  blocks.reset();
  int value = 0;
  EXPECT_FALSE(blocks.take(1, value));
  EXPECT_TRUE(blocks.put(2, 2));
}

}  // namespace
}  // namespace tranche::interpose::blocks_test
