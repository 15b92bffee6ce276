#include "tenant/guarded_mapping.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "base/descriptor.h"

namespace tranche::tenant::guarded_mapping_test {
namespace {

constexpr std::size_t kPage = 4096;

Descriptor file_of(std::size_t pages) {
  Descriptor fd(memfd_create("guarded", MFD_CLOEXEC));
  const std::vector<char> ones(pages * kPage, 1);
  EXPECT_EQ(write(fd.get(), ones.data(), ones.size()), static_cast<ssize_t>(ones.size()));
  return fd;
}

char at(const GuardedMapping& mapping, std::size_t place) {
  return static_cast<const volatile char*>(mapping.data())[place];
}

TEST(GuardedMapping, AFileCutShortReadsAsZerosFromThen) {
  const Descriptor fd = file_of(3);
  const auto mapping = GuardedMapping::map(fd.get(), 3 * kPage);
  ASSERT_TRUE(mapping) << mapping.error().message();
  EXPECT_EQ(at(*mapping, 2 * kPage), 1);
  ASSERT_EQ(ftruncate(fd.get(), kPage), 0);
  EXPECT_FALSE(mapping->is_torn()) << "not looked at yet";
  EXPECT_EQ(at(*mapping, 2 * kPage + 7), 0);
  EXPECT_TRUE(mapping->is_torn());
  EXPECT_EQ(at(*mapping, 0), 1) << "what is still there";
  EXPECT_EQ(at(*mapping, kPage), 0);
}

TEST(GuardedMapping, OthersAreNotTouched) {
  const Descriptor cut = file_of(1);
  const Descriptor whole = file_of(1);
  auto first = GuardedMapping::map(cut.get(), kPage);
  const auto second = GuardedMapping::map(whole.get(), kPage);
  ASSERT_TRUE(first && second);
  ASSERT_EQ(ftruncate(cut.get(), 0), 0);
  EXPECT_EQ(at(*first, 0), 0);
  EXPECT_FALSE(second->is_torn());
  const GuardedMapping moved = *std::move(first);
  EXPECT_TRUE(moved.is_torn());
  EXPECT_EQ(at(moved, 0), 0);
}

TEST(GuardedMapping, PlacesAreGivenBack) {
  const Descriptor fd = file_of(1);
  for (std::size_t i = 0; i < 2 * GuardedMapping::kMost; ++i) {
    const auto mapping = GuardedMapping::map(fd.get(), kPage);
    ASSERT_TRUE(mapping) << i;
    ASSERT_FALSE(mapping->is_torn());
  }
  EXPECT_FALSE(GuardedMapping::map(-1, kPage));
}

TEST(GuardedMappingDeathTest, AFaultElsewhereIsStillTheEnd) {
  EXPECT_EXIT(
      {
        signal(SIGBUS,
               SIG_DFL);  // a sanitizer's own handler would run before the process ends
        const Descriptor fd = file_of(1);
        const auto mapping = GuardedMapping::map(fd.get(), kPage);
        auto* other =
            static_cast<volatile char*>(mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fd.get(), 0));
        if (ftruncate(fd.get(), 0) == 0) (void)other[0];
        _exit(0);
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace tranche::tenant::guarded_mapping_test
