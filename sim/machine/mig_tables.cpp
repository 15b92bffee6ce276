#include "sim/machine/mig_tables.h"

namespace tranche::sim {
namespace {

// NVML_GPU_INSTANCE_PROFILE_*
enum Constant : std::uint32_t {
  k1Slice = 0,
  k2Slice = 1,
  k3Slice = 2,
  k4Slice = 3,
  k7Slice = 4,
  k1SliceRev1 = 7,
  k2SliceRev1 = 8,
  k1SliceRev2 = 9,
  k1SliceGfx = 10,
  k2SliceGfx = 11,
  k4SliceGfx = 12,
  k1SliceNoMe = 13,
  k2SliceNoMe = 14,
  k1SliceAllMe = 15,
  k2SliceAllMe = 16,
};

// clang-format off
// name, constant, id, compute slices, memory slices, starts, at most, MiB, SM, copy, dec, enc, jpeg, ofa
constexpr MigRow kA3024gb[] = {
    {"1g.6gb", k1Slice, 14, 1, 1, 0xF, 4, 5952, 14, 1, 0, 0, 0, 0},
    {"1g.6gb+me", k1SliceRev1, 21, 1, 1, 0xF, 1, 5952, 14, 1, 1, 0, 1, 1},
    {"2g.12gb", k2Slice, 5, 2, 2, 0x5, 2, 11968, 28, 2, 2, 0, 0, 0},
    {"2g.12gb+me", k2SliceRev1, 6, 2, 2, 0x5, 1, 11968, 28, 2, 2, 0, 1, 1},
    {"4g.24gb", k4Slice, 0, 4, 4, 0x1, 1, 24000, 56, 4, 4, 0, 1, 1},
};

constexpr MigRow kA10040gb[] = {
    {"1g.5gb", k1Slice, 19, 1, 1, 0x7F, 7, 4864, 14, 1, 0, 0, 0, 0},
    {"1g.5gb+me", k1SliceRev1, 20, 1, 1, 0x7F, 1, 4864, 14, 1, 1, 0, 1, 1},
    {"1g.10gb", k1SliceRev2, 15, 1, 2, 0x55, 4, 9984, 14, 1, 1, 0, 0, 0},
    {"2g.10gb", k2Slice, 14, 2, 2, 0x15, 3, 9984, 28, 2, 1, 0, 0, 0},
    {"3g.20gb", k3Slice, 9, 3, 4, 0x11, 2, 20096, 42, 3, 2, 0, 0, 0},
    {"4g.20gb", k4Slice, 5, 4, 4, 0x1, 1, 20096, 56, 4, 2, 0, 0, 0},
    {"7g.40gb", k7Slice, 0, 7, 8, 0x1, 1, 40320, 98, 7, 5, 0, 1, 1},
};

constexpr MigRow kA10080gb[] = {
    {"1g.10gb", k1Slice, 19, 1, 1, 0x7F, 7, 9856, 14, 1, 0, 0, 0, 0},
    {"1g.10gb+me", k1SliceRev1, 20, 1, 1, 0x7F, 1, 9856, 14, 1, 1, 0, 1, 1},
    {"1g.20gb", k1SliceRev2, 15, 1, 2, 0x55, 4, 19968, 14, 1, 1, 0, 0, 0},
    {"2g.20gb", k2Slice, 14, 2, 2, 0x15, 3, 19968, 28, 2, 1, 0, 0, 0},
    {"3g.40gb", k3Slice, 9, 3, 4, 0x11, 2, 40192, 42, 3, 2, 0, 0, 0},
    {"4g.40gb", k4Slice, 5, 4, 4, 0x1, 1, 40192, 56, 4, 2, 0, 0, 0},
    {"7g.80gb", k7Slice, 0, 7, 8, 0x1, 1, 80384, 98, 7, 5, 0, 1, 1},
};

constexpr MigRow kH10080gb[] = {
    {"1g.10gb", k1Slice, 19, 1, 1, 0x7F, 7, 9984, 16, 1, 1, 0, 1, 0},
    {"1g.10gb+me", k1SliceRev1, 20, 1, 1, 0x7F, 1, 9984, 16, 1, 1, 0, 1, 1},
    {"1g.20gb", k1SliceRev2, 15, 1, 2, 0x55, 4, 20096, 26, 1, 1, 0, 1, 0},
    {"2g.20gb", k2Slice, 14, 2, 2, 0x15, 3, 20096, 32, 2, 2, 0, 2, 0},
    {"3g.40gb", k3Slice, 9, 3, 4, 0x11, 2, 40448, 60, 3, 3, 0, 3, 0},
    {"4g.40gb", k4Slice, 5, 4, 4, 0x1, 1, 40448, 64, 4, 4, 0, 4, 0},
    {"7g.80gb", k7Slice, 0, 7, 8, 0x1, 1, 81152, 132, 8, 7, 0, 7, 1},
};

constexpr MigRow kH100Nvl94gb[] = {
    {"1g.12gb", k1Slice, 19, 1, 1, 0x7F, 7, 10880, 16, 1, 1, 0, 1, 0},
    {"1g.12gb+me", k1SliceRev1, 20, 1, 1, 0x7F, 1, 10880, 16, 1, 1, 0, 1, 1},
    {"1g.24gb", k1SliceRev2, 15, 1, 2, 0x55, 4, 22016, 26, 1, 1, 0, 1, 0},
    {"2g.24gb", k2Slice, 14, 2, 2, 0x15, 3, 22016, 32, 2, 2, 0, 2, 0},
    {"3g.47gb", k3Slice, 9, 3, 4, 0x11, 2, 47232, 60, 3, 3, 0, 3, 0},
    {"4g.47gb", k4Slice, 5, 4, 4, 0x1, 1, 47232, 64, 4, 4, 0, 4, 0},
    {"7g.94gb", k7Slice, 0, 7, 8, 0x1, 1, 94848, 132, 8, 7, 0, 7, 1},
};

constexpr MigRow kGh20096gb[] = {
    {"1g.12gb", k1Slice, 19, 1, 1, 0x7F, 7, 11264, 16, 1, 1, 0, 1, 0},
    {"1g.12gb+me", k1SliceRev1, 20, 1, 1, 0x7F, 1, 11264, 16, 1, 1, 0, 1, 1},
    {"1g.24gb", k1SliceRev2, 15, 1, 2, 0x55, 4, 23552, 26, 1, 1, 0, 1, 0},
    {"2g.24gb", k2Slice, 14, 2, 2, 0x15, 3, 23552, 32, 2, 2, 0, 2, 0},
    {"3g.48gb", k3Slice, 9, 3, 4, 0x11, 2, 47616, 60, 3, 3, 0, 3, 0},
    {"4g.48gb", k4Slice, 5, 4, 4, 0x1, 1, 47616, 64, 4, 4, 0, 4, 0},
    {"7g.96gb", k7Slice, 0, 7, 8, 0x1, 1, 95232, 132, 8, 7, 0, 7, 1},
};

// Memory, SM and engine figures are invented (no source has them); names and geometry are not.
constexpr MigRow kH2096gb[] = {
    {"1g.12gb", k1Slice, 19, 1, 1, 0x7F, 7, 11264, 10, 1, 1, 0, 1, 0},
    {"1g.12gb+me", k1SliceRev1, 20, 1, 1, 0x7F, 1, 11264, 10, 1, 1, 0, 1, 1},
    {"1g.24gb", k1SliceRev2, 15, 1, 2, 0x55, 4, 23552, 14, 1, 1, 0, 1, 0},
    {"2g.24gb", k2Slice, 14, 2, 2, 0x15, 3, 23552, 20, 2, 2, 0, 2, 0},
    {"3g.48gb", k3Slice, 9, 3, 4, 0x11, 2, 47616, 34, 3, 3, 0, 3, 0},
    {"4g.48gb", k4Slice, 5, 4, 4, 0x1, 1, 47616, 40, 4, 4, 0, 4, 0},
    {"7g.96gb", k7Slice, 0, 7, 8, 0x1, 1, 95232, 78, 8, 7, 0, 7, 1},
};

// The same card with less memory: names by the driver's formula, memory as the H100 NVL's. Figures
// are invented.
constexpr MigRow kH2094gb[] = {
    {"1g.12gb", k1Slice, 19, 1, 1, 0x7F, 7, 10880, 10, 1, 1, 0, 1, 0},
    {"1g.12gb+me", k1SliceRev1, 20, 1, 1, 0x7F, 1, 10880, 10, 1, 1, 0, 1, 1},
    {"1g.24gb", k1SliceRev2, 15, 1, 2, 0x55, 4, 22016, 14, 1, 1, 0, 1, 0},
    {"2g.24gb", k2Slice, 14, 2, 2, 0x15, 3, 22016, 20, 2, 2, 0, 2, 0},
    {"3g.47gb", k3Slice, 9, 3, 4, 0x11, 2, 47232, 34, 3, 3, 0, 3, 0},
    {"4g.47gb", k4Slice, 5, 4, 4, 0x1, 1, 47232, 40, 4, 4, 0, 4, 0},
    {"7g.94gb", k7Slice, 0, 7, 8, 0x1, 1, 94848, 78, 8, 7, 0, 7, 1},
};

// Memory of 3g, 4g and 7g is invented.
constexpr MigRow kGh200144gb[] = {
    {"1g.18gb", k1Slice, 19, 1, 1, 0x7F, 7, 17920, 16, 1, 1, 0, 1, 0},
    {"1g.18gb+me", k1SliceRev1, 20, 1, 1, 0x7F, 1, 17920, 16, 1, 1, 0, 1, 1},
    {"1g.36gb", k1SliceRev2, 15, 1, 2, 0x55, 4, 36096, 26, 1, 1, 0, 1, 0},
    {"2g.36gb", k2Slice, 14, 2, 2, 0x15, 3, 36096, 32, 2, 2, 0, 2, 0},
    {"3g.72gb", k3Slice, 9, 3, 4, 0x11, 2, 72704, 60, 3, 3, 0, 3, 0},
    {"4g.72gb", k4Slice, 5, 4, 4, 0x1, 1, 72704, 64, 4, 4, 0, 4, 0},
    {"7g.144gb", k7Slice, 0, 7, 8, 0x1, 1, 146176, 132, 8, 7, 0, 7, 1},
};

constexpr MigRow kH200141gb[] = {
    {"1g.18gb", k1Slice, 19, 1, 1, 0x7F, 7, 16384, 16, 1, 1, 0, 1, 0},
    {"1g.18gb+me", k1SliceRev1, 20, 1, 1, 0x7F, 1, 16384, 16, 1, 1, 0, 1, 1},
    {"1g.35gb", k1SliceRev2, 15, 1, 2, 0x55, 4, 33024, 26, 1, 1, 0, 1, 0},
    {"2g.35gb", k2Slice, 14, 2, 2, 0x15, 3, 33024, 32, 2, 2, 0, 2, 0},
    {"3g.71gb", k3Slice, 9, 3, 4, 0x11, 2, 71168, 60, 3, 3, 0, 3, 0},
    {"4g.71gb", k4Slice, 5, 4, 4, 0x1, 1, 71168, 64, 4, 4, 0, 4, 0},
    {"7g.141gb", k7Slice, 0, 7, 8, 0x1, 1, 143104, 132, 8, 7, 0, 7, 1},
};

constexpr MigRow kB200180gb[] = {
    {"1g.23gb", k1Slice, 19, 1, 1, 0x7F, 7, 20992, 18, 2, 1, 0, 1, 0},
    {"1g.23gb+me", k1SliceRev1, 20, 1, 1, 0x7F, 1, 20992, 18, 2, 1, 0, 1, 1},
    {"1g.45gb", k1SliceRev2, 15, 1, 2, 0x55, 4, 45312, 30, 2, 1, 0, 1, 0},
    {"2g.45gb", k2Slice, 14, 2, 2, 0x15, 3, 45312, 36, 4, 2, 0, 2, 0},
    {"3g.90gb", k3Slice, 9, 3, 4, 0x11, 2, 91136, 70, 6, 3, 0, 3, 0},
    {"4g.90gb", k4Slice, 5, 4, 4, 0x1, 1, 91136, 72, 8, 4, 0, 4, 0},
    {"7g.180gb", k7Slice, 0, 7, 8, 0x1, 1, 182784, 148, 16, 7, 0, 7, 1},
};

// Memory and SM of 3g, 4g and 7g, and all engines (the B200's), are invented.
constexpr MigRow kGb200186gb[] = {
    {"1g.23gb", k1Slice, 19, 1, 1, 0x7F, 7, 22528, 18, 2, 1, 0, 1, 0},
    {"1g.23gb+me", k1SliceRev1, 20, 1, 1, 0x7F, 1, 22528, 18, 2, 1, 0, 1, 1},
    {"1g.47gb", k1SliceRev2, 15, 1, 2, 0x55, 4, 46592, 32, 2, 1, 0, 1, 0},
    {"2g.47gb", k2Slice, 14, 2, 2, 0x15, 3, 46592, 38, 4, 2, 0, 2, 0},
    {"3g.93gb", k3Slice, 9, 3, 4, 0x11, 2, 94208, 70, 6, 3, 0, 3, 0},
    {"4g.93gb", k4Slice, 5, 4, 4, 0x1, 1, 94208, 76, 8, 4, 0, 4, 0},
    {"7g.186gb", k7Slice, 0, 7, 8, 0x1, 1, 189440, 152, 16, 7, 0, 7, 1},
};

// Memory, SM and engines are invented.
constexpr MigRow kGb300278gb[] = {
    {"1g.35gb", k1Slice, 19, 1, 1, 0x7F, 7, 34816, 18, 2, 1, 0, 1, 0},
    {"1g.35gb+me", k1SliceRev1, 20, 1, 1, 0x7F, 1, 34816, 18, 2, 1, 0, 1, 1},
    {"1g.70gb", k1SliceRev2, 15, 1, 2, 0x55, 4, 70656, 32, 2, 1, 0, 1, 0},
    {"2g.70gb", k2Slice, 14, 2, 2, 0x15, 3, 70656, 38, 4, 2, 0, 2, 0},
    {"3g.139gb", k3Slice, 9, 3, 4, 0x11, 2, 141824, 70, 6, 3, 0, 3, 0},
    {"4g.139gb", k4Slice, 5, 4, 4, 0x1, 1, 141824, 76, 8, 4, 0, 4, 0},
    {"7g.278gb", k7Slice, 0, 7, 8, 0x1, 1, 284160, 152, 16, 7, 0, 7, 1},
};

// Memory, SM and engines are invented.
constexpr MigRow kB300269gb[] = {
    {"1g.34gb", k1Slice, 19, 1, 1, 0x7F, 7, 33792, 18, 2, 1, 0, 1, 0},
    {"1g.34gb+me", k1SliceRev1, 20, 1, 1, 0x7F, 1, 33792, 18, 2, 1, 0, 1, 1},
    {"1g.67gb", k1SliceRev2, 15, 1, 2, 0x55, 4, 68096, 30, 2, 1, 0, 1, 0},
    {"2g.67gb", k2Slice, 14, 2, 2, 0x15, 3, 68096, 36, 4, 2, 0, 2, 0},
    {"3g.135gb", k3Slice, 9, 3, 4, 0x11, 2, 137216, 70, 6, 3, 0, 3, 0},
    {"4g.135gb", k4Slice, 5, 4, 4, 0x1, 1, 137216, 72, 8, 4, 0, 4, 0},
    {"7g.269gb", k7Slice, 0, 7, 8, 0x1, 1, 274944, 148, 16, 7, 0, 7, 1},
};

constexpr MigRow kRtxPro600096gb[] = {
    {"1g.24gb", k1Slice, 14, 1, 3, 0x249, 4, 24192, 46, 1, 1, 1, 1, 0},
    {"1g.24gb+me", k1SliceRev1, 21, 1, 3, 0x249, 1, 24192, 46, 1, 1, 1, 1, 1},
    {"1g.24gb+gfx", k1SliceGfx, 47, 1, 3, 0x249, 4, 24192, 46, 1, 1, 1, 1, 0},
    {"1g.24gb+me.all", k1SliceAllMe, 65, 1, 3, 0x249, 1, 24192, 46, 1, 4, 4, 4, 1},
    {"1g.24gb-me", k1SliceNoMe, 67, 1, 3, 0x249, 4, 24192, 46, 1, 0, 0, 0, 0},
    {"2g.48gb", k2Slice, 5, 2, 6, 0x41, 2, 48512, 94, 2, 2, 2, 2, 0},
    {"2g.48gb+gfx", k2SliceGfx, 35, 2, 6, 0x41, 2, 48512, 94, 2, 2, 2, 2, 0},
    {"2g.48gb+me.all", k2SliceAllMe, 64, 2, 6, 0x41, 1, 48512, 94, 2, 4, 4, 4, 1},
    {"2g.48gb-me", k2SliceNoMe, 66, 2, 6, 0x41, 2, 48512, 94, 2, 0, 0, 0, 0},
    {"4g.96gb", k4Slice, 0, 4, 12, 0x1, 1, 97280, 188, 4, 4, 4, 4, 1},
    {"4g.96gb+gfx", k4SliceGfx, 32, 4, 12, 0x1, 1, 97280, 188, 4, 4, 4, 4, 1},
};
constexpr MigTable kTables[] = {
    {"a30-24gb", 4, 4, true, kA3024gb},
    {"a100-40gb", 7, 8, true, kA10040gb},
    {"a100-80gb", 7, 8, true, kA10080gb},
    {"h100-80gb", 7, 8, false, kH10080gb},
    {"h100-nvl-94gb", 7, 8, false, kH100Nvl94gb},
    {"gh200-96gb", 7, 8, false, kGh20096gb},
    {"h20-96gb", 7, 8, false, kH2096gb},
    {"h20-94gb", 7, 8, false, kH2094gb},
    {"gh200-144gb", 7, 8, false, kGh200144gb},
    {"h200-141gb", 7, 8, false, kH200141gb},
    {"b200-180gb", 7, 8, false, kB200180gb},
    {"gb200-186gb", 7, 8, false, kGb200186gb},
    {"gb300-278gb", 7, 8, false, kGb300278gb},
    {"b300-269gb", 7, 8, false, kB300269gb},
    {"rtx-pro-6000-96gb", 4, 12, false, kRtxPro600096gb},
};
// clang-format on

}  // namespace

const MigTable* find_mig_table(std::string_view key) {
  for (const MigTable& table : kTables) {
    if (table.key == key) return &table;
  }
  return nullptr;
}

std::span<const MigTable> mig_tables() { return kTables; }

}  // namespace tranche::sim
