// Parts of a GPU against a quota of GPUs, from the claim to the ledger: parts that fill a GPU are
// charged as one, and more is refused.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "admission/quota/charge.h"
#include "admission/quota/ledger.h"
#include "admission/quota/reserve.h"

namespace tranche::admission::quota::parts_test {
namespace {

using nlohmann::json;

const cluster::WallTime kNow{std::chrono::seconds(1'800'000'000)};

struct Part {
  std::uint64_t mib = 0;
  int percent = 1;
  const DraModel* model = nullptr;  // named by the request; null: none
};

json request_of(const Part& part) {
  json one = {{"deviceClassName", "gpu-share"},
              {"capacity",
               {{"requests",
                 {{"memory", std::to_string(part.mib) + "Mi"},
                  {"compute", std::to_string(part.percent)}}}}}};
  if (part.model != nullptr) {
    const auto expression = model_expression(*part.model, {}).value();
    one["selectors"] = json::array({{{"cel", {{"expression", expression}}}}});
  }
  return one;
}

// A namespace with a quota of so many GPUs.
class Namespace {
 public:
  Namespace(std::vector<DraModel> models, std::int64_t gpus, std::int64_t whole = 0)
      : models_(std::move(models)), limit_{"gpus", gpus * kWhole, whole * kWhole} {}

  // Stores and reads the ledger between two claims.
  bool admits(const Part& part) {
    const json claim = {
        {"spec",
         {{"devices", {{"requests", {{{"name", "gpu"}, {"exactly", request_of(part)}}}}}}}}};
    const auto text = claim.dump();
    const auto billionths = charge_of(tranche::json::parse(text).value(), models_, {}).value();
    const Reservation asked{.ns = "n",
                            .claim = "c",
                            .uid = std::to_string(ledger_.claims.size()),
                            .billionths = billionths};
    const auto after = reserve(ledger_, {limit_}, asked, kNow);
    if (after) ledger_ = parse_ledger(to_text(*after)).value();
    return after.has_value();
  }
  int admitted_of(std::vector<Part> parts) {
    int count = 0;
    for (const auto& part : parts) count += admits(part) ? 1 : 0;
    return count;
  }

 private:
  std::vector<DraModel> models_;
  Limit limit_;
  Ledger ledger_;
};

std::vector<Part> times(int count, Part part) { return {static_cast<std::size_t>(count), part}; }

DraModel l20() { return {.product = "NVIDIA L20", .memory = Bytes::from_mib(46068)}; }
DraModel t4() { return {.product = "Tesla T4", .memory = Bytes::from_mib(15360)}; }
// Its driver keeps 592 Mi for itself.
DraModel l20_with_reserve() {
  return {.product = "NVIDIA L20",
          .memory = Bytes::from_mib(46068 - 592),
          .total = Bytes::from_mib(46068)};
}

TEST(Parts, ThatFillAGpuAreChargedAsOne) {
  const auto small = t4();
  const auto large = l20();
  struct Case {
    const char* name;
    std::vector<DraModel> models;
    std::int64_t quota;
    std::int64_t whole;  // whole GPUs in use
    std::vector<Part> parts;
    int admitted;
  };
  const auto mixed = [&] {
    auto parts = times(3, {15356, 33, &large});
    std::ranges::copy(times(3, {5120, 33, &small}), std::back_inserter(parts));
    return parts;
  };
  const Case cases[] = {
      {"three thirds of report 02", {l20()}, 1, 0, times(3, {15356, 33}), 3},
      {"a fourth", {l20()}, 1, 0, times(4, {15356, 33}), 3},
      {"a Mi more in each", {l20()}, 1, 0, times(3, {15357, 33}), 2},
      {"seven sevenths", {l20()}, 1, 0, times(7, {6581, 14}), 7},
      {"seven sevenths and a share of 1 Mi", {l20()}, 1, 0, times(8, {6581, 14}), 7},
      {"a hundred parts of 460 Mi and 1 %", {l20()}, 1, 0, times(101, {460, 1}), 100},
      {"the larger counts: compute", {l20()}, 1, 0, times(4, {1, 33}), 3},
      {"three thirds beside a whole GPU", {l20()}, 2, 1, times(4, {15356, 33}), 3},
      {"six thirds are two GPUs", {l20()}, 2, 0, times(7, {15356, 33}), 6},
      {"thirds of two models are two GPUs", {t4(), l20()}, 2, 0, mixed(), 6},
      {"without a model, by the smallest that has so much",
       {t4(), l20()},
       1,
       0,
       times(4, {5120, 33}),
       3},
      // The quota counts nominal GPUs; whether a device has room is the scheduler's concern.
      {"thirds of a GPU whose driver keeps some of it",
       {l20_with_reserve()},
       1,
       0,
       times(4, {15356, 33}),
       3},
      {"thirds of what its programs can have",
       {l20_with_reserve()},
       1,
       0,
       times(4, {15158, 33}),
       3},
  };
  for (const auto& [name, models, quota, whole, parts, admitted] : cases) {
    SCOPED_TRACE(name);
    EXPECT_EQ(Namespace(models, quota, whole).admitted_of(parts), admitted);
  }
}

// `mib` in two or more parts of a percent or more.
std::vector<std::uint64_t> split(std::uint64_t mib) {
  const auto least = mib / 100 + 1;
  std::vector<std::uint64_t> parts;
  auto rest = mib;
  const auto most = *rc::gen::inRange<std::size_t>(2, 60);
  while (parts.size() + 1 < most && rest >= 5 * least) {
    parts.push_back(*rc::gen::inRange(least, rest / 2));
    rest -= parts.back();
  }
  parts.push_back(rest / 2);
  parts.push_back(rest - rest / 2);
  return parts;
}

RC_GTEST_PROP(Parts, WhoseMemoryIsTheGpusAreAdmittedAndOneMiMoreIsNot, ()) {
  const auto mib = *rc::gen::inRange<std::uint64_t>(1000, 300'000);
  const auto gpus = *rc::gen::inRange<std::int64_t>(1, 4);
  const bool is_named = *rc::gen::arbitrary<bool>();
  const std::vector<DraModel> models = {
      {.product = "M", .memory = Bytes::from_mib(mib)},
      {.product = "small", .memory = Bytes::from_mib(is_named ? 900 : 1)}};
  std::vector<Part> parts;
  for (std::int64_t gpu = 0; gpu < gpus; ++gpu) {
    for (const auto part : split(mib)) {
      parts.push_back({.mib = part, .percent = 1, .model = is_named ? models.data() : nullptr});
    }
  }
  const auto all = static_cast<int>(parts.size());
  RC_ASSERT(Namespace(models, gpus).admitted_of(parts) == all);
  parts.back().mib += 1;
  RC_ASSERT(Namespace(models, gpus).admitted_of(parts) == all - 1);
}

}  // namespace
}  // namespace tranche::admission::quota::parts_test
