#include "sim/gpu/open_gpus.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#include "fmt/format.h"

namespace tranche::sim {
namespace {

// Containers of other users take part.
void make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) std::ignore = ::chmod(path.c_str(), 0777);
}

}  // namespace

std::vector<OwnedFd> open_gpus(const Simulation& sim, ProcessSlot& slot, std::uint64_t gpus) {
  slot.open_gpus.store(gpus);
  const std::string folder = sim.path() + ".nodes";
  make_folder(folder);
  make_folder(folder + "/dev");
  std::vector<OwnedFd> nodes;
  for (std::uint32_t gpu = 0; gpu < sim.state().gpu_count; ++gpu) {
    if ((gpus >> gpu & 1U) == 0) continue;
    const auto path = fmt::format("{}/dev/nvidia{}", folder, sim.state().gpus[gpu].minor);
    OwnedFd node(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0666));
    if (node.is_open()) nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace tranche::sim
