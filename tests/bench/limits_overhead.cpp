// What libtranche-limit.so adds to the driver's calls: the same loops without it and with it, in
// turn, on a simulated driver that does next to nothing (TRANCHE_SIM_CUDA=constant). Figures are ns
// a call, medians within a round and over the rounds.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>

#include "limits/limited/outer.h"

namespace tranche::test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using sim::cuda::test::Cuda;
using sim::cuda::test::kSpin;
using sim::cuda::test::Program;
using sim::test::World;
using Clock = std::chrono::steady_clock;

void* volatile function_sink;

// Set: only the start is measured.
constexpr const char* kLoadAlone = "TRANCHE_LOAD_ALONE";

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// The median of a hundred parts: few of them are disturbed by other processes.
template <class Body>
double each(int count, Body body) {
  constexpr int kParts = 100;
  std::vector<double> parts;
  for (int part = 0; part < kParts; ++part) {
    const auto begin = Clock::now();
    for (int i = 0; i < count / kParts; ++i) body(i);
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    parts.push_back(took.count() * kParts / count);
  }
  return median(std::move(parts));
}

// Of this thread.
double cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// One line for each figure: "<name> <ns>".
int measure() {
  const auto loaded = Clock::now();
  const double cpu = cpu_ns();
  const Cuda cuda;
  if (cuda.cuInit(0) != CUDA_SUCCESS) return 1;
  std::printf("load+cuInit,cpu %f\n", cpu_ns() - cpu);
  const std::chrono::duration<double, std::nano> load = Clock::now() - loaded;
  std::printf("load+cuInit %f\n", load.count());
  if (std::getenv(kLoadAlone) != nullptr) return 0;
  Program program;
  const CUfunction kernel = program.function(kSpin, "spin");
  std::uint64_t ns = 10;
  void* parameters[] = {&ns};
  const auto launch = [&](int) {
    cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
  };
  each(20'000, launch);  // its estimate is learned here
  std::printf("launch %f\n", each(2'000'000, launch));
  std::vector<CUdeviceptr> live;
  for (const std::size_t blocks : {std::size_t{0}, std::size_t{50'000}}) {
    while (live.size() < blocks) live.push_back(program.allocate(512));
    CUdeviceptr address = 0;
    std::printf("alloc+free,%zu-live %f\n", blocks, each(300'000, [&](int) {
                  cuda.cuMemAlloc_v2(&address, 512);
                  cuda.cuMemFree_v2(address);
                }));
  }
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  std::printf("cuGetProcAddress,hooked %f\n", each(300'000, [&](int) {
                cuda.cuGetProcAddress_v2("cuMemAlloc", &function, 3020, 0, &status);
              }));
  std::printf("cuGetProcAddress,other %f\n", each(300'000, [&](int) {
                cuda.cuGetProcAddress_v2("cuMemHostAlloc", &function, 2020, 0, &status);
              }));
  std::size_t free = 0;
  std::size_t total = 0;
  std::printf("cuMemGetInfo %f\n",
              each(300'000, [&](int) { cuda.cuMemGetInfo_v2(&free, &total); }));
  std::printf("dlsym(malloc) %f\n",
              each(300'000, [](int) { function_sink = dlsym(RTLD_DEFAULT, "malloc"); }));
  return 0;
}

struct Figures {
  std::vector<std::string> names;
  std::map<std::string, std::vector<double>> values;
};

int round(char** arguments, bool preload, const std::filesystem::path& out, Figures& figures) {
  const int saved = dup(STDOUT_FILENO);
  if (std::freopen(out.c_str(), "w", stdout) == nullptr) return complain("figures");
  const int status = run_inner(arguments, preload, {{"TRANCHE_SIM_CUDA", "constant"}});
  std::fflush(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  std::ifstream file(out);
  std::string name;
  for (double value = 0; file >> name >> value;) {
    if (std::ranges::find(figures.names, name) == figures.names.end())
      figures.names.push_back(name);
    figures.values[name].push_back(value);
  }
  return status;
}

int compare(char** arguments) {
  constexpr int kRounds = 9;
  constexpr int kLoads = 60;
  const World world("l20");
  auto limits = part_of(world, 20 * kGiB);
  limits.enforcement = Enforcement::kElastic;
  const Container container({limits});
  Figures without;
  Figures with;
  for (int i = 0; i < kRounds; ++i) {
    if (round(arguments, false, "/run/figures", without) != 0) return 1;
    if (round(arguments, true, "/run/figures", with) != 0) return 1;
  }
  setenv(kLoadAlone, "1", 1);
  for (int i = 0; i < kLoads; ++i) {
    if (round(arguments, false, "/run/figures", without) != 0) return 1;
    if (round(arguments, true, "/run/figures", with) != 0) return 1;
  }
  std::printf("%-26s %12s %12s %12s\n", "ns", "no library", "library", "added");
  for (const auto& name : without.names) {
    const double before = median(without.values[name]);
    const double after = median(with.values[name]);
    std::printf("%-26s %12.1f %12.1f %12.1f\n", name.c_str(), before, after, after - before);
  }
  return 0;
}

}  // namespace
}  // namespace tranche::test

int main(int, char** arguments) {
  using namespace tranche::test;  // NOLINT(google-build-using-namespace)
  return is_inner() ? measure() : with_arbiter([&] { return compare(arguments); });
}
