// The counters of dra/counters.h against mig/place.h on every model: devices of one GPU can be
// allocated together if and only if the GPU can have them together.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "dra/counters.h"
#include "gpu/mig_tables.h"
#include "mig/place.h"

namespace tranche::dra::pool_properties_test {
namespace {

using cluster::Counters;

struct Place {
  const gpu::GpuInstanceProfile* profile;
  int start;
};

std::vector<Place> places_of(const gpu::MigGeometry& geometry) {
  std::vector<Place> places;
  for (const auto& profile : geometry.profiles) {
    for (const int start : profile.starts) places.push_back({&profile, start});
  }
  return places;
}

bool takes(Counters& left, const Counters& uses) {
  for (const auto& [name, value] : uses) {
    const auto has = left.find(name);
    if (has == left.end() || has->second < value) return false;
  }
  for (const auto& [name, value] : uses) left[name] -= value;
  return true;
}

mig::GpuLayout layout_of(const std::vector<Place>& chosen) {
  mig::GpuLayout layout{.enabled = true, .instances = {}};
  for (const auto& [profile, start] : chosen) {
    layout.instances.push_back({.profile_id = profile->id,
                                .placement = {.start = start, .size = profile->memory_slices},
                                .compute = {profile->compute_slices}});
  }
  std::ranges::sort(layout.instances, {}, &mig::Instance::placement);
  return layout;
}

// Walks through all sets of places that the counters allow, and tries to add each place to each
// set.
class Walk {
 public:
  explicit Walk(const gpu::MigGeometry& geometry)
      : geometry_(geometry), places_(places_of(geometry)) {}

  std::size_t go(const Counters& left, std::size_t from = 0) {
    std::size_t sets = 1;
    for (std::size_t i = from; i < places_.size(); ++i) {
      auto rest = left;
      const bool counted =
          takes(rest, of_instance(geometry_, *places_[i].profile, places_[i].start));
      chosen_.push_back(places_[i]);
      const bool possible = mig::check(layout_of(chosen_), geometry_).has_value();
      EXPECT_EQ(counted, possible) << mig::describe(layout_of(chosen_), geometry_);
      if (counted && possible) sets += go(rest, i + 1);
      chosen_.pop_back();
    }
    return sets;
  }

 private:
  const gpu::MigGeometry& geometry_;
  const std::vector<Place> places_;
  std::vector<Place> chosen_;
};

TEST(Counters, AllowWhatTheGpuCanHoldAndNothingElse) {
  for (const auto& model : gpu::mig_models()) {
    SCOPED_TRACE(model.key);
    const auto sets = Walk(model.geometry).go(whole_gpu(model.geometry));
    EXPECT_GT(sets, 20U);
    if (testing::Test::HasFailure()) return;  // one failing model is enough
  }
}

TEST(Counters, AreFewEnough) {
  for (const auto& model : gpu::mig_models()) {
    EXPECT_LE(whole_gpu(model.geometry).size(), cluster::kCountersPerSet) << model.key;
  }
}

// The whole GPU takes every counter.
TEST(Counters, TheWholeGpuLeavesNothing) {
  for (const auto& model : gpu::mig_models()) {
    auto left = whole_gpu(model.geometry);
    ASSERT_TRUE(takes(left, whole_gpu(model.geometry)));
    for (const auto& place : places_of(model.geometry)) {
      auto rest = left;
      EXPECT_FALSE(takes(rest, of_instance(model.geometry, *place.profile, place.start)))
          << model.key << ' ' << place.profile->name;
    }
  }
}

}  // namespace
}  // namespace tranche::dra::pool_properties_test
