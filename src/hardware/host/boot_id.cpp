#include "host/boot_id.h"

namespace tranche::host {
namespace {

constexpr const char* kFile = "/proc/sys/kernel/random/boot_id";

}  // namespace

std::string boot_id(const FsRoot& host) {
  auto text = host.read(kFile).value_or("unknown");
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

}  // namespace tranche::host
