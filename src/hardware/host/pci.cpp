#include "host/pci.h"

#include <algorithm>
#include <charconv>

namespace tranche::host {
namespace {

constexpr std::string_view kDevices = "/sys/bus/pci/devices";
constexpr std::uint32_t kNvidia = 0x10de;

// "0x10de\n"; nullopt when the file cannot be read or holds anything else.
std::optional<std::uint32_t> read_hex(const FsRoot& fs, const std::filesystem::path& path) {
  const auto content = fs.read(path);
  if (!content || !content->starts_with("0x")) return std::nullopt;
  std::uint32_t value = 0;
  const char* begin = content->data() + 2;
  const char* end = content->data() + content->size();
  const auto [stop, error] = std::from_chars(begin, end, value, 16);
  if (error != std::errc() || (stop != end && *stop != '\n')) return std::nullopt;
  return value;
}

// Positions in the configuration space.
constexpr std::size_t kStatus = 0x06;
constexpr std::size_t kCapabilityPointer = 0x34;
constexpr std::size_t kFirstCapability = 0x40;
constexpr unsigned kHasCapabilities = 0x10;
constexpr unsigned kVendorSpecific = 0x09;
// As many as fit into 256 bytes: a longer list is circular.
constexpr std::size_t kMaxCapabilities = 48;

class Config {
 public:
  explicit Config(std::string_view bytes) : bytes_(bytes.substr(0, 256)) {}

  std::size_t size() const { return bytes_.size(); }
  // 0 past the end, which ends every list.
  unsigned at(std::size_t position) const {
    return position < bytes_.size() ? static_cast<unsigned char>(bytes_[position]) : 0U;
  }

  // Position of NVIDIA's first vGPU capability; 0 if there is none.
  std::size_t find_vgpu_capability() const {
    if ((at(kStatus) & kHasCapabilities) == 0) return 0;
    std::size_t position = at(kCapabilityPointer) & 0xFCU;
    for (std::size_t i = 0; i < kMaxCapabilities && position >= kFirstCapability; ++i) {
      if (at(position) == kVendorSpecific && at(position + 3) == 'V' && at(position + 4) == 'F') {
        return position;
      }
      position = at(position + 1) & 0xFCU;
    }
    return 0;
  }

  // The text at `position`, up to its first zero byte.
  std::string text(std::size_t position, std::size_t length) const {
    std::string text;
    for (std::size_t i = 0; i < length && at(position + i) != 0; ++i) {
      text.push_back(static_cast<char>(at(position + i)));
    }
    return text;
  }

 private:
  std::string_view bytes_;
};

}  // namespace

std::optional<gpu::VgpuInfo> parse_vgpu(std::string_view config) {
  constexpr std::size_t kText = 10;
  const Config space(config);
  const std::size_t capability = space.find_vgpu_capability();
  if (capability == 0) return std::nullopt;
  // The length is the device's claim; what is past the end was not read.
  const std::size_t end = std::min(capability + space.at(capability + 2), space.size());
  std::size_t record = capability + 5;
  while (record < end && space.at(record) != 0) {
    const unsigned length = space.at(record + 1);
    if (length == 0) return std::nullopt;  // the loop would never end
    record += length;
  }
  if (record + 2 + 2 * kText > end) return std::nullopt;
  return gpu::VgpuInfo{.host_driver_version = space.text(record + 2, kText),
                       .host_driver_branch = space.text(record + 2 + kText, kText)};
}

Result<std::vector<PciFunction>> read_nvidia_functions(const FsRoot& fs) {
  std::vector<PciFunction> functions;
  ASSIGN_OR_RETURN(const auto names, fs.list(kDevices));
  for (const auto& name : names) {
    const auto address = gpu::parse_pci_address(name);
    const std::filesystem::path folder = std::filesystem::path(kDevices) / name;
    if (!address || read_hex(fs, folder / "vendor") != kNvidia) continue;
    PciFunction function = {.address = *address,
                            .device_class = read_hex(fs, folder / "class").value_or(0)};
    if (auto config = fs.read(folder / "config")) function.config = *std::move(config);
    functions.push_back(std::move(function));
  }
  std::ranges::sort(functions, {}, &PciFunction::address);
  return functions;
}

}  // namespace tranche::host
