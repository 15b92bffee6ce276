#include "sim/cuda/image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace tranche::sim::cuda {

using namespace abi;  // NOLINT(google-build-using-namespace): see library.h

namespace {

constexpr std::uint32_t kFatWrapper = 0x466243B1;
constexpr std::uint32_t kFatBinary = 0xBA55ED50;
constexpr std::uint16_t kFatPtx = 1;
constexpr std::uint16_t kFatElf = 2;
constexpr std::uint64_t kFatCompressed = 0xF000;  // flags of an entry
constexpr std::uint16_t kCudaMachine = 190;       // EM_CUDA
constexpr std::uint8_t kParameterInfo = 0x17;     // attribute of .nv.info: one parameter

struct FatWrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* data;
  const void* unused;
};
struct FatHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_size;
  std::uint64_t size;  // of the entries
};
struct FatEntry {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_size;
  std::uint64_t size;
  std::uint32_t unused[3];
  std::uint32_t architecture;  // 89 for sm_89
  std::uint32_t unused2[2];
  std::uint64_t flags;
};

template <class T>
T read_at(const std::byte* bytes) {
  T value;
  std::memcpy(static_cast<void*>(&value), bytes, sizeof value);
  return value;
}

// A cubin in memory. Offsets in it are trusted as far as the file's own header reaches.
class Cubin {
 public:
  explicit Cubin(const std::byte* bytes) : bytes_(bytes), header_(read_at<Elf64_Ehdr>(bytes)) {}

  bool is_good() const {
    return header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_machine == kCudaMachine &&
           header_.e_shentsize == sizeof(Elf64_Shdr) && header_.e_shstrndx < header_.e_shnum;
  }

  PtxModule read() const {
    PtxModule module;
    // Since CUDA 13 the flags hold the architecture in the second byte, before in the first.
    module.target = header_.e_ident[EI_ABIVERSION] >= 8 ? header_.e_flags >> 8U & 0xFFU
                                                        : header_.e_flags & 0xFFU;
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      const std::string_view name = name_of(section(i));
      constexpr std::string_view kText = ".text.";
      if (!name.starts_with(kText)) continue;
      PtxEntry entry;
      entry.name = name.substr(kText.size());
      read_parameters(entry);
      module.entries.push_back(std::move(entry));
    }
    return module;
  }

 private:
  Elf64_Shdr section(unsigned index) const {
    return read_at<Elf64_Shdr>(bytes_ + header_.e_shoff + index * sizeof(Elf64_Shdr));
  }
  std::string_view name_of(const Elf64_Shdr& one) const {
    const Elf64_Shdr strings = section(header_.e_shstrndx);
    return reinterpret_cast<const char*>(bytes_ + strings.sh_offset + one.sh_name);  // NOLINT: text
  }

  // Records of four bytes: format, attribute, length; then that number of bytes.
  void read_parameters(PtxEntry& entry) const {
    const std::string wanted = ".nv.info." + entry.name;
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      const Elf64_Shdr info = section(i);
      if (name_of(info) != wanted) continue;
      std::size_t at = 0;
      while (at + 4 <= info.sh_size) {
        const std::byte* const record = bytes_ + info.sh_offset + at;
        const auto format = read_at<std::uint8_t>(record);
        const auto attribute = read_at<std::uint8_t>(record + 1);
        const auto length = read_at<std::uint16_t>(record + 2);
        constexpr std::uint8_t kHasBytes = 4;
        if (format == kHasBytes && attribute == kParameterInfo && length == 12) {
          add_parameter(entry, record + 4);
        }
        at += 4 + (format == kHasBytes ? length : 0U);
      }
    }
    std::ranges::sort(entry.parameters, {}, &PtxParameter::offset);
  }

  // index, ordinal, offset, then flags with the size in the upper 14 bits.
  static void add_parameter(PtxEntry& entry, const std::byte* record) {
    const auto offset = read_at<std::uint16_t>(record + 6);
    const auto flags = read_at<std::uint32_t>(record + 8);
    entry.parameters.push_back({offset, flags >> 18U});
  }

  const std::byte* bytes_;
  Elf64_Ehdr header_;
};

CUresult read_text(std::string_view text, Image& out, std::string& log) {
  auto parsed = parse_ptx(text);
  if (!parsed) {
    log = parsed.error().message();
    return CUDA_ERROR_INVALID_PTX;
  }
  out.code = *std::move(parsed);
  out.is_ptx = true;
  return CUDA_SUCCESS;
}

CUresult read_elf(const std::byte* bytes, Image& out, std::string& log) {
  const Cubin cubin(bytes);
  if (!cubin.is_good()) {
    log = "an ELF file, but not of GPU code";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  out.code = cubin.read();
  return CUDA_SUCCESS;
}

// An entry of a fat binary, and how well it fits; 0: not at all.
struct Candidate {
  Image image;
  unsigned rank = 0;
  bool is_too_new = false;  // PTX that a newer driver could compile for the device
};

// Machine code before text, and of each kind the nearest architecture first.
unsigned rank_of(const Image& image, const ImageTarget& device) {
  const unsigned target = image.code.target;
  if (!image.is_ptx) return runs_code_for(device, target) ? 1000 + target : 0;
  const bool can = target <= device.capability && image.code.version <= device.newest_ptx;
  return can ? target : 0;
}

Candidate read_entry(const FatEntry& entry, const std::byte* content, const ImageTarget& device,
                     std::string& log) {
  Candidate found;
  Image& image = found.image;
  if ((entry.flags & kFatCompressed) != 0) {
    image.is_opaque = true;
    image.is_ptx = entry.kind == kFatPtx;
    image.code.target = entry.architecture;
  } else if (entry.kind == kFatElf) {
    if (read_elf(content, image, log) != CUDA_SUCCESS) return found;
  } else if (entry.kind == kFatPtx) {
    const auto* const text = reinterpret_cast<const char*>(content);  // NOLINT: text
    if (read_text({text, ::strnlen(text, entry.size)}, image, log) != CUDA_SUCCESS) return found;
  } else {
    return found;
  }
  found.rank = rank_of(image, device);
  found.is_too_new = image.is_ptx && image.code.target <= device.capability && found.rank == 0;
  return found;
}

CUresult read_fat(const std::byte* bytes, const ImageTarget& device, Image& out, std::string& log) {
  const auto header = read_at<FatHeader>(bytes);
  Candidate best;
  bool is_too_new = false;
  std::uint64_t at = 0;
  while (at + sizeof(FatEntry) <= header.size) {
    const std::byte* const place = bytes + header.header_size + at;
    const auto entry = read_at<FatEntry>(place);
    at += entry.header_size + entry.size;
    Candidate one = read_entry(entry, place + entry.header_size, device, log);
    is_too_new |= one.is_too_new;
    if (one.rank > best.rank) best = std::move(one);
  }
  if (best.rank == 0) {
    log = is_too_new ? "PTX newer than this driver" : "no code for this GPU in the fat binary";
    return is_too_new ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION : CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  out = std::move(best.image);
  return CUDA_SUCCESS;
}

}  // namespace

bool runs_code_for(const ImageTarget& device, unsigned architecture) {
  return architecture / 10 == device.capability / 10 && architecture <= device.capability;
}

CUresult read_image(const void* image, const ImageTarget& device, Image& out, std::string& log) {
  const auto* const bytes = static_cast<const std::byte*>(image);
  std::uint32_t magic = 0;
  // Never beyond the end of a short text.
  std::memcpy(&magic, bytes, ::strnlen(static_cast<const char*>(image), sizeof magic));
  if (magic == kFatWrapper) {
    const auto wrapper = read_at<FatWrapper>(bytes);
    return read_image(wrapper.data, device, out, log);
  }
  if (magic == kFatBinary) return read_fat(bytes, device, out, log);
  if (std::memcmp(&magic, ELFMAG, SELFMAG) == 0) return read_elf(bytes, out, log);
  const std::string_view text = static_cast<const char*>(image);
  if (!is_ptx(text)) {
    log = "neither PTX nor a cubin nor a fat binary";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  return read_text(text, out, log);
}

unsigned newest_ptx(std::uint32_t cuda_version) {
  const std::uint32_t major = cuda_version / 1000;
  const std::uint32_t minor = cuda_version % 1000 / 10;
  if (major < 11) return 65;
  if (major == 11) return 70 + minor;
  // CUDA 12.6 brought no new PTX.
  if (major == 12) return 80 + minor - (minor >= 6 ? 1 : 0);
  return 90 + (major - 13) * 10 + minor;
}

}  // namespace tranche::sim::cuda
