#include "sim/mps/partitions.h"

#include <algorithm>

#include "fmt/format.h"

namespace tranche::sim::mps {
namespace {

constexpr std::uint32_t kAmpere = 8;  // compute capability
constexpr std::uint32_t kHopper = 9;

const Model& model_of(const State& state, std::uint32_t gpu) {
  return state.models[state.gpus[gpu].model];
}

}  // namespace

unsigned Partitions::multiprocessors_of_chunk(std::uint32_t gpu) const {
  return model_of(state_, gpu).cc_major >= kHopper ? 8 : 4;
}

unsigned Partitions::total(std::uint32_t gpu) const {
  const Model& model = model_of(state_, gpu);
  return model.cc_major < kAmpere ? 0 : model.sm_count / multiprocessors_of_chunk(gpu);
}

unsigned Partitions::used(std::uint32_t gpu) const {
  unsigned chunks = 0;
  for (const Partition& one : all_) chunks += one.gpu == gpu ? one.chunks : 0;
  return chunks;
}

bool Partitions::is_free(std::uint32_t gpu, unsigned chunk) const {
  return std::ranges::none_of(all_, [&](const Partition& one) {
    return one.gpu == gpu && chunk >= one.first && chunk < one.first + one.chunks;
  });
}

Result<Partition> Partitions::add(const std::string& server, const std::string& name,
                                  std::uint32_t gpu, unsigned chunks) {
  if (total(gpu) == 0) {
    return fail(Code::kUnsupported, "static SM partitioning is not supported on this device");
  }
  const bool is_named = std::ranges::any_of(all_, [&](const Partition& one) {
    return !name.empty() && one.gpu == gpu && one.name == name;
  });
  if (is_named) return fail(Code::kAlreadyExists, fmt::format("'{}' exists already", name));
  unsigned length = 0;
  for (unsigned chunk = 0; chunks > 0 && chunk < total(gpu); ++chunk) {
    length = is_free(gpu, chunk) ? length + 1 : 0;
    if (length < chunks) continue;
    Partition made{.server = server,
                   .name = name,
                   .gpu = gpu,
                   .first = chunk + 1 - chunks,
                   .chunks = chunks,
                   .value = {}};
    made.value = fmt::format("{}{:02}x{:02}{}", protocol_ == 3 ? 'K' : 'D', made.first, chunks,
                             std::string(27, 'A'));
    all_.push_back(made);
    return made;
  }
  return fail(Code::kFailedPrecondition,
              fmt::format("Failed to fulfill the requested SM partition of {} chunks, error "
                          "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION",
                          chunks));
}

bool Partitions::remove(std::uint32_t gpu, std::string_view name_or_value) {
  return std::erase_if(all_, [&](const Partition& one) {
           return one.gpu == gpu && !name_or_value.empty() &&
                  (one.name == name_or_value || one.value == name_or_value);
         }) > 0;
}

bool Partitions::has_any(std::uint32_t gpu) const {
  return std::ranges::any_of(all_, [&](const Partition& one) { return one.gpu == gpu; });
}

std::uint32_t Partitions::permille(std::uint32_t gpu, std::string_view said) const {
  const std::string prefix = fmt::format("{}/", state_.gpus[gpu].uuid);
  for (const Partition& one : all_) {
    if (one.gpu == gpu && said == prefix + one.value) {
      return kFullRate * one.chunks / std::max(1U, total(gpu));
    }
  }
  return 0;
}

}  // namespace tranche::sim::mps
