#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "mps/protocol.h"
#include "mps/protocol2/commands.h"

namespace tranche::mps {
namespace {

// A live daemon answers this with a number.
constexpr const char* kQuestion = "get_default_active_thread_percentage";

std::string_view without_end(std::string_view line) {
  return line.substr(0, line.find_last_not_of(" \t\r") + 1);
}

// "25.0", and nothing else on the line.
bool is_percentage(std::string_view line) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(line.data(), line.data() + line.size(), value, std::chars_format::fixed);
  return error == std::errc() && end == line.data() + line.size() && value > 0 && value <= 100;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A digit is not enough: errors have numbers too. Other lines are the program's warnings, which
// come with the answer.
Result<void> judge_percentage(const std::string& answer, const std::filesystem::path& /*log*/) {
  std::istringstream lines(answer);
  for (std::string line; std::getline(lines, line);) {
    if (is_percentage(without_end(line))) return {};
  }
  return fail(Code::kUnavailable,
              fmt::format("{}: {} is answered by '{}'", kControlProgram, kQuestion, words(answer)));
}

Order typed(std::string line) { return {.arguments = {}, .input = std::move(line)}; }

std::vector<Order> typed_each(const std::vector<std::string>& lines) {
  std::vector<Order> orders;
  orders.reserve(lines.size());
  for (const auto& line : lines) orders.push_back(typed(line));
  return orders;
}

// The protocol as NVIDIA's mps-control-daemon uses it: one process for each command of the daemon's
// shell.
class Protocol2 final : public Protocol {
 public:
  int number() const override { return 2; }
  Since since() const override { return {}; }
  bool has_namespaces() const override { return false; }

  Start start(const Daemon& daemon, const std::filesystem::path& /*file*/) const override {
    Start start;
    start.orders = typed_each(default_commands(daemon));
    Order first{.arguments = {"-d"}, .input = {}};
    if (has_partitions(daemon)) first.arguments.emplace_back("-S");
    start.orders.insert(start.orders.begin(), std::move(first));
    return start;
  }
  Order quit() const override { return typed("quit"); }
  Question alive() const override { return {.order = typed(kQuestion), .judge = judge_percentage}; }

  std::vector<Order> change(const Daemon& before, const Daemon& daemon) const override {
    return typed_each(retune_commands(before, daemon));
  }
  std::optional<Order> servers_question() const override { return typed("get_server_list"); }
  std::vector<Order> change_servers(const Daemon& before, const Daemon& daemon,
                                    const std::string& servers) const override {
    std::vector<Order> orders;
    std::istringstream lines(servers);
    for (std::string line; std::getline(lines, line);) {
      const std::string server(without_end(line));
      // Other lines may contain numbers that are not servers.
      if (server.empty() || !std::ranges::all_of(server, is_digit)) continue;
      std::ranges::move(typed_each(retune_server_commands(before, daemon, server)),
                        std::back_inserter(orders));
    }
    return orders;
  }

  Order chunks_question() const override { return typed("lspart"); }
  std::optional<int> chunks_of(const std::string& answer, std::string_view uuid) const override {
    std::istringstream lines(answer);
    for (std::string line; std::getline(lines, line);) {
      if (const auto chunks = lspart_chunks(line, uuid)) return chunks;
    }
    return std::nullopt;
  }
  Order add_partition(const DaemonDevice& device, int /*replica*/, int chunks) const override {
    return typed(fmt::format("sm_partition add {} {}", device.uuid, chunks));
  }
};

}  // namespace

const Protocol& protocol2() {
  static const Protocol2 one;
  return one;
}

}  // namespace tranche::mps
