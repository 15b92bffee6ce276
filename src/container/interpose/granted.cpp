#include "interpose/granted.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cstddef>

namespace tranche::interpose {
namespace {

using std::size_t;

// Fields 3, 4 and 5 of a line of /proc/self/mountinfo (proc_pid_mountinfo(5)). Longer ones are not
// ours.
struct Mount {
  char device[32];
  char root[512];   // of the mounted folder within its file system
  char point[512];  // in this process's root
};

// The kernel writes space, tab, line end and backslash as \ooo.
void unescape(char* text) {
  char* to = text;
  for (const char* from = text; *from != 0; ++to) {
    if (from[0] == '\\' && from[1] != 0 && from[2] != 0 && from[3] != 0) {
      *to = static_cast<char>((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
      from += 4;
    } else {
      *to = *from++;
    }
  }
  *to = 0;
}

// Takes a line character by character.
class Line {
 public:
  void take(char c) {
    if (c == ' ') {
      end_field();
      ++field_;
      length_ = 0;
      return;
    }
    size_t size = 0;
    char* text = field(size);
    if (text == nullptr) return;
    is_whole_ &= length_ + 1 < size;
    if (length_ + 1 < size) text[length_++] = c;
  }
  // nullptr: not a mount that fits. Valid until the next line begins.
  const Mount* end() {
    end_field();
    if (!is_whole_ || field_ < kPoint) return nullptr;
    unescape(mount_.root);
    unescape(mount_.point);
    return &mount_;
  }
  void begin() {
    field_ = 0;
    length_ = 0;
    is_whole_ = true;
  }

 private:
  static constexpr unsigned kDevice = 2;
  static constexpr unsigned kRoot = 3;
  static constexpr unsigned kPoint = 4;

  char* field(size_t& size) {
    size = field_ == kDevice ? sizeof(mount_.device) : sizeof(mount_.root);
    if (field_ == kDevice) return mount_.device;
    if (field_ == kRoot) return mount_.root;
    return field_ == kPoint ? mount_.point : nullptr;
  }
  void end_field() {
    size_t size = 0;
    if (char* text = field(size)) text[length_] = 0;
  }

  Mount mount_{};
  unsigned field_ = 0;
  size_t length_ = 0;
  bool is_whole_ = true;
};

// Only one thread at a time. The thread's own stack may be small (docs/internals/limits.md, "In a
// thread with a small stack").
constinit char buffer[4096]{};
constinit Line line{};
constinit Mount library{};

// Calls `take` with each mount; an error's number, or 0.
template <class Take>
int each_mount(Take take) {
  const int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  line.begin();
  int error = 0;
  for (;;) {
    const auto count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) error = errno;
    if (count <= 0) break;
    for (const char* c = buffer; c != buffer + count; ++c) {
      if (*c != '\n') {
        line.take(*c);
        continue;
      }
      if (const Mount* mount = line.end()) take(*mount);
      line.begin();
    }
  }
  close(fd);
  return error;
}

// Mounts of folders named .../tenants/<id>, collected in one pass: the kernel generates the list
// again for each reading, which is most of a program's start-up cost here.
constexpr unsigned kKept = 20;
constinit Mount kept[kKept]{};

bool is_like_a_tenant(const Mount& mount) {
  constexpr const char* kTenants = "/tenants";
  const char* name = strrchr(mount.root, '/');
  const size_t length = strlen(kTenants);
  return name != nullptr && static_cast<size_t>(name - mount.root) >= length &&
         strncmp(name - length, kTenants, length) == 0;
}

// <state dir>/lib/<hash>/<library> becomes <state dir>/tenants/.
bool make_beginning(char* root, size_t size) {
  char* ends[3] = {};
  for (char*& end : ends) {
    end = strrchr(root, '/');
    if (end == nullptr) return false;
    *end = 0;
  }
  constexpr const char* kTenants = "/tenants/";
  if (strcmp(ends[2] + 1, "lib") != 0 || strlen(root) + strlen(kTenants) >= size) return false;
  strcat(root, kTenants);
  return true;
}

}  // namespace

Grant find_granted(void (*tell)(const char* folder)) {
  library.point[0] = 0;
  unsigned count = 0;
  int error = each_mount([&](const Mount& mount) {
    if (strcmp(mount.point, kLibraryMount) == 0) library = mount;  // the last one is on top
    if (is_like_a_tenant(mount) && count++ < kKept) kept[count - 1] = mount;
  });
  // Without /proc the mounts are unknown; a program that has changed its root may have none.
  if (error != 0) return error == ENOENT ? Grant::kNotMounted : Grant::kUnreadable;
  if (library.point[0] == 0 || !make_beginning(library.root, sizeof(library.root)))
    return Grant::kNotMounted;
  const size_t beginning = strlen(library.root);
  const auto tell_of = [&](const Mount& mount) {
    const bool is_tenants = strcmp(mount.device, library.device) == 0 &&
                            strncmp(mount.root, library.root, beginning) == 0 &&
                            strchr(mount.root + beginning, '/') == nullptr;
    if (is_tenants) tell(mount.point);
  };
  if (count > kKept) {
    error = each_mount(tell_of);
  } else {
    for (unsigned i = 0; i < count; ++i) tell_of(kept[i]);
  }
  return error == 0 ? Grant::kMounted : Grant::kUnreadable;
}

}  // namespace tranche::interpose
