#include <gtest/gtest.h>

#include "agent/dra/claim_store.h"
#include "agent/grants/grant_store.h"
#include "agent/holdings/testing.h"
#include "offer/make_offer.h"
#include "support/fake_clock.h"
#include "support/log_recorder.h"
#include "support/machines.h"
#include "support/temp_dir.h"

namespace tranche::agent::book_crash_test {
namespace {

using namespace book_testing;  // NOLINT: the words of these tests
using test::gpu_uuid;

// kill -9 between any two steps of either wire: the next agent reads both stores. What is in one of
// them blocks the other wire, and nothing else does.
class BookCrashTest : public testing::Test {
 protected:
  enum class Step { kNothing, kReserved, kStored, kCommitted };
  static constexpr Step kSteps[] = {Step::kNothing, Step::kReserved, Step::kStored,
                                    Step::kCommitted};

  void allocate(const std::filesystem::path& dir, Step until) {
    Book book(clock_);
    open(book, machine_);
    const auto wanted = grant(gpu_uuid(0));
    if (until < Step::kReserved) return;
    ASSERT_TRUE(book.reserve(wanted));
    if (until < Step::kStored) return;
    ASSERT_TRUE(grants(dir)->add(wanted));
    if (until == Step::kCommitted) book.commit(wanted);
  }
  void prepare(const std::filesystem::path& dir, Step until) {
    Book book(clock_);
    open(book, machine_);
    const auto wanted = claim(gpu_uuid(0));
    if (until < Step::kReserved) return;
    ASSERT_TRUE(book.reserve(wanted, machine_));
    if (until < Step::kStored) return;
    auto store = claims(dir);
    ASSERT_TRUE(store.lock()->put(wanted));
    if (until == Step::kCommitted) book.commit(wanted, machine_);
  }
  // The next agent's book.
  std::unique_ptr<Book> restart(const std::filesystem::path& dir) {
    auto book = std::make_unique<Book>(clock_);
    book->restore(grants(dir)->all());
    auto store = claims(dir);
    const auto stored = store.lock()->all();
    EXPECT_TRUE(stored);
    book->restore(stored.value_or(std::map<std::string, dra::PreparedClaim>()), machine_);
    open(*book, machine_);
    return book;
  }
  std::unique_ptr<GrantStore> grants(const std::filesystem::path& dir) {
    auto store = GrantStore::open(dir / "grants", clock_, log_.log());
    EXPECT_TRUE(store);
    return *std::move(store);
  }
  ClaimStore claims(const std::filesystem::path& dir) { return {dir / "claims", log_.log()}; }

  gpu::Machine machine_ = test::machine_of({test::l20(0)});
  test::FakeClock clock_;
  test::LogRecorder log_;
};

TEST_F(BookCrashTest, AGrantThatIsStoredKeepsClaimsOff) {
  for (const auto step : kSteps) {
    const test::TempDir dir;
    allocate(dir.path(), step);
    const auto book = restart(dir.path());
    EXPECT_EQ(book->reserve(claim(gpu_uuid(0)), machine_).has_value(), step < Step::kStored)
        << "killed after step " << static_cast<int>(step);
  }
}

TEST_F(BookCrashTest, AClaimThatIsStoredKeepsGrantsOff) {
  for (const auto step : kSteps) {
    const test::TempDir dir;
    prepare(dir.path(), step);
    const auto book = restart(dir.path());
    EXPECT_EQ(book->reserve(grant(gpu_uuid(0))).has_value(), step < Step::kStored)
        << "killed after step " << static_cast<int>(step);
  }
}

}  // namespace
}  // namespace tranche::agent::book_crash_test
