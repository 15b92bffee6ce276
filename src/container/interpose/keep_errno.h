#pragma once
// errno is the program's: no call of CUDA's or NVML's says anything by it.

#include <errno.h>

namespace tranche::interpose {

class KeepErrno {
 public:
  KeepErrno() : before_(errno) {}
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;
  ~KeepErrno() { errno = before_; }

 private:
  int before_;
};

}  // namespace tranche::interpose
