#include "top/view/session.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/fs.h"
#include "top/view/testing.h"

namespace tranche::top {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of_frame(const std::vector<Line>& lines) {
  std::string text;
  for (const auto& line : lines) text += (line.selected ? ">" : " ") + text_of(line) + '\n';
  return text;
}

// TRANCHE_UPDATE_GOLDEN=1 writes the files anew.
void expect_golden(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::absolute("src/programs/top/view/testdata/" + name);
  if (std::getenv("TRANCHE_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(FsRoot().write_atomic(path, text));
  }
  const auto golden = FsRoot().read(path);
  ASSERT_TRUE(golden) << golden.error().message();
  EXPECT_EQ(text, *golden) << name;
}

class SessionTest : public ::testing::Test {
 protected:
  void take(Reading reading) { session_.take(std::make_shared<const Reading>(std::move(reading))); }
  void type(std::string_view text) {
    for (const char c : text) EXPECT_TRUE(session_.press({Key::kCharacter, c}));
  }
  void press(Key key, int times = 1) {
    for (int i = 0; i < times; ++i) EXPECT_TRUE(session_.press({key}));
  }
  std::string frame(std::size_t columns = 120, std::size_t lines = 24) {
    return text_of_frame(session_.frame({columns, lines}, status_));
  }
  std::string selected() {
    for (const auto& line : session_.frame({200, 40}, status_)) {
      if (line.selected) return text_of(line).substr(0, 40);
    }
    return {};
  }

  Session session_{Settings{}};
  Status status_{.from = "agent http://localhost:9400", .age = 0.4};
};

TEST_F(SessionTest, FramesOfANode) {
  for (int second = 0; second < 60; second += 2) {
    auto reading = testing::node_reading();
    reading.fleet.taken_at = testing::at(second);
    auto& usage = reading.fleet.nodes[0].usage;
    usage.gpus[0].utilization = second / 60.0;
    take(std::move(reading));
  }
  for (const std::size_t columns : {80, 120, 200}) {
    expect_golden(fmt::format("node-{}.txt", columns), frame(columns));
  }
}

TEST_F(SessionTest, FramesOfACluster) {
  take(testing::fleet_reading());
  status_.from = "controller https://c";
  for (const std::size_t columns : {80, 200}) {
    expect_golden(fmt::format("fleet-{}.txt", columns), frame(columns, 40));
  }
}

TEST_F(SessionTest, FramesInAscii) {
  Session ascii(Settings{.signs = {.ascii = true}});
  ascii.take(std::make_shared<const Reading>(testing::node_reading()));
  const auto text = text_of_frame(ascii.frame({120, 20}, status_));
  EXPECT_TRUE(
      std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  expect_golden("node-ascii-120.txt", text);
}

TEST_F(SessionTest, AFrameIsAsLargeAsTheScreen) {
  take(testing::fleet_reading());
  for (const bool help : {false, true}) {
    if (help) type("?");
    for (std::size_t columns = 1; columns < 130; ++columns) {
      for (std::size_t lines = 1; lines < 12; ++lines) {
        const auto frame = session_.frame({columns, lines}, status_);
        ASSERT_EQ(frame.size(), lines);
        for (const auto& line : frame) {
          std::string text;
          for (const auto& span : line.spans) text += span.text;
          ASSERT_EQ(top::columns(text), columns) << columns << "x" << lines << ": " << text;
        }
      }
    }
  }
}

TEST_F(SessionTest, WithoutAReadingItSaysWhy) {
  status_ = {.from = "agent x", .trouble = "no agent answers"};
  EXPECT_THAT(frame(), AllOf(HasSubstr("agent x"), HasSubstr("no agent answers")));
}

TEST_F(SessionTest, UnknownIsNotIdle) {
  take(testing::node_reading());
  const auto text = frame(120);
  EXPECT_THAT(text, ::testing::ContainsRegex("team-a/idle-0/main +[^ ]+ +0 "));
  EXPECT_THAT(text, ::testing::ContainsRegex("team-a/notebook-0/main +\\? "));
}

TEST_F(SessionTest, WhoUsesAGpuThatNobodyGaveItStandsOut) {
  auto reading = testing::node_reading();
  auto& stranger = reading.fleet.nodes[0].usage.containers[0];
  stranger.mechanism = usage::Mechanism::kNone;
  stranger.pod = "stranger";
  stranger.resource.clear();
  stranger.gpus = 0;
  take(std::move(reading));
  EXPECT_THAT(frame(200), ::testing::ContainsRegex("team-a/stranger/main .* no grant"));
  type("/mechanism=none");
  press(Key::kEnter);
  EXPECT_THAT(frame(200), AllOf(HasSubstr("stranger"), Not(HasSubstr("train-0"))));
}

TEST_F(SessionTest, NamesFromOutsideDoNoHarm) {
  auto reading = testing::node_reading();
  auto& usage = reading.fleet.nodes[0].usage;
  usage.containers[2].pod = "evil\x1b[2J\xe2\x80\xae\xf0\x9f\x92\xa9\n";
  usage.processes[1].name = "e\u0301\xff\x07";
  usage.gpus[0].model = std::string(100'000, 'M');
  take(std::move(reading));
  status_.from = "x\x1b]0;title\x07";
  for (const auto& line : session_.frame({100, 24}, status_)) {
    std::string text;
    for (const auto& span : line.spans) text += span.text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
    EXPECT_EQ(top::columns(text), 100U);
  }
  EXPECT_THAT(frame(), HasSubstr("evil?[2J???????"));
}

TEST_F(SessionTest, AFilterFromTheCommandLineIsPrintedWithoutControlCharacters) {
  Session session(Settings{.filter = Filter::parse("ns=\x1b[2J").value()});
  EXPECT_THAT(text_of_frame(session.frame({120, 24}, status_)), HasSubstr("filter: ns=?[2J"));
  session.press({Key::kCharacter, '/'});
  EXPECT_THAT(text_of_frame(session.frame({120, 24}, status_)), HasSubstr("filter: ns=?[2J_"));
}

TEST_F(SessionTest, WhatIsOnNoKnownGpuIsShown) {
  auto reading = testing::node_reading();
  reading.fleet.nodes[0].usage.gpus.clear();
  take(std::move(reading));
  EXPECT_THAT(frame(), AllOf(HasSubstr("team-a/train-0/main"), HasSubstr("team-b/mig-0/main"),
                             HasSubstr("99 Xorg")));
}

TEST_F(SessionTest, NamesThatAreNotToldAreNotInvented) {
  auto reading = testing::node_reading();
  auto& other = reading.fleet.nodes[0].usage.containers[0];
  other.ns = other.pod = other.container = "";
  take(std::move(reading));
  EXPECT_THAT(frame(), HasSubstr("(another namespace's)"));
}

TEST_F(SessionTest, SortsWithUnknownLast) {
  take(testing::node_reading());
  const auto order = [&] {
    const auto text = frame();
    std::string pods;
    for (std::size_t i = 0; i < text.size(); ++i) {
      for (const std::string pod : {"idle-0", "notebook-0", "train-0"}) {
        if (text.compare(i, pod.size(), pod) == 0) pods += pod.substr(0, 1);
      }
    }
    return pods;
  };
  EXPECT_EQ(order(), "int");
  type("s");
  EXPECT_EQ(session_.settings().sort, Sort::kMemory);
  EXPECT_EQ(order(), "tin");
  type("r");
  EXPECT_EQ(order(), "itn");
  type("sss");
  EXPECT_EQ(session_.settings().sort, Sort::kName);
  EXPECT_EQ(order(), "tni");
}

TEST_F(SessionTest, OneListHasContainersAndProcessesOfNobody) {
  take(testing::node_reading());
  type("t");
  const auto text = frame();
  EXPECT_THAT(text, AllOf(HasSubstr("team-a/train-0/main @0"), HasSubstr("team-b/mig-0/main @1"),
                          HasSubstr("99 Xorg (host) @0"), Not(HasSubstr("4711 python"))));
}

TEST_F(SessionTest, ProcessesOfContainersCanBeLeftOut) {
  take(testing::node_reading());
  EXPECT_THAT(frame(), HasSubstr("4711 python"));
  type("x");
  EXPECT_THAT(frame(), AllOf(Not(HasSubstr("4711 python")), HasSubstr("99 Xorg")));
}

TEST_F(SessionTest, TheCursorStaysOnItsRow) {
  take(testing::node_reading());
  press(Key::kDown, 3);
  EXPECT_THAT(selected(), HasSubstr("train-0"));
  auto reading = testing::node_reading();
  auto& containers = reading.fleet.nodes[0].usage.containers;
  auto more = testing::container("a-new-one", 1);
  containers.insert(containers.begin(), more);
  take(reading);
  EXPECT_THAT(selected(), HasSubstr("train-0"));
  // When its row goes, it stays where it was.
  std::erase_if(reading.fleet.nodes[0].usage.containers,
                [](const auto& container) { return container.pod == "train-0"; });
  take(reading);
  EXPECT_FALSE(selected().empty());
}

TEST_F(SessionTest, MovesAndScrolls) {
  take(testing::fleet_reading());
  press(Key::kEnd);
  EXPECT_THAT(frame(80, 6), AllOf(HasSubstr("> "), HasSubstr("NVIDIA L20"), HasSubstr("gpu-3")));
  press(Key::kHome);
  press(Key::kUp);
  EXPECT_THAT(selected(), HasSubstr("gpu-1"));
  press(Key::kPageDown, 100);
  EXPECT_THAT(selected(), HasSubstr("NVIDIA L20"));
  type("gjjk");
  EXPECT_THAT(selected(), HasSubstr("0 Tesla T4"));
}

TEST_F(SessionTest, ClosesAndOpens) {
  take(testing::node_reading());
  press(Key::kLeft);
  EXPECT_THAT(frame(), AllOf(HasSubstr("▸ 0 Tesla T4"), Not(HasSubstr("train-0"))));
  press(Key::kEnter);
  EXPECT_THAT(frame(), HasSubstr("train-0"));
  type("C");
  EXPECT_THAT(frame(), Not(HasSubstr("team-")));
  type("C");
  EXPECT_THAT(frame(), HasSubstr("team-b"));
  // From what cannot be closed to what it is part of.
  press(Key::kDown, 2);
  press(Key::kLeft);
  EXPECT_THAT(selected(), HasSubstr("Tesla T4"));
}

TEST_F(SessionTest, FiltersAndComplains) {
  take(testing::node_reading());
  type("/memm>1");
  EXPECT_THAT(frame(), HasSubstr("filter: memm>1_"));
  press(Key::kEnter);
  EXPECT_THAT(frame(), HasSubstr("column 1: no field 'memm'; did you mean mem?"));
  press(Key::kClear);
  type("mem>1Giq");
  press(Key::kBackspace);
  press(Key::kEnter);
  EXPECT_THAT(frame(),
              AllOf(HasSubstr("train-0"), Not(HasSubstr("idle-0")), HasSubstr("filter: mem>1Gi")));
  type("/");
  press(Key::kClear);
  type("ns=nobody");
  press(Key::kEnter);
  EXPECT_THAT(frame(), HasSubstr("nothing matches the filter"));
  press(Key::kEscape);
  EXPECT_THAT(frame(), HasSubstr("idle-0"));
  // Esc leaves the prompt, and nothing else.
  type("/zzz");
  press(Key::kEscape);
  EXPECT_FALSE(session_.settings().filter);
}

TEST_F(SessionTest, Finds) {
  take(testing::node_reading());
  type("fMIG");
  press(Key::kEnter);
  EXPECT_THAT(selected(), HasSubstr("MIG 1g.10gb"));
  type("n");
  EXPECT_THAT(selected(), HasSubstr("mig-0"));
  type("n");
  EXPECT_THAT(selected(), HasSubstr("MIG 1g.10gb"));
  type("N");
  EXPECT_THAT(selected(), HasSubstr("mig-0"));
  type("fnowhere");
  press(Key::kEnter);
  EXPECT_THAT(frame(), HasSubstr("nothing here is called 'nowhere'"));
}

TEST_F(SessionTest, Pauses) {
  take(testing::node_reading());
  type(" ");
  auto reading = testing::node_reading();
  reading.fleet.nodes[0].usage.containers.clear();
  take(reading);
  EXPECT_THAT(frame(), AllOf(HasSubstr("paused"), HasSubstr("train-0")));
  type(" ");
  take(reading);
  EXPECT_THAT(frame(), AllOf(Not(HasSubstr("paused")), Not(HasSubstr("team-a/train-0/main"))));
}

TEST_F(SessionTest, HelpAndQuit) {
  take(testing::node_reading());
  type("?");
  EXPECT_THAT(frame(120, 60), AllOf(HasSubstr("PgUp PgDn"), HasSubstr("waited ")));
  type("q");  // leaves the help
  EXPECT_THAT(frame(), HasSubstr("train-0"));
  EXPECT_FALSE(session_.press({Key::kCharacter, 'q'}));
}

TEST_F(SessionTest, KeysWithoutAReadingDoNoHarm) {
  for (const auto key :
       {Key::kUp, Key::kDown, Key::kLeft, Key::kRight, Key::kPageUp, Key::kPageDown, Key::kHome,
        Key::kEnd, Key::kEnter, Key::kEscape, Key::kBackspace, Key::kClear}) {
    press(key);
  }
  type("gGnNCsrtxfa");
  press(Key::kEnter);
  EXPECT_THAT(frame(), HasSubstr("nothing here is called"));
}

TEST(Page, SaysWhoDoesNotReport) {
  const auto text = page_text(testing::fleet_reading(), {}, {}, {.from = "controller c"}, 160);
  EXPECT_THAT(
      text, AllOf(HasSubstr("1 of 3 nodes reporting"),
                  HasSubstr("not reporting: gpu-2 (stale: no answer in time), gpu-3 "
                            "(silent: no agent runs there)"),
                  HasSubstr("1 Pod waiting: not-enough 1"), HasSubstr("gpu-2 (stale) [cordoned]")));
}

TEST(History, KeepsAMinuteOfWhatIsThere) {
  History history;
  const auto id = gpu_id("gpu-1", "GPU-0");
  auto reading = testing::node_reading();
  auto& gpu = reading.fleet.nodes[0].usage.gpus[0];
  for (int second = 0; second <= 120; second += 10) {
    reading.fleet.taken_at = testing::at(second);
    gpu.utilization = second < 100 ? std::optional(0.5) : std::nullopt;
    history.add(reading);
  }
  // 70 to 90 s are half, 100 to 120 s unknown.
  const auto parts = history.of(id, 6);
  const std::vector<std::optional<double>> expected = {0.5, 0.5, 0.5, {}, {}, {}};
  EXPECT_EQ(parts.size(), 6U);
  EXPECT_EQ(parts[1], 0.5);
  EXPECT_EQ(parts[5], std::nullopt);
  reading.fleet.nodes[0].usage.gpus.clear();
  reading.fleet.taken_at = testing::at(121);
  history.add(reading);
  EXPECT_EQ(history.of(id, 2), (std::vector<std::optional<double>>{{}, {}}));
}

}  // namespace
}  // namespace tranche::top
