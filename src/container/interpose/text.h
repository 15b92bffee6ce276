#pragma once
// Compares text without the C library, whose functions may be a sanitizer's that is not ready yet
// (elf_symbols.h).

namespace tranche::interpose {

inline bool is_same(const char* a, const char* b) {
  while (*a != 0 && *a == *b) ++a, ++b;
  return *a == *b;
}

inline bool begins_with(const char* text, const char* beginning) {
  while (*beginning != 0 && *text == *beginning) ++text, ++beginning;
  return *beginning == 0;
}

inline const char* file_name(const char* path) {
  const char* name = path;
  for (; *path != 0; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}

}  // namespace tranche::interpose
