#pragma once
// The logs of the control daemon (control.log) and of its servers (server.log), in NVIDIA's line
// format: [2026-05-31 23:46:49.893 Control 11107] Accepting connection...

#include <string>
#include <string_view>

#include "sim/mps/wire.h"

namespace tranche::sim::mps {

// CUDA_MPS_LOG_DIRECTORY, else /var/log/nvidia-mps. Absolute.
std::string log_folder();

class Log {
 public:
  // Lines are appended to `file`, and also written to standard output if `echo`.
  Log(OwnedFd file, bool echo) : file_(std::move(file)), echo_(echo) {}
  // `who` is Control, Server or Other, as in NVIDIA's lines.
  void line(std::string_view who, std::string_view text) const;

 private:
  OwnedFd file_;
  bool echo_;
};

}  // namespace tranche::sim::mps
