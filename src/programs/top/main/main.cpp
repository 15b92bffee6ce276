// tranche-top: who uses what of the GPUs, live in a terminal or once. `tranche top` starts it.

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "base/exit_code.h"
#include "base/json_yaml.h"
#include "config/flags/command_line.h"
#include "config/programs/top_options.h"
#include "setup.h"
#include "top/source/poller.h"
#include "top/source/recording.h"
#include "top/view/session.h"

extern char** environ;

namespace tranche::top {
namespace {

using config::TopOptions;
using std::chrono::milliseconds;

constexpr milliseconds kKeyWait{250};
constexpr milliseconds kLongestEnd{1000};
constexpr milliseconds kBetweenSamples{1000};
constexpr std::size_t kWidthOfPipe = 120;
constexpr std::size_t kNarrowest = 40;
constexpr int kMostKeysAtOnce = 100;

int end(const Error& error, int code) {
  fmt::print(stderr, "tranche top: {}\n", error.message());
  return code;
}

// What was asked for cannot be reached, but for what the command line says wrongly.
int exit_code_of(const Error& error, const TopOptions& options) {
  const bool usage = error.code == Code::kInvalidArgument ||
                     error.code == Code::kFailedPrecondition ||
                     options.from == TopOptions::From::kReplay;
  return usage ? kExitUsage : kExitUnreachable;
}

std::size_t output_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::max<std::size_t>(size.ws_col, kNarrowest);
  }
  const char* const text = std::getenv("COLUMNS");
  const int asked = text == nullptr ? 0 : std::atoi(text);
  return asked > 0 ? std::clamp<std::size_t>(static_cast<std::size_t>(asked), kNarrowest, 1000)
                   : kWidthOfPipe;
}

// How busy processes are is told of the time between two readings.
Result<Reading> read_twice(Source& source, const TopOptions& options) {
  auto reading = source.read({});
  if (!reading || options.from != TopOptions::From::kLocal) return reading;
  std::this_thread::sleep_for(kBetweenSamples);
  return source.read({});
}

Result<Reading> read_one(Source& source, const TopOptions& options) {
  if (auto* replay = dynamic_cast<Replay*>(&source)) return replay->last();
  return read_twice(source, options);
}

int print_once(Source& source, const TopOptions& options, const Settings& settings) {
  const auto reading = read_one(source, options);
  if (!reading) return end(reading.error(), exit_code_of(reading.error(), options));
  if (!options.record.empty()) {
    const auto recorder = Recorder::open(options.record, options.record_limit);
    if (!recorder) return end(recorder.error(), kExitFinding);
    if (const auto kept = (*recorder)->append(*reading); !kept)
      return end(kept.error(), kExitFinding);
  }
  if (options.output != config::OutputForm::kTable) {
    const auto text = recorded_text(*reading);
    fmt::print("{}",
               options.output == config::OutputForm::kJson ? text + '\n' : json::to_yaml(text));
    return kExitFine;
  }
  History history;
  history.add(*reading);
  const Status status{.from = source.name(), .note = source.note()};
  fmt::print("{}", page_text(*reading, settings, history, status, output_width()));
  return kExitFine;
}

Status status_of(const Poller::Latest& latest) {
  Status status{.from = latest.name, .trouble = latest.trouble, .note = latest.note};
  if (latest.ended) status.note = "the recording has ended";
  if (!latest.reading) return status;
  using Seconds = std::chrono::duration<double>;
  status.age = Seconds(std::chrono::steady_clock::now() - latest.at).count();
  const auto& fleet = latest.reading->fleet;
  if (!latest.reading->cluster && !fleet.nodes.empty() && fleet.nodes.front().usage.age) {
    *status.age += Seconds(*fleet.nodes.front().usage.age).count();
  }
  if (latest.ended) status.age.reset();
  return status;
}

// False: the user ends it, or the terminal is gone.
bool take_keys(Terminal& terminal, Session& session) {
  auto press = terminal.next_key(kKeyWait);
  for (int i = 0; press && i < kMostKeysAtOnce; ++i) {
    if (!session.press(*press)) return false;
    press = terminal.next_key(milliseconds(0));
  }
  return !terminal.closed();
}

void show(Terminal& terminal, Poller& poller, Settings settings) {
  Session session(std::move(settings));
  std::size_t taken = 0;
  do {
    const auto latest = poller.latest();
    if (latest.number != taken) session.take(latest.reading);
    taken = latest.number;
    terminal.draw(session.frame(terminal.size(), status_of(latest)));
    poller.hold(session.paused());
  } while (take_keys(terminal, session));
}

int show_live(std::unique_ptr<Source> source, const TopOptions& options, Settings settings,
              Theme theme) {
  std::unique_ptr<Recorder> recorder;
  if (!options.record.empty()) {
    auto opened = Recorder::open(options.record, options.record_limit);
    if (!opened) return end(opened.error(), kExitFinding);
    recorder = *std::move(opened);
  }
  auto terminal = Terminal::open(theme);
  if (!terminal) return end(terminal.error(), kExitUsage);
  Poller poller(std::move(source), std::move(recorder), options.interval);
  show(**terminal, poller, std::move(settings));
  terminal->reset();
  if (!poller.stop(kLongestEnd)) {
    // A call to the driver hangs; nobody waits for it.
    std::fflush(stdout);
    ::_exit(kExitFine);
  }
  return kExitFine;
}

Environment read_environment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) {
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return environment;
}

int run(const std::vector<std::string_view>& arguments) {
  const bool has_locale = std::setlocale(LC_ALL, "") != nullptr;
  const bool utf8 = has_locale && std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  std::setlocale(LC_NUMERIC, "C");
  const auto parsed = config::parse_words(arguments, config::kUseTop);
  if (!parsed) return end(parsed.error(), kExitUsage);
  if (parsed->help || parsed->version) {
    fmt::print("tranche-top {}: run it as `tranche top`\n", TRANCHE_VERSION);
    return kExitFine;
  }
  const config::Sources sources{.flags = parsed->flags, .environment = read_environment()};
  const auto options = config::load_top_options(sources);
  if (!options) return end(options.error(), kExitUsage);
  auto settings = settings_of(*options, utf8);
  if (!settings) return end(settings.error(), kExitUsage);
  auto source = open_source(*options, sources);
  if (!source) return end(source.error(), exit_code_of(source.error(), *options));
  const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  if (options->once || !terminal) return print_once(**source, *options, *settings);
  return show_live(*std::move(source), *options, *std::move(settings),
                   theme_of(*options, sources.environment));
}

}  // namespace
}  // namespace tranche::top

int main(int argc, char** argv) {
  try {
    const int code = tranche::top::run(std::vector<std::string_view>(argv + 1, argv + argc));
    if (std::fflush(stdout) == 0) return code;
  } catch (const std::system_error& error) {
    // fmt throws when the output cannot be written.
    std::fprintf(stderr, "tranche top: the output cannot be written: %s\n", error.what());
    return 1;
  }
  std::fputs("tranche top: the output cannot be written\n", stderr);
  return 1;
}
