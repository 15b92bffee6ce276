// Arbitrary bytes as a PCI function's configuration space.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "host/pci.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

// A text of ten bytes that ends at its first zero byte, found whole in the space.
void check_text(std::string_view config, std::string_view text) {
  require(text.size() <= 10 && text.find('\0') == text.npos);
  require(config.find(text) != config.npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view config(reinterpret_cast<const char*>(data), size);
  const auto whole = host::parse_vgpu(config);
  if (whole) {
    check_text(config, whole->host_driver_version);
    check_text(config, whole->host_driver_branch);
  }
  // Without privilege the space ends early: then nothing is reported, never a part of a version.
  for (std::size_t length = 0; length < size && length < 256; ++length) {
    const auto torn = host::parse_vgpu(config.substr(0, length));
    require(!torn || torn == whole);
  }
  require(host::parse_vgpu(config.substr(0, 256)) == whole);
  return 0;
}
