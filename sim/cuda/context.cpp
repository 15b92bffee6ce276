#include "sim/cuda/context.h"

namespace tranche::sim::cuda {

std::vector<StreamPtr> Context::all_streams() const {
  std::vector<StreamPtr> all = {legacy};
  for (const auto& [thread, stream] : per_thread) all.push_back(stream);
  for (const auto& [number_of, stream] : streams) all.push_back(stream);
  return all;
}

}  // namespace tranche::sim::cuda
