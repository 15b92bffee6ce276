#include "mps/shm.h"

#include <gtest/gtest.h>

namespace tranche::mps::shm_test {
namespace {

TEST(ShmSize, IsHalfOfTheMemory) {
  struct Row {
    const char* name;
    const char* text;
    const char* size;
  };
  const Row rows[] = {
      {"as the kernel writes it", "MemTotal:       24684100 kB\nMemFree:         1234 kB\n",
       "12342050k"},
      {"odd", "MemTotal: 5 kB\n", "2k"},
      {"not the first line", "Foo: 1 kB\nMemTotal: 8 kB\n", "4k"},
      {"another unit", "MemTotal: 8 MB\n", "4M"},
      {"without a unit", "MemTotal: 8\n", "65536k"},
      {"something else than a unit", "MemTotal: 8 %\n", "65536k"},
      {"a word behind the number", "MemTotal: 8,uid=0\n", "65536k"},
      {"no number", "MemTotal: lots kB\n", "65536k"},
      {"the word inside another", "NotMemTotal: 8 kB\n", "65536k"},
      {"nothing", "", "65536k"},
  };
  for (const Row& row : rows) EXPECT_EQ(shm_size(row.text), row.size) << row.name;
}

}  // namespace
}  // namespace tranche::mps::shm_test
