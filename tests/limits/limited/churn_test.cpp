// Processes of one tenant that allocate and free at once, and are killed at it, through the whole
// library. TRANCHE_SOAK=1: ten million allocations.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <random>

#include "limits/limited/container.h"

namespace tranche::test::churn_test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using sim::cuda::test::Program;
using sim::test::World;

constexpr std::uint64_t kLimit = 400 * kMiB;

bool is_soak() { return std::getenv("TRANCHE_SOAK") != nullptr; }

// What all of them hold, by their own count: raised after an allocation, lowered before it is
// freed, so it is never more than what is held.
struct Board {
  std::atomic<std::uint64_t> held;
  std::atomic<std::uint64_t> most;
  std::atomic<std::uint64_t> allocations;
  std::atomic<int> ready;
};
Board* make_board() {
  return new (mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                   0)) Board{};
}

void churn(Board& board, unsigned seed, std::uint64_t allocations) {
  Program program;
  ++board.ready;
  std::minstd_rand random(seed);
  std::vector<std::pair<CUdeviceptr, std::uint64_t>> blocks;
  const auto give_back = [&] {
    board.held -= blocks.back().second;
    EXPECT_EQ(program.cuMemFree_v2(blocks.back().first), CUDA_SUCCESS);
    blocks.pop_back();
  };
  for (std::uint64_t done = 0; done < allocations;) {
    if (!blocks.empty() && random() % 2 == 0) {
      give_back();
      continue;
    }
    const std::uint64_t bytes = (1 + random() % 20) * kMiB;
    CUdeviceptr address = 0;
    const CUresult result = program.cuMemAlloc_v2(&address, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      if (!blocks.empty()) give_back();
      continue;
    }
    ASSERT_EQ(result, CUDA_SUCCESS);
    ++done;
    ++board.allocations;
    const std::uint64_t sum = board.held += bytes;
    std::uint64_t most = board.most;
    while (sum > most && !board.most.compare_exchange_weak(most, sum)) {
    }
    blocks.emplace_back(address, bytes);
  }
  while (!blocks.empty()) give_back();
}

void expect_all_of_it() {
  sim::cuda::test::in_program([] {
    Program program;
    EXPECT_TRUE(eventually([&] {
      CUdeviceptr address = 0;
      if (program.cuMemAlloc_v2(&address, kLimit) != CUDA_SUCCESS) return false;
      return program.cuMemFree_v2(address) == CUDA_SUCCESS;
    }));
  });
}

TEST(Churn, EightProcessesNeverHoldMoreThanTheLimit) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  Board& board = *make_board();
  std::array<pid_t, 8> programs{};
  const std::uint64_t each = is_soak() ? 1'250'000 : 1'000;
  for (unsigned i = 0; i < programs.size(); ++i) {
    programs[i] = sim::cuda::test::start([&, i] { churn(board, i + 1, each); });
  }
  for (const pid_t pid : programs) sim::cuda::test::expect_success(pid);
  EXPECT_EQ(board.allocations, programs.size() * each);
  EXPECT_LE(board.most, kLimit);
  EXPECT_GT(board.most, kLimit / 2) << "they did come near it";
  expect_all_of_it();
}

TEST(Churn, WhatTheKilledHeldComesBackWhereverItWasThatTheyWereKilled) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  std::minstd_rand random(7);
  const int rounds = is_soak() ? 300 : 5;
  for (int round = 0; round < rounds; ++round) {
    Board& board = *make_board();
    std::array<pid_t, 4> programs{};
    for (unsigned i = 0; i < programs.size(); ++i) {
      programs[i] = sim::cuda::test::start([&, i] { churn(board, i + 1, ~std::uint64_t{0}); });
    }
    EXPECT_TRUE(eventually([&] { return board.ready == 4; }));
    usleep(static_cast<useconds_t>(random() % 20'000));
    for (const pid_t pid : programs) kill(pid, SIGKILL);
    for (const pid_t pid : programs) waitpid(pid, nullptr, 0);
    expect_all_of_it();
    munmap(&board, sizeof(Board));
  }
}

}  // namespace
}  // namespace tranche::test::churn_test
