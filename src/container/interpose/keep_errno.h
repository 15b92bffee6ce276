#pragma once
// errno belongs to the program: no CUDA or NVML call reports anything in it.

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
