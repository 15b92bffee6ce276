#include "nvml/mig_geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "gpu/mig_name.h"
#include "gpu/mig_tables.h"

namespace tranche::nvml {
namespace {

// Starts of one profile; RTX PRO 6000 has 12 memory slices, others 8 or 4.
constexpr std::size_t kMostPlacements = 32;

// Searches keep memory slices in 64 bits.
constexpr unsigned kMostSlices = 32;

// The GPU or the driver has not got it.
bool is_lacking(Return result) {
  return result == kNotSupported || result == kInvalidArgument || result == kFunctionNotFound;
}

class GeometryReading {
 public:
  GeometryReading(Calls& call, Device device, const gpu::Gpu& gpu)
      : call_(call), api_(call.api()), device_(device), gpu_(gpu) {}

  Result<gpu::MigGeometry> read() {
    gpu::MigGeometry geometry;
    for (unsigned constant = 0; constant < kGpuInstanceProfiles; ++constant) {
      ASSIGN_OR_RETURN(auto profile, read_profile(constant));
      if (!profile) continue;
      TRY(read_placements(*profile));
      geometry.profiles.push_back(*std::move(profile));
    }
    for (auto& profile : geometry.profiles) {
      if (profile.starts.empty()) take_placements(profile);
      geometry.compute_slices = std::max(geometry.compute_slices, profile.compute_slices);
      if (profile.starts.empty()) continue;
      geometry.memory_slices =
          std::max(geometry.memory_slices, profile.starts.back() + profile.memory_slices);
    }
    return geometry;
  }

 private:
  // Tries the newest struct first: versions 3 and 2 have the driver's own spelling of the name.
  // nullopt: the GPU has no such profile.
  Result<std::optional<gpu::GpuInstanceProfile>> read_profile(unsigned constant) {
    const auto& versioned = api_.nvmlDeviceGetGpuInstanceProfileInfoV;
    GpuInstanceProfileInfoV3 newest = {.version = version_word<GpuInstanceProfileInfoV3>(3)};
    Return result = call_(versioned, device_, constant, &newest);
    if (result == kSuccess) return make_profile(newest, constant, text(newest.name));
    if (result == kNotSupported) return std::nullopt;
    GpuInstanceProfileInfoV2 newer = {.version = version_word<GpuInstanceProfileInfoV2>(2)};
    result = call_(versioned, device_, constant, &newer);
    if (result == kSuccess) return make_profile(newer, constant, text(newer.name));
    if (result == kNotSupported) return std::nullopt;
    GpuInstanceProfileInfo first = {};
    const auto& oldest = api_.nvmlDeviceGetGpuInstanceProfileInfo;
    result = call_(oldest, device_, constant, &first);
    if (result == kSuccess) return make_profile(first, constant, {});
    if (is_lacking(result)) return std::nullopt;
    return fail(Code::kUnavailable, call_.describe(oldest.name, result));
  }

  template <class Info>
  gpu::GpuInstanceProfile make_profile(const Info& info, unsigned constant,
                                       const std::string& printed) const {
    const auto memory = Bytes::from_mib(info.memory_mib);
    gpu::GpuInstanceProfile profile = {
        .name = std::string(gpu::profile_in(printed)),
        .id = static_cast<int>(info.id),
        .kind = gpu::mig_kind(constant),
        .compute_slices = static_cast<int>(info.slices),
        .max_instances = static_cast<int>(info.instances),
        .starts = {},
        .attributes = gpu::MigAttributes{.memory = memory,
                                         .multiprocessors = static_cast<int>(info.multiprocessors),
                                         .copy_engines = static_cast<int>(info.copy_engines),
                                         .decoders = static_cast<int>(info.decoders),
                                         .encoders = static_cast<int>(info.encoders),
                                         .jpeg_engines = static_cast<int>(info.jpeg_engines),
                                         .ofa_engines = static_cast<int>(info.ofa_engines)}};
    if (profile.name.empty()) {
      profile.name = gpu::mig_profile_name(profile.compute_slices,
                                           gpu::mig_memory_gb(memory, gpu_.memory), profile.kind);
    }
    return profile;
  }

  // There are none if the driver does not report them.
  Result<void> read_placements(gpu::GpuInstanceProfile& profile) {
    std::vector<Placement> places(kMostPlacements);
    auto count = static_cast<unsigned>(places.size());
    const auto& function = api_.nvmlDeviceGetGpuInstancePossiblePlacements_v2;
    const Return result =
        call_(function, device_, static_cast<unsigned>(profile.id), places.data(), &count);
    if (is_lacking(result) || result == kNoPermission) return {};
    if (result != kSuccess) return fail(Code::kUnavailable, call_.describe(function.name, result));
    places.resize(std::min<std::size_t>(count, places.size()));
    for (const Placement& place : places) {
      TRY(check_place(function.name, place));
      profile.starts.push_back(static_cast<int>(place.start));
      profile.memory_slices = static_cast<int>(place.size);
    }
    std::ranges::sort(profile.starts);
    return {};
  }

  void take_placements(gpu::GpuInstanceProfile& profile) const {
    const auto* model = gpu::find_mig_model(gpu_.name);
    const auto* known = model == nullptr ? nullptr : model->geometry.find(profile.id);
    if (known == nullptr) return;
    profile.starts = known->starts;
    profile.memory_slices = known->memory_slices;
  }

  Calls& call_;
  const Api& api_;
  Device device_;
  const gpu::Gpu& gpu_;
};

}  // namespace

Result<void> check_place(const char* function, const Placement& place) {
  if (place.size > 0 && place.size <= kMostSlices && place.start <= kMostSlices - place.size) {
    return {};
  }
  return fail(Code::kUnavailable, fmt::format("{}: {} memory slices from {} are on no GPU",
                                              function, place.size, place.start));
}

Result<gpu::MigGeometry> read_mig_geometry(Calls& call, Device device, const gpu::Gpu& gpu) {
  return GeometryReading(call, device, gpu).read();
}

}  // namespace tranche::nvml
