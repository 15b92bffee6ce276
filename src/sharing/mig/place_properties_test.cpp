// The searches of mig/place.h against naive ones, on every model: these try everything, and count
// slices in plain arrays.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "gpu/mig_tables.h"
#include "mig/occupancy.h"
#include "mig/place.h"

namespace tranche::mig::place_properties_test {
namespace {

using Profile = gpu::GpuInstanceProfile;
using Geometry = gpu::MigGeometry;

// --- the naive machine --------------------------------------------------------------------------

struct Piece {
  const Profile* profile = nullptr;
  int start = 0;
};

int engines(const Profile& profile, int kind) {
  if (!profile.attributes) return 0;
  const auto& known = *profile.attributes;
  const std::array all = {known.decoders, known.encoders, known.jpeg_engines, known.ofa_engines};
  return all[static_cast<std::size_t>(kind)];
}

// The profile with all compute slices and all memory.
const Profile& whole(const Geometry& geometry) {
  return *std::ranges::find_if(geometry.profiles, [&](const Profile& profile) {
    return profile.compute_slices == geometry.compute_slices &&
           profile.memory_slices == geometry.memory_slices;
  });
}

bool is_possible(const std::vector<Piece>& pieces, const Geometry& geometry) {
  std::vector<int> memory(static_cast<std::size_t>(geometry.memory_slices));
  std::map<int, int> instances;
  int compute = 0;
  for (const auto& [profile, start] : pieces) {
    for (int i = 0; i < profile->memory_slices; ++i) {
      if (++memory[static_cast<std::size_t>(start + i)] > 1) return false;
    }
    if (++instances[profile->id] > profile->max_instances) return false;
    compute += profile->compute_slices;
  }
  for (int kind = 0; kind < 4 && whole(geometry).attributes; ++kind) {
    int used = 0;
    for (const auto& piece : pieces) used += engines(*piece.profile, kind);
    if (used > engines(whole(geometry), kind)) return false;
  }
  return compute <= geometry.compute_slices;
}

// Calls `use` for every way to add pieces to `pieces`, none included, each set of pieces once.
void every_filling(std::vector<Piece>& pieces, const Geometry& geometry,
                   const std::function<void(const std::vector<Piece>&)>& use, int from = 0) {
  use(pieces);
  for (int start = from; start < geometry.memory_slices; ++start) {
    for (const auto& profile : geometry.profiles) {
      if (std::ranges::find(profile.starts, start) == profile.starts.end()) continue;
      pieces.push_back({&profile, start});
      if (is_possible(pieces, geometry)) every_filling(pieces, geometry, use, start + 1);
      pieces.pop_back();
    }
  }
}

// --- what is drawn ------------------------------------------------------------------------------

template <class Elements>
const auto& drawn_of(const Elements& elements) {
  return elements[*rc::gen::inRange<std::size_t>(0, elements.size())];
}

struct Case {
  const gpu::MigModel* model = nullptr;
  std::vector<InstanceWish> wish;
  Keeping keeping;
  const Geometry& geometry() const { return model->geometry; }
};

std::vector<int> drawn_compute(const Profile& profile) {
  std::vector<int> sizes;
  int left = profile.compute_slices;
  while (left > 0) {
    const int size = *rc::gen::inRange(1, left + 1);
    if (size != 5) sizes.push_back(size);
    left -= size;
    if (*rc::gen::inRange(0, 4) == 0) break;
  }
  if (*rc::gen::inRange(0, 3) != 0) sizes = {profile.compute_slices};
  return sizes;
}

GpuLayout drawn_layout(const Geometry& geometry) {
  GpuLayout layout{.enabled = true, .instances = {}};
  std::vector<Piece> pieces;
  for (int tries = *rc::gen::inRange(0, 10); tries > 0; --tries) {
    const auto& profile = drawn_of(geometry.profiles);
    pieces.push_back({&profile, drawn_of(profile.starts)});
    if (!is_possible(pieces, geometry)) pieces.pop_back();
  }
  for (const auto& [profile, start] : pieces) {
    layout.instances.push_back({.profile_id = profile->id,
                                .placement = {.start = start, .size = profile->memory_slices},
                                .compute = drawn_compute(*profile)});
  }
  std::ranges::sort(layout.instances, {}, &Instance::placement);
  return layout;
}

InstanceWish wish_of(const Instance& instance) {
  InstanceWish wish{.profile_id = instance.profile_id, .compute = instance.compute};
  std::ranges::sort(wish.compute, std::greater());
  return wish;
}

// Often like the wish, but with some compute instances missing.
GpuLayout drawn_present(const Case& given) {
  auto layout = place(given.wish, given.geometry());
  if (!layout || *rc::gen::arbitrary<bool>()) return drawn_layout(given.geometry());
  for (auto& instance : layout->instances) {
    if (*rc::gen::inRange(0, 3) == 0)
      instance.compute = drawn_compute(*given.geometry().find(instance.profile_id));
    if (*rc::gen::inRange(0, 3) == 0) instance.compute.resize(instance.compute.size() / 2);
  }
  std::erase_if(layout->instances, [](const auto&) { return *rc::gen::inRange(0, 4) == 0; });
  return *layout;
}

// A wish that can be met or nearly: a layout, sometimes with one more instance.
Case drawn() {
  Case made{.model = &drawn_of(gpu::mig_models()), .wish = {}, .keeping = {}};
  for (const auto& one : drawn_layout(made.geometry()).instances) made.wish.push_back(wish_of(one));
  if (*rc::gen::arbitrary<bool>()) {
    const auto& profile = drawn_of(made.geometry().profiles);
    made.wish.push_back({.profile_id = profile.id, .compute = {profile.compute_slices}});
  }
  std::ranges::shuffle(made.wish,
                       std::minstd_rand(static_cast<unsigned>(*rc::gen::inRange(0, 1000))));
  made.keeping.present = drawn_present(made).instances;
  for (std::size_t i = 0; i < made.keeping.present.size(); ++i) {
    made.keeping.held.push_back(*rc::gen::arbitrary<bool>());
  }
  return made;
}

// --- the naive search ---------------------------------------------------------------------------

// The number kept: held ones, all ones, and unchanged ones or only GPU instances.
using Kept = std::tuple<int, int, int>;

Kept kept(const std::vector<Instance>& layout, const Keeping& keeping) {
  int held = 0;
  int all = 0;
  int gpu_instances = 0;
  for (std::size_t i = 0; i < keeping.present.size(); ++i) {
    const auto& present = keeping.present[i];
    for (const auto& one : layout) {
      if (one.profile_id != present.profile_id || one.placement != present.placement) continue;
      const auto wished = wish_of(one).compute;
      const auto had = wish_of(present).compute;
      const bool same = wished == had;
      const bool stays = std::ranges::includes(wished, had, std::greater());
      all += stays ? 1 : 0;
      held += stays && keeping.held[i] ? 1 : 0;
      gpu_instances += same || !stays ? 1 : 0;
    }
  }
  return {held, all, gpu_instances};
}

// The most that can be kept; nullopt: the wish cannot be met.
std::optional<Kept> naive(const Case& given) {
  std::optional<Kept> best;
  std::vector<Piece> pieces;
  std::vector<Instance> layout;
  const std::function<void(std::size_t)> from = [&](std::size_t at) {
    if (at == given.wish.size()) {
      best = std::max(best.value_or(Kept(0, 0, 0)), kept(layout, given.keeping));
      return;
    }
    const auto& profile = *given.geometry().find(given.wish[at].profile_id);
    for (const int start : profile.starts) {
      pieces.push_back({&profile, start});
      layout.push_back({.profile_id = profile.id,
                        .placement = {.start = start, .size = profile.memory_slices},
                        .compute = given.wish[at].compute});
      if (is_possible(pieces, given.geometry())) from(at + 1);
      layout.pop_back();
      pieces.pop_back();
    }
  };
  from(0);
  return best;
}

std::multiset<InstanceWish> met_by(const GpuLayout& layout) {
  std::multiset<InstanceWish> wishes;
  for (const auto& one : layout.instances) wishes.insert(wish_of(one));
  return wishes;
}

RC_GTEST_PROP(PlaceProperties, AgreesWithTheExhaustiveSearch, ()) {
  const auto given = drawn();
  RC_CLASSIFY(true, std::string(given.model->key));
  const auto best = naive(given);
  const auto layout = place(given.wish, given.geometry(), given.keeping);
  RC_TAG(std::string(best ? "can be met" : "cannot be met"));
  RC_ASSERT(layout.has_value() == best.has_value());
  RC_ASSERT(can_place(given.wish, given.geometry()) == best.has_value());
  if (!layout) return;
  RC_ASSERT(check(*layout, given.geometry()).has_value());
  RC_ASSERT(std::ranges::is_sorted(layout->instances, {}, &Instance::placement));
  RC_ASSERT(met_by(*layout) == std::multiset<InstanceWish>(given.wish.begin(), given.wish.end()));
  RC_ASSERT(kept(layout->instances, given.keeping) == *best);
}

RC_GTEST_PROP(PlaceProperties, AKeptInstanceIsTheSame, ()) {
  const auto given = drawn();
  const auto layout = place(given.wish, given.geometry(), given.keeping);
  RC_PRE(layout.has_value());
  for (const auto& present : given.keeping.present) {
    for (const auto& one : layout->instances) {
      if (one.placement != present.placement || wish_of(one) != wish_of(present)) continue;
      RC_ASSERT(one.compute == present.compute);
    }
  }
}

RC_GTEST_PROP(PlaceProperties, PresentInstancesAreTheirOwnBestPlace, ()) {
  const auto& model = drawn_of(gpu::mig_models());
  const auto layout = drawn_layout(model.geometry);
  std::vector<InstanceWish> wish;
  for (const auto& one : layout.instances) wish.push_back(wish_of(one));
  RC_ASSERT(place(wish, model.geometry, {.present = layout.instances}) == layout);
}

RC_GTEST_PROP(PlaceProperties, CheckAgreesWithTheNaiveMachine, ()) {
  const auto& model = drawn_of(gpu::mig_models());
  GpuLayout layout{.enabled = true, .instances = {}};
  std::vector<Piece> pieces;
  for (int count = *rc::gen::inRange(0, 5); count > 0; --count) {
    const auto& profile = drawn_of(model.geometry.profiles);
    pieces.push_back({&profile, drawn_of(profile.starts)});
    layout.instances.push_back(
        {.profile_id = profile.id,
         .placement = {.start = pieces.back().start, .size = profile.memory_slices},
         .compute = {profile.compute_slices}});
  }
  RC_ASSERT(check(layout, model.geometry).has_value() == is_possible(pieces, model.geometry));
}

RC_GTEST_PROP(PlaceProperties, StrandedAndRoomAreTrue, ()) {
  const auto& model = drawn_of(gpu::mig_models());
  const auto& geometry = model.geometry;
  const auto layout = drawn_layout(geometry);
  std::vector<Piece> pieces;
  for (const auto& one : layout.instances) {
    pieces.push_back({geometry.find(one.profile_id), one.placement.start});
  }
  std::pair least(geometry.compute_slices, geometry.memory_slices);
  std::map<int, int> room;
  for (const auto& profile : geometry.profiles) room[profile.id] = 0;
  const auto before = pieces.size();
  every_filling(pieces, geometry, [&](const std::vector<Piece>& filled) {
    std::pair left(geometry.compute_slices, geometry.memory_slices);
    std::set<int> added;
    for (std::size_t i = 0; i < filled.size(); ++i) {
      left.first -= filled[i].profile->compute_slices;
      left.second -= filled[i].profile->memory_slices;
      if (i >= before) added.insert(filled[i].profile->id);
    }
    least = std::min(least, left);
    if (added.size() != 1) return;
    auto& most = room[*added.begin()];
    most = std::max(most, static_cast<int>(filled.size() - before));
  });
  RC_ASSERT(stranded(layout, geometry) == (Stranded{least.first, least.second}));
  Occupancy taken(geometry);
  taken.add(layout);
  for (const auto& profile : geometry.profiles) {
    RC_ASSERT(number_beside(taken, profile) == room[profile.id]);
  }
}

RC_GTEST_PROP(PlaceProperties, NearestCanBeMet, ()) {
  const auto& model = drawn_of(gpu::mig_models());
  GpuWish wish;
  for (int count = *rc::gen::inRange(1, 5); count > 0; --count) {
    const auto& profile = drawn_of(model.geometry.profiles);
    wish.devices[profile.name] += *rc::gen::inRange(1, 9);
  }
  const auto near = nearest(wish, model.geometry);
  RC_ASSERT(!near.empty() && near.size() <= 3);
  for (const auto& one : near) {
    const auto instances = instances_of(one, model.geometry);
    RC_ASSERT(instances.has_value());
    RC_ASSERT(place(*instances, model.geometry).has_value());
  }
  const auto wished = instances_of(wish, model.geometry);
  if (can_place(*wished, model.geometry)) RC_ASSERT(near.front().devices == wish.devices);
}

// --- all of a model -----------------------------------------------------------------------------

class EveryModel : public testing::TestWithParam<const gpu::MigModel*> {};

using Counts = std::map<int, int>;  // profile id -> number, without zeros

TEST_P(EveryModel, FullLayoutsAreAllToWhichNothingCanBeAdded) {
  const auto& geometry = GetParam()->geometry;
  std::set<Counts> possible;
  std::vector<Piece> pieces;
  every_filling(pieces, geometry, [&](const std::vector<Piece>& filled) {
    Counts counts;
    for (const auto& piece : filled) ++counts[piece.profile->id];
    possible.insert(counts);
  });
  std::set<Counts> full;
  for (const auto& counts : possible) {
    const bool grows = std::ranges::any_of(geometry.profiles, [&](const Profile& profile) {
      auto more = counts;
      ++more[profile.id];
      return possible.contains(more);
    });
    if (!grows) full.insert(counts);
  }
  std::set<Counts> ours;
  for (const auto& wishes : full_layouts(geometry)) {
    Counts counts;
    for (const auto& wish : wishes) ++counts[wish.profile_id];
    EXPECT_TRUE(ours.insert(counts).second);
  }
  EXPECT_EQ(ours, full);
}

std::vector<const gpu::MigModel*> all_models() {
  std::vector<const gpu::MigModel*> models;
  for (const auto& model : gpu::mig_models()) models.push_back(&model);
  return models;
}

INSTANTIATE_TEST_SUITE_P(Tables, EveryModel, testing::ValuesIn(all_models()), [](const auto& one) {
  std::string name(one.param->key);
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace tranche::mig::place_properties_test
