#pragma once
// A picture of how GPUs are partitioned: for each GPU a row of memory slices and below it a row of
// compute slices, for a terminal of 80 columns or as SVG. Pure.
//
// NVML reports where an instance starts in memory, but not which compute slices it has. They are
// drawn below its first memory slices.

#include <string>
#include <vector>

#include "gpu/mig_profile.h"
#include "mig/layout.h"

namespace tranche::mig {

struct PicturedGpu {
  std::string title;  // "GPU 0: NVIDIA A100-SXM4-80GB"
  GpuLayout layout;
  gpu::MigGeometry geometry;  // empty: the GPU has no MIG, and only the title is drawn
};

struct PictureCell {
  enum class Area {
    kInstance,
    kFree,      // an instance can still use it
    kStranded,  // no instance can use it (mig/place.h)
  };
  int from = 0;  // in memory slices, also in the row of compute slices
  int to = 0;
  Area area = Area::kFree;
  int slices = 0;         // of an instance: its compute slices, which determine the colour
  std::string name = {};  // "3g.40gb"; "1c", "42 SM"
  std::string note = {};  // "39.2Gi"
  bool operator==(const PictureCell&) const = default;
};

struct PictureRow {
  std::string name;  // "memory", "compute"
  std::vector<PictureCell> cells;
  bool operator==(const PictureRow&) const = default;
};

// The rows of both kinds of picture. If MIG is off, one instance covers the whole GPU.
std::vector<PictureRow> rows_of(const GpuLayout& layout, const gpu::MigGeometry& geometry);

// `colour`: with escape sequences. Each line ends with a newline.
std::string text_picture(const std::vector<PicturedGpu>& gpus, bool colour);
std::string svg_picture(const std::vector<PicturedGpu>& gpus);

}  // namespace tranche::mig
