#include "load/worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

#include "load/work.h"

namespace tranche::load {
namespace {

void say(const json::Value& json) {
  fmt::print("{}\n", json.text());
  std::fflush(stdout);
}

// False: standard input ended first.
bool wait_for_go() {
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) == 1) {
    if (byte == '\n') return true;
  }
  return false;
}

Result<void> prepare(const Load& load, Gpu& gpu, Memory& memory) {
  TRY(memory.take(load));
  if (load.pattern != Pattern::kHold) TRY(gpu.calibrate());
  return {};
}

json::Value failed(const Error& error, const Memory* memory) {
  json::Value json = {{"failed", error.message()}, {"noDevice", error.code == Code::kNotFound}};
  if (memory != nullptr) json["memory"] = memory->held().value;
  return json;
}

void work(const Load& load, Gpu& gpu) {
  Memory memory(gpu);
  if (const auto prepared = prepare(load, gpu, memory); !prepared) {
    say(failed(prepared.error(), &memory));
    return;
  }
  Report report{
      .name = load.name, .pid = ::getpid(), .memory = memory.held(), .refused = memory.refused()};
  json::Value ready = to_json(gpu.info());
  ready["memoryHeld"] = memory.held().value;
  say({{"ready", ready}});
  if (!wait_for_go()) return;
  Stop stop(STDIN_FILENO);
  if (const auto done = do_work(load, gpu, memory, stop, report); !done) {
    report.error = done.error().message();
  }
  say({{"report", to_json(report)}});
}

}  // namespace

int run_worker(const std::string& text) {
  // The terminal interrupts the whole group; the process that started the workers tells them to
  // stop.
  std::signal(SIGINT, SIG_IGN);
  const auto load = load_from_json(json::parse_strict(text).value_or(json::View()));
  if (!load) {
    fmt::print(stderr, "tranche-load worker: {}\n", load.error().message());
    return 2;
  }
  auto gpu = Gpu::open(*load);
  if (!gpu) {
    say(failed(gpu.error(), nullptr));
    return 0;
  }
  work(*load, **gpu);
  return 0;
}

}  // namespace tranche::load
