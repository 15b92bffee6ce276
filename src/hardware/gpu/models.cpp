#include "gpu/models.h"

#include <algorithm>
#include <array>

namespace tranche::gpu {
namespace {

enum class Mig { kNo, kYes };

constexpr Model model(std::string_view name, std::string_view architecture, int major, int minor,
                      std::uint64_t mib, Mig mig = Mig::kNo) {
  return {name, architecture, {major, minor}, Bytes::from_mib(mib), mig == Mig::kYes};
}

// Names and compute capabilities: https://developer.nvidia.com/cuda-gpus and NVIDIA's data sheets.
// MIG: the MIG user guide, "Supported GPUs". Memory: what nvidia-smi of a recent driver shows with
// ECC as shipped. Left out are products that were sold with several memory sizes under one name
// (GeForce RTX 3080) and products that we could not check: unknown is better than wrong.
constexpr std::array kModels = {
    // Kepler, Pascal, Volta
    model("K80", "kepler", 3, 7, 11441),
    model("P4", "pascal", 6, 1, 7680),
    model("P40", "pascal", 6, 1, 23040),
    model("P100-PCIE-12GB", "pascal", 6, 0, 12288),
    model("P100-PCIE-16GB", "pascal", 6, 0, 16384),
    model("P100-SXM2-16GB", "pascal", 6, 0, 16384),
    model("V100-PCIE-16GB", "volta", 7, 0, 16384),
    model("V100-PCIE-32GB", "volta", 7, 0, 32768),
    model("V100-SXM2-16GB", "volta", 7, 0, 16384),
    model("V100-SXM2-32GB", "volta", 7, 0, 32768),
    model("V100-SXM3-32GB", "volta", 7, 0, 32768),
    model("V100S-PCIE-32GB", "volta", 7, 0, 32768),
    // Turing
    model("T4", "turing", 7, 5, 15360),
    model("Quadro RTX 6000", "turing", 7, 5, 24576),
    model("Quadro RTX 8000", "turing", 7, 5, 49152),
    model("GeForce RTX 2080 Ti", "turing", 7, 5, 11264),
    // Ampere, data centre
    model("A100-SXM4-40GB", "ampere", 8, 0, 40960, Mig::kYes),
    model("A100-PCIE-40GB", "ampere", 8, 0, 40960, Mig::kYes),
    model("A100-SXM4-80GB", "ampere", 8, 0, 81920, Mig::kYes),
    model("A100 80GB PCIe", "ampere", 8, 0, 81920, Mig::kYes),
    model("A800-SXM4-40GB", "ampere", 8, 0, 40960, Mig::kYes),
    model("A800-SXM4-80GB", "ampere", 8, 0, 81920, Mig::kYes),
    model("A800 80GB PCIe", "ampere", 8, 0, 81920, Mig::kYes),
    model("A30", "ampere", 8, 0, 24576, Mig::kYes),
    model("A2", "ampere", 8, 6, 15356),
    model("A10", "ampere", 8, 6, 23028),
    model("A10G", "ampere", 8, 6, 23028),
    model("A16", "ampere", 8, 6, 15356),
    model("A40", "ampere", 8, 6, 46068),
    // Ampere, workstation and consumer
    model("RTX A2000 12GB", "ampere", 8, 6, 12282),
    model("RTX A4000", "ampere", 8, 6, 16376),
    model("RTX A4500", "ampere", 8, 6, 20470),
    model("RTX A5000", "ampere", 8, 6, 24564),
    model("RTX A6000", "ampere", 8, 6, 49140),
    model("GeForce RTX 3070", "ampere", 8, 6, 8192),
    model("GeForce RTX 3080 Ti", "ampere", 8, 6, 12288),
    model("GeForce RTX 3090", "ampere", 8, 6, 24576),
    model("GeForce RTX 3090 Ti", "ampere", 8, 6, 24564),
    // Ada Lovelace: none has MIG
    model("L4", "ada-lovelace", 8, 9, 23034),
    model("L20", "ada-lovelace", 8, 9, 46068),
    model("L40", "ada-lovelace", 8, 9, 46068),
    model("L40S", "ada-lovelace", 8, 9, 46068),
    model("RTX 4000 Ada Generation", "ada-lovelace", 8, 9, 20475),
    model("RTX 5000 Ada Generation", "ada-lovelace", 8, 9, 32760),
    model("RTX 6000 Ada Generation", "ada-lovelace", 8, 9, 49140),
    model("GeForce RTX 4070", "ada-lovelace", 8, 9, 12282),
    model("GeForce RTX 4080", "ada-lovelace", 8, 9, 16376),
    model("GeForce RTX 4090", "ada-lovelace", 8, 9, 24564),
    // Hopper
    model("H100 80GB HBM3", "hopper", 9, 0, 81559, Mig::kYes),
    model("H100 PCIe", "hopper", 9, 0, 81559, Mig::kYes),
    model("H100 NVL", "hopper", 9, 0, 95830, Mig::kYes),
    model("H800", "hopper", 9, 0, 81559, Mig::kYes),
    model("H20", "hopper", 9, 0, 97871, Mig::kYes),
    model("H200", "hopper", 9, 0, 143771, Mig::kYes),
    model("H200 NVL", "hopper", 9, 0, 143771, Mig::kYes),
    model("GH200 480GB", "hopper", 9, 0, 97871, Mig::kYes),
    model("GH200 144G HBM3e", "hopper", 9, 0, 147456, Mig::kYes),
    // Blackwell
    model("B200", "blackwell", 10, 0, 183359, Mig::kYes),
    model("GB200", "blackwell", 10, 0, 189471, Mig::kYes),
    model("B300", "blackwell", 10, 3, 275456, Mig::kYes),
    model("GB300", "blackwell", 10, 3, 284672, Mig::kYes),
    model("RTX PRO 6000 Blackwell Server Edition", "blackwell", 12, 0, 97887, Mig::kYes),
    model("RTX PRO 6000 Blackwell Workstation Edition", "blackwell", 12, 0, 97887, Mig::kYes),
    model("RTX PRO 6000 Blackwell Max-Q Workstation Edition", "blackwell", 12, 0, 97887, Mig::kYes),
    model("GeForce RTX 5080", "blackwell", 12, 0, 16303),
    model("GeForce RTX 5090", "blackwell", 12, 0, 32607),
};

void drop_prefix(std::string_view& text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
}

}  // namespace

std::span<const Model> known_models() { return kModels; }

const Model* find_model(std::string_view product_name) {
  drop_prefix(product_name, "NVIDIA ");
  drop_prefix(product_name, "Tesla ");
  const auto found = std::ranges::find(kModels, product_name, &Model::name);
  return found == kModels.end() ? nullptr : &*found;
}

std::string_view family(ComputeCapability capability) {
  const auto [major, minor] = capability;
  switch (major) {
    case 1:
      return "tesla";
    case 2:
      return "fermi";
    case 3:
      return "kepler";
    case 5:
      return "maxwell";
    case 6:
      return "pascal";
    case 7:
      return minor < 5 ? "volta" : "turing";
    case 8:
      return minor < 9 ? "ampere" : "ada-lovelace";
    case 9:
      return "hopper";
    case 10:
    case 12:
      return "blackwell";
    case 13:
      return "rubin";
    default:
      return "undefined";
  }
}

}  // namespace tranche::gpu
