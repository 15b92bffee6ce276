#include "tenant/policy_page.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <string>

namespace tranche::tenant::policy_page_test {
namespace {

using namespace limit;

constexpr PolicyPage::Uuid kDevices[] = {{1, 2, 3}, {4, 5, 6}};

TEST(PolicyPage, BeginsWithoutABound) {
  const auto page = PolicyPage::create(kDevices);
  ASSERT_TRUE(page) << page.error().message();
  EXPECT_EQ(page->get().magic, wire::kPolicyMagic);
  EXPECT_EQ(page->get().version, wire::kVersion);
  EXPECT_EQ(page->get().device_count, 2);
  EXPECT_EQ(page->get().devices[1].uuid[2], 6);
  EXPECT_EQ(page->get().devices[0].memory_limit, wire::kNoLimit);
  EXPECT_EQ(page->get().devices[0].allowed_ns, wire::kNoLimit);
  EXPECT_EQ(page->get().devices[0].closed, 0U);
}

TEST(PolicyPage, WhoHasItsDescriptorReadsWhatIsWrittenLater) {
  auto page = PolicyPage::create(kDevices);
  ASSERT_TRUE(page);
  const void* memory =
      mmap(nullptr, sizeof(wire::PolicyPage), PROT_READ, MAP_SHARED, page->fd(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto& seen = *static_cast<const wire::PolicyPage*>(memory);
  page->get().devices[0].memory_limit = 5;
  EXPECT_EQ(seen.devices[0].memory_limit, 5U);
}

// These are the attempts that a container can make as root.
TEST(PolicyPage, WhoHasItsDescriptorCannotChangeIt) {
  auto page = PolicyPage::create(kDevices);
  ASSERT_TRUE(page);
  const int fd = page->fd();
  constexpr std::size_t kSize = sizeof(wire::PolicyPage);
  EXPECT_EQ(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  const char text[] = "more";
  EXPECT_EQ(pwrite(fd, text, sizeof(text), 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(ftruncate(fd, 0), 0);
  EXPECT_NE(ftruncate(fd, kSize * 2), 0);
  EXPECT_NE(fcntl(fd, F_ADD_SEALS, 0), 0);
  EXPECT_NE(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kSize), 0);

  void* memory = mmap(nullptr, kSize, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_NE(mprotect(memory, kSize, PROT_READ | PROT_WRITE), 0);

  const Descriptor again(open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR));
  ASSERT_TRUE(again.is_open());
  EXPECT_EQ(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0), MAP_FAILED);
  EXPECT_EQ(page->get().magic, wire::kPolicyMagic);
}

TEST(PolicyPage, TooManyDevicesAreRefused) {
  static constexpr PolicyPage::Uuid kMany[wire::kMaxDevices + 1] = {};
  const auto page = PolicyPage::create(kMany);
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().what, "17 devices for one container; 16 at most");
}

}  // namespace
}  // namespace tranche::tenant::policy_page_test
