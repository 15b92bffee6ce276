#include "mig/journal.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/envelope.h"

namespace tranche::mig::journal_test {
namespace {

using testing::HasSubstr;

const gpu::GpuUuid kGpu{"GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76"};

cluster::WallTime at(int seconds) {
  return cluster::WallTime(std::chrono::seconds(1'767'225'600 + seconds));
}

Journal journal() {
  return {.id = "c1",
          .layout = "all-balanced",
          .phase = Journal::Phase::kUndoing,
          .from = {{kGpu, {}}},
          .to = {{kGpu,
                  {.enabled = true,
                   .instances = {{.profile_id = 9, .placement = {0, 4}, .compute = {2, 1}},
                                 {.profile_id = 19, .placement = {4, 1}, .compute = {}}}}}},
          .started = at(0),
          .deadline = at(300),
          .boot = "0f8fad5b-d9cb-469f-a165-70867728950e",
          .touched = true,
          .trouble = "GPU 0: create 3g.40gb at 4: \"no\""};
}

std::string sealed(const nlohmann::json& content) {
  return seal({.version = "journal/v1", .key = "journal"}, content.dump());
}
nlohmann::json content() { return nlohmann::json::parse(encode(journal()))["journal"]; }

TEST(Journal, ComesBackAsWritten) {
  const auto read = decode_journal(encode(journal()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, journal());
}

// Earlier releases did not record it, and changed the hardware in every phase but the first two.
TEST(Journal, WhetherItCameToTheHardwareIsGuessedOfAnOlderOne) {
  auto older = content();
  older.erase("touched");
  EXPECT_TRUE(decode_journal(sealed(older))->touched);
  older["phase"] = "draining";
  EXPECT_FALSE(decode_journal(sealed(older))->touched);
}

TEST(Journal, EveryPhaseComesBack) {
  for (int phase = 0; phase <= static_cast<int>(Journal::Phase::kFinished); ++phase) {
    auto one = journal();
    one.phase = static_cast<Journal::Phase>(phase);
    EXPECT_EQ(decode_journal(encode(one)), one) << to_string(one.phase);
  }
}

// The sample that tests/e2e/test_schemas.py compares with the schema.
TEST(Journal, IsWrittenAsTheSample) {
  std::ifstream file("tests/data/journal-v1.json");
  const auto sample = nlohmann::json::parse(file);
  EXPECT_EQ(nlohmann::json::parse(encode(journal())), sample);
  EXPECT_EQ(decode_journal(sample.dump()), journal());
}

TEST(Journal, APendingModeIsStoredOnlyIfThereIsOne) {
  auto one = journal();
  EXPECT_EQ(encode(one).find("waits"), std::string::npos);
  one.from.begin()->second.waits = true;
  EXPECT_EQ(decode_journal(encode(one)), one);
}

TEST(Journal, IsRefusedWhereverItIsTorn) {
  const auto text = encode(journal());
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto read = decode_journal(std::string_view(text).substr(0, length));
    ASSERT_FALSE(read) << length;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
  }
}

TEST(Journal, AnotherByteIsNoticedByTheChecksum) {
  auto text = encode(journal());
  text.replace(text.find("all-balanced"), 3, "one");
  EXPECT_FALSE(decode_journal(text));
}

TEST(Journal, SixteenGpusTakeAQuarterOfTheSpace) {
  auto large = journal();
  large.from.clear();
  large.to.clear();
  for (int gpu = 0; gpu < 16; ++gpu) {
    const gpu::GpuUuid uuid{fmt::format("GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b{:02}", gpu)};
    for (int start = 0; start < 7; ++start) {
      const Instance one{.profile_id = 19, .placement = {start, 1}, .compute = {1}};
      for (auto* layout : {&large.from, &large.to}) {
        (*layout)[uuid].enabled = true;
        (*layout)[uuid].instances.push_back(one);
      }
    }
  }
  EXPECT_LT(encode(large).size(), kLongestJournal / 3);
  EXPECT_EQ(decode_journal(encode(large)), large);
}

TEST(Journal, LongTroubleIsCutBetweenCharacters) {
  auto long_one = journal();
  long_one.trouble = "x";
  for (int i = 0; i < 1500; ++i) long_one.trouble += "é";
  const auto read = decode_journal(encode(long_one));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->trouble, long_one.trouble.substr(0, 1999));
}

TEST(Journal, AnImpossibleOneIsRefused) {
  const auto with = [](const char* pointer, const nlohmann::json& value) {
    auto changed = content();
    changed[nlohmann::json::json_pointer(pointer)] = value;
    return sealed(changed);
  };
  const auto without = [](const char* key) {
    auto changed = content();
    changed.erase(key);
    return sealed(changed);
  };
  const auto gpu = "/to/" + kGpu.value;
  const auto at_gpu = [&](const char* rest, const nlohmann::json& value) {
    return with((gpu + rest).c_str(), value);
  };
  const nlohmann::json instance = {{"profile", 19}, {"start", 0}, {"size", 1}, {"compute", {1}}};
  nlohmann::json many_gpus;
  for (int i = 0; i < 65; ++i) {
    many_gpus[fmt::format("GPU-{}", i)] = {{"enabled", false},
                                           {"instances", nlohmann::json::array()}};
  }
  ASSERT_TRUE(decode_journal(sealed(content())));
  const struct {
    const char* name;
    std::string text;
    const char* why;
  } cases[] = {
      {"no JSON", "{", ""},
      {"another version", seal({.version = "journal/v2", .key = "journal"}, content().dump()), ""},
      {"no object", sealed(nlohmann::json::array()), ""},
      {"too long", std::string(kLongestJournal + 1, ' '), "bytes are too many"},
      {"a phase of later", with("/phase", "pondering"), "phase"},
      {"no id", without("id"), "id"},
      {"an empty id", with("/id", ""), "id"},
      {"an id with a line end", with("/id", "a\nb"), "id"},
      {"no layouts", without("from"), "from"},
      {"a list of layouts", with("/to", nlohmann::json::array()), "to"},
      {"other GPUs after than before", with("/from", nlohmann::json::object()), "other GPUs"},
      {"too many GPUs", with("/to", many_gpus), "too many GPUs"},
      {"a GPU that is a number", with(gpu.c_str(), 1), ""},
      {"instances without MIG mode", at_gpu("/enabled", false), "without MIG mode"},
      {"too many instances", at_gpu("/instances", std::vector(17, instance)), "too many"},
      {"a start below zero", at_gpu("/instances/0/start", -1), "start"},
      {"a size of zero", at_gpu("/instances/0/size", 0), "size"},
      {"a size beyond any", at_gpu("/instances/0/size", 1'000'000'000'000), "size"},
      {"half a slice", at_gpu("/instances/0/size", 0.5), "size"},
      {"a profile that is a name", at_gpu("/instances/0/profile", "3g.40gb"), "profile"},
      {"compute that is a number", at_gpu("/instances/0/compute", 3), "compute"},
      {"compute of no slices", at_gpu("/instances/0/compute", {0}), "compute"},
      {"too much compute", at_gpu("/instances/0/compute", std::vector(17, 1)), "compute"},
      {"a time that is none", with("/deadline", "soon"), "deadline"},
      {"a novel for trouble", with("/trouble", std::string(2001, 'x')), "trouble"},
  };
  for (const auto& one : cases) {
    const auto read = decode_journal(one.text);
    ASSERT_FALSE(read) << one.name;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument) << one.name;
    EXPECT_THAT(read.error().what, HasSubstr(one.why)) << one.name;
  }
}

RC_GTEST_PROP(JournalProperties, AnyLayoutsComeBack, ()) {
  auto one = journal();
  one.from.clear();
  one.to.clear();
  const auto any_instance = [] {
    return Instance{.profile_id = *rc::gen::inRange(0, 60),
                    .placement = {*rc::gen::inRange(0, 12), *rc::gen::inRange(1, 13)},
                    .compute = *rc::gen::resize(
                        7, rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 8)))};
  };
  const int gpus = *rc::gen::inRange(0, 9);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    for (auto* layout : {&one.from, &one.to}) {
      auto& of_gpu = (*layout)[gpu::GpuUuid{fmt::format("GPU-{}", gpu)}];
      of_gpu.enabled = *rc::gen::arbitrary<bool>();
      for (int i = of_gpu.enabled ? *rc::gen::inRange(0, 8) : 0; i > 0; --i) {
        of_gpu.instances.push_back(any_instance());
      }
    }
  }
  const auto read = decode_journal(encode(one));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == one);
}

}  // namespace
}  // namespace tranche::mig::journal_test
