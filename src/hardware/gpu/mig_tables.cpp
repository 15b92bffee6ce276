#include "gpu/mig_tables.h"

#include <algorithm>
#include <cctype>

namespace tranche::gpu {
namespace {

constexpr int kUnknown = -1;

struct Figures {
  int mib = kUnknown;
  int multiprocessors = 0;
  int copy_engines = 0;
  int decoders = 0;
  int encoders = 0;
  int jpeg_engines = 0;
  int ofa_engines = 0;
};

struct Row {
  std::string_view name;
  int id;
  int compute_slices;
  int memory_slices;
  unsigned starts;  // bit n: a placement may begin at memory slice n
  int at_most;
  Figures figures = {};  // none: the source lacks at least one
};

// clang-format off
// name, id, compute slices, memory slices, starts, at most, {MiB, SM, copy, dec, enc, jpeg, ofa}
constexpr Row kA3024gb[] = {
    {"1g.6gb", 14, 1, 1, 0xF, 4, {5952, 14, 1, 0, 0, 0, 0}},
    {"1g.6gb+me", 21, 1, 1, 0xF, 1, {5952, 14, 1, 1, 0, 1, 1}},
    {"2g.12gb", 5, 2, 2, 0x5, 2, {11968, 28, 2, 2, 0, 0, 0}},
    {"2g.12gb+me", 6, 2, 2, 0x5, 1, {11968, 28, 2, 2, 0, 1, 1}},
    {"4g.24gb", 0, 4, 4, 0x1, 1, {24000, 56, 4, 4, 0, 1, 1}},
};

constexpr Row kA10040gb[] = {
    {"1g.5gb", 19, 1, 1, 0x7F, 7, {4864, 14, 1, 0, 0, 0, 0}},
    {"1g.5gb+me", 20, 1, 1, 0x7F, 1, {4864, 14, 1, 1, 0, 1, 1}},
    {"1g.10gb", 15, 1, 2, 0x55, 4, {9984, 14, 1, 1, 0, 0, 0}},
    {"2g.10gb", 14, 2, 2, 0x15, 3, {9984, 28, 2, 1, 0, 0, 0}},
    {"3g.20gb", 9, 3, 4, 0x11, 2, {20096, 42, 3, 2, 0, 0, 0}},
    {"4g.20gb", 5, 4, 4, 0x1, 1, {20096, 56, 4, 2, 0, 0, 0}},
    {"7g.40gb", 0, 7, 8, 0x1, 1, {40320, 98, 7, 5, 0, 1, 1}},
};

constexpr Row kA10080gb[] = {
    {"1g.10gb", 19, 1, 1, 0x7F, 7, {9856, 14, 1, 0, 0, 0, 0}},
    {"1g.10gb+me", 20, 1, 1, 0x7F, 1, {9856, 14, 1, 1, 0, 1, 1}},
    {"1g.20gb", 15, 1, 2, 0x55, 4, {19968, 14, 1, 1, 0, 0, 0}},
    {"2g.20gb", 14, 2, 2, 0x15, 3, {19968, 28, 2, 1, 0, 0, 0}},
    {"3g.40gb", 9, 3, 4, 0x11, 2, {40192, 42, 3, 2, 0, 0, 0}},
    {"4g.40gb", 5, 4, 4, 0x1, 1, {40192, 56, 4, 2, 0, 0, 0}},
    {"7g.80gb", 0, 7, 8, 0x1, 1, {80384, 98, 7, 5, 0, 1, 1}},
};

constexpr Row kH10080gb[] = {
    {"1g.10gb", 19, 1, 1, 0x7F, 7, {9984, 16, 1, 1, 0, 1, 0}},
    {"1g.10gb+me", 20, 1, 1, 0x7F, 1, {9984, 16, 1, 1, 0, 1, 1}},
    {"1g.20gb", 15, 1, 2, 0x55, 4, {20096, 26, 1, 1, 0, 1, 0}},
    {"2g.20gb", 14, 2, 2, 0x15, 3, {20096, 32, 2, 2, 0, 2, 0}},
    {"3g.40gb", 9, 3, 4, 0x11, 2, {40448, 60, 3, 3, 0, 3, 0}},
    {"4g.40gb", 5, 4, 4, 0x1, 1, {40448, 64, 4, 4, 0, 4, 0}},
    {"7g.80gb", 0, 7, 8, 0x1, 1, {81152, 132, 8, 7, 0, 7, 1}},
};

constexpr Row kH100Nvl94gb[] = {
    {"1g.12gb", 19, 1, 1, 0x7F, 7, {10880, 16, 1, 1, 0, 1, 0}},
    {"1g.12gb+me", 20, 1, 1, 0x7F, 1, {10880, 16, 1, 1, 0, 1, 1}},
    {"1g.24gb", 15, 1, 2, 0x55, 4, {22016, 26, 1, 1, 0, 1, 0}},
    {"2g.24gb", 14, 2, 2, 0x15, 3, {22016, 32, 2, 2, 0, 2, 0}},
    {"3g.47gb", 9, 3, 4, 0x11, 2, {47232, 60, 3, 3, 0, 3, 0}},
    {"4g.47gb", 5, 4, 4, 0x1, 1, {47232, 64, 4, 4, 0, 4, 0}},
    {"7g.94gb", 0, 7, 8, 0x1, 1, {94848, 132, 8, 7, 0, 7, 1}},
};

constexpr Row kGh20096gb[] = {
    {"1g.12gb", 19, 1, 1, 0x7F, 7, {11264, 16, 1, 1, 0, 1, 0}},
    {"1g.12gb+me", 20, 1, 1, 0x7F, 1, {11264, 16, 1, 1, 0, 1, 1}},
    {"1g.24gb", 15, 1, 2, 0x55, 4, {23552, 26, 1, 1, 0, 1, 0}},
    {"2g.24gb", 14, 2, 2, 0x15, 3, {23552, 32, 2, 2, 0, 2, 0}},
    {"3g.48gb", 9, 3, 4, 0x11, 2, {47616, 60, 3, 3, 0, 3, 0}},
    {"4g.48gb", 5, 4, 4, 0x1, 1, {47616, 64, 4, 4, 0, 4, 0}},
    {"7g.96gb", 0, 7, 8, 0x1, 1, {95232, 132, 8, 7, 0, 7, 1}},
};

constexpr Row kH2096gb[] = {
    {"1g.12gb", 19, 1, 1, 0x7F, 7},
    {"1g.12gb+me", 20, 1, 1, 0x7F, 1},
    {"1g.24gb", 15, 1, 2, 0x55, 4},
    {"2g.24gb", 14, 2, 2, 0x15, 3},
    {"3g.48gb", 9, 3, 4, 0x11, 2},
    {"4g.48gb", 5, 4, 4, 0x1, 1},
    {"7g.96gb", 0, 7, 8, 0x1, 1},
};

constexpr Row kH200141gb[] = {
    {"1g.18gb", 19, 1, 1, 0x7F, 7, {16384, 16, 1, 1, 0, 1, 0}},
    {"1g.18gb+me", 20, 1, 1, 0x7F, 1, {16384, 16, 1, 1, 0, 1, 1}},
    {"1g.35gb", 15, 1, 2, 0x55, 4, {33024, 26, 1, 1, 0, 1, 0}},
    {"2g.35gb", 14, 2, 2, 0x15, 3, {33024, 32, 2, 2, 0, 2, 0}},
    {"3g.71gb", 9, 3, 4, 0x11, 2, {71168, 60, 3, 3, 0, 3, 0}},
    {"4g.71gb", 5, 4, 4, 0x1, 1, {71168, 64, 4, 4, 0, 4, 0}},
    {"7g.141gb", 0, 7, 8, 0x1, 1, {143104, 132, 8, 7, 0, 7, 1}},
};

constexpr Row kGh200144gb[] = {
    {"1g.18gb", 19, 1, 1, 0x7F, 7, {17920, 16, 1, 1, 0, 1, 0}},
    {"1g.18gb+me", 20, 1, 1, 0x7F, 1, {17920, 16, 1, 1, 0, 1, 1}},
    {"1g.36gb", 15, 1, 2, 0x55, 4, {36096, 26, 1, 1, 0, 1, 0}},
    {"2g.36gb", 14, 2, 2, 0x15, 3, {36096, 32, 2, 2, 0, 2, 0}},
    {"3g.72gb", 9, 3, 4, 0x11, 2},
    {"4g.72gb", 5, 4, 4, 0x1, 1},
    {"7g.144gb", 0, 7, 8, 0x1, 1},
};

constexpr Row kB200180gb[] = {
    {"1g.23gb", 19, 1, 1, 0x7F, 7, {20992, 18, 2, 1, 0, 1, 0}},
    {"1g.23gb+me", 20, 1, 1, 0x7F, 1, {20992, 18, 2, 1, 0, 1, 1}},
    {"1g.45gb", 15, 1, 2, 0x55, 4, {45312, 30, 2, 1, 0, 1, 0}},
    {"2g.45gb", 14, 2, 2, 0x15, 3, {45312, 36, 4, 2, 0, 2, 0}},
    {"3g.90gb", 9, 3, 4, 0x11, 2, {91136, 70, 6, 3, 0, 3, 0}},
    {"4g.90gb", 5, 4, 4, 0x1, 1, {91136, 72, 8, 4, 0, 4, 0}},
    {"7g.180gb", 0, 7, 8, 0x1, 1, {182784, 148, 16, 7, 0, 7, 1}},
};

constexpr Row kGb200186gb[] = {
    {"1g.23gb", 19, 1, 1, 0x7F, 7},
    {"1g.23gb+me", 20, 1, 1, 0x7F, 1},
    {"1g.47gb", 15, 1, 2, 0x55, 4},
    {"2g.47gb", 14, 2, 2, 0x15, 3},
    {"3g.93gb", 9, 3, 4, 0x11, 2},
    {"4g.93gb", 5, 4, 4, 0x1, 1},
    {"7g.186gb", 0, 7, 8, 0x1, 1},
};

constexpr Row kGb300278gb[] = {
    {"1g.35gb", 19, 1, 1, 0x7F, 7},
    {"1g.35gb+me", 20, 1, 1, 0x7F, 1},
    {"1g.70gb", 15, 1, 2, 0x55, 4},
    {"2g.70gb", 14, 2, 2, 0x15, 3},
    {"3g.139gb", 9, 3, 4, 0x11, 2},
    {"4g.139gb", 5, 4, 4, 0x1, 1},
    {"7g.278gb", 0, 7, 8, 0x1, 1},
};

constexpr Row kB300269gb[] = {
    {"1g.34gb", 19, 1, 1, 0x7F, 7},
    {"1g.34gb+me", 20, 1, 1, 0x7F, 1},
    {"1g.67gb", 15, 1, 2, 0x55, 4},
    {"2g.67gb", 14, 2, 2, 0x15, 3},
    {"3g.135gb", 9, 3, 4, 0x11, 2},
    {"4g.135gb", 5, 4, 4, 0x1, 1},
    {"7g.269gb", 0, 7, 8, 0x1, 1},
};

constexpr Row kRtxPro600096gb[] = {
    {"1g.24gb", 14, 1, 3, 0x249, 4, {24192, 46, 1, 1, 1, 1, 0}},
    {"1g.24gb+me", 21, 1, 3, 0x249, 1, {24192, 46, 1, 1, 1, 1, 1}},
    {"1g.24gb+gfx", 47, 1, 3, 0x249, 4, {24192, 46, 1, 1, 1, 1, 0}},
    {"1g.24gb+me.all", 65, 1, 3, 0x249, 1, {24192, 46, 1, 4, 4, 4, 1}},
    {"1g.24gb-me", 67, 1, 3, 0x249, 4, {24192, 46, 1, 0, 0, 0, 0}},
    {"2g.48gb", 5, 2, 6, 0x41, 2, {48512, 94, 2, 2, 2, 2, 0}},
    {"2g.48gb+gfx", 35, 2, 6, 0x41, 2, {48512, 94, 2, 2, 2, 2, 0}},
    {"2g.48gb+me.all", 64, 2, 6, 0x41, 1, {48512, 94, 2, 4, 4, 4, 1}},
    {"2g.48gb-me", 66, 2, 6, 0x41, 2, {48512, 94, 2, 0, 0, 0, 0}},
    {"4g.96gb", 0, 4, 12, 0x1, 1, {97280, 188, 4, 4, 4, 4, 1}},
    {"4g.96gb+gfx", 32, 4, 12, 0x1, 1, {97280, 188, 4, 4, 4, 4, 1}},
};

struct Table {
  std::string_view key;
  std::vector<std::string_view> product_names;
  std::vector<std::string_view> pci_device_ids;
  int compute_slices;
  int memory_slices;
  std::optional<bool> mode_needs_reset;
  std::span<const Row> rows;
};

std::vector<Table> tables() {
  return {
      {"a30-24gb",
       {"NVIDIA A30"},
       {"20B7"},
       4,
       4,
       true,
       kA3024gb},
      {"a100-40gb",
       {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB", "NVIDIA A800-SXM4-40GB"},
       {"20B0", "20B1", "20F1", "20F6"},
       7,
       8,
       true,
       kA10040gb},
      {"a100-80gb",
       {"NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB PCIe", "NVIDIA A800-SXM4-80GB", "NVIDIA A800 80GB PCIe"},
       {"20B2", "20B5", "20F3", "20F5"},
       7,
       8,
       true,
       kA10080gb},
      {"h100-80gb",
       {"NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H800"},
       {"2330", "2331", "2322", "2324"},
       7,
       8,
       false,
       kH10080gb},
      {"h100-nvl-94gb",
       {"NVIDIA H100 NVL", "NVIDIA H100 SXM5 94GB"},
       {"2321", "233A"},
       7,
       8,
       false,
       kH100Nvl94gb},
      {"gh200-96gb",
       {"NVIDIA GH200 480GB", "NVIDIA H100 96GB (GH200)"},
       {"2342"},
       7,
       8,
       false,
       kGh20096gb},
      {"h20-96gb",
       {"NVIDIA H20"},
       {"2329"},
       7,
       8,
       false,
       kH2096gb},
      {"h200-141gb",
       {"NVIDIA H200", "NVIDIA H200 NVL"},
       {"2335", "233B"},
       7,
       8,
       false,
       kH200141gb},
      {"gh200-144gb",
       {"NVIDIA GH200 144G HBM3e"},
       {"2348"},
       7,
       8,
       false,
       kGh200144gb},
      {"b200-180gb",
       {"NVIDIA B200"},
       {"2901"},
       7,
       8,
       false,
       kB200180gb},
      {"gb200-186gb",
       {"NVIDIA GB200"},
       {"2941"},
       7,
       8,
       false,
       kGb200186gb},
      {"gb300-278gb",
       {"NVIDIA GB300"},
       {"31C2"},
       7,
       8,
       false,
       kGb300278gb},
      {"b300-269gb",
       {"NVIDIA B300"},
       {"3182"},
       7,
       8,
       false,
       kB300269gb},
      {"rtx-pro-6000-96gb",
       {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"},
       {"2BB5"},
       4,
       12,
       std::nullopt,
       kRtxPro600096gb},
  };
}

// Other drivers' names of a profile: id, name, other name.
struct OtherName {
  int id;
  std::string_view name;
  std::string_view other;
};
constexpr OtherName kOtherNames[] = {
    {19, "1g.23gb", "1g.24gb"},
    {20, "1g.23gb+me", "1g.24gb+me"},
    {9, "3g.93gb", "3g.95gb"},
    {5, "4g.93gb", "4g.95gb"},
    {0, "7g.186gb", "7g.189gb"},
    {19, "1g.35gb", "1g.31gb"},
    {20, "1g.35gb+me", "1g.31gb+me"},
    {9, "3g.139gb", "3g.126gb"},
    {5, "4g.139gb", "4g.126gb"},
    {0, "7g.278gb", "7g.251gb"},
};
// clang-format on

std::optional<MigAttributes> attributes_of(const Figures& figures) {
  if (figures.mib == kUnknown) return std::nullopt;
  return MigAttributes{.memory = Bytes::from_mib(static_cast<std::uint64_t>(figures.mib)),
                       .multiprocessors = figures.multiprocessors,
                       .copy_engines = figures.copy_engines,
                       .decoders = figures.decoders,
                       .encoders = figures.encoders,
                       .jpeg_engines = figures.jpeg_engines,
                       .ofa_engines = figures.ofa_engines};
}

GpuInstanceProfile profile_of(const Row& row) {
  const auto name = parse_mig_name(row.name);
  GpuInstanceProfile profile{.name = std::string(row.name),
                             .id = row.id,
                             .kind = name ? name->kind : MigKind::kPlain,
                             .compute_slices = row.compute_slices,
                             .memory_slices = row.memory_slices,
                             .max_instances = row.at_most,
                             .starts = {},
                             .attributes = attributes_of(row.figures)};
  for (int start = 0; row.starts >> static_cast<unsigned>(start) != 0; ++start) {
    if ((row.starts >> static_cast<unsigned>(start) & 1U) != 0) profile.starts.push_back(start);
  }
  return profile;
}

MigModel model_of(Table table) {
  MigModel model{.key = table.key,
                 .product_names = std::move(table.product_names),
                 .pci_device_ids = std::move(table.pci_device_ids),
                 .geometry = {.compute_slices = table.compute_slices,
                              .memory_slices = table.memory_slices,
                              .profiles = {}},
                 .mode_needs_reset = table.mode_needs_reset};
  for (const auto& row : table.rows) model.geometry.profiles.push_back(profile_of(row));
  return model;
}

// Any case of letters, and '-' for ' ': the label nvidia.com/gpu.product has no spaces.
bool same_letters(std::string_view a, std::string_view b) {
  const auto plain = [](unsigned char c) { return c == ' ' ? '-' : std::tolower(c); };
  return std::ranges::equal(a, b, {}, plain, plain);
}

// With and without "NVIDIA ", as in gpu/models.h.
bool is_called(const MigModel& model, std::string_view name) {
  constexpr std::string_view kMaker = "NVIDIA ";
  return same_letters(model.key, name) ||
         std::ranges::any_of(model.product_names, [&](std::string_view product) {
           return same_letters(product, name) || same_letters(product.substr(kMaker.size()), name);
         });
}

}  // namespace

std::span<const MigModel> mig_models() {
  static const std::vector<MigModel> models = [] {
    std::vector<MigModel> made;
    for (auto& table : tables()) made.push_back(model_of(std::move(table)));
    return made;
  }();
  return models;
}

const MigModel* find_mig_model(std::string_view name) {
  const auto models = mig_models();
  const auto found =
      std::ranges::find_if(models, [&](const MigModel& model) { return is_called(model, name); });
  return found == models.end() ? nullptr : &*found;
}

bool same_profile(int id, std::string_view name, std::string_view other) {
  return std::ranges::any_of(kOtherNames, [&](const OtherName& row) {
    return row.id == id &&
           ((row.name == name && row.other == other) || (row.name == other && row.other == name));
  });
}

}  // namespace tranche::gpu
