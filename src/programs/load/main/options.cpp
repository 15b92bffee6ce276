#include "load/main/options.h"

#include <map>

#include "base/json_yaml.h"
#include "base/quantity.h"
#include "load/duration.h"

namespace tranche::load {
namespace {

const std::map<std::string, Family> kFamilies = {
    {"alloc", Family::kAlloc}, {"pitch", Family::kPitch}, {"managed", Family::kManaged},
    {"async", Family::kAsync}, {"vmm", Family::kVmm},     {"array", Family::kArray}};
const std::map<std::string, TimeBase> kTimes = {{"host", TimeBase::kHost},
                                                {"device", TimeBase::kDevice}};

template <class T>
T value_or_usage(Result<T> read, const std::string& flags) {
  if (!read) throw CLI::ValidationError(flags, read.error().message());
  return *std::move(read);
}

template <class T>
void add_choice(CLI::App& app, const std::string& flags, const std::map<std::string, T>& known,
                T& out, const std::string& help) {
  const auto take = [&out, &known](const std::string& word) { out = known.at(word); };
  app.add_option_function<std::string>(flags, take, help)->check(CLI::IsMember(known));
}

}  // namespace

void add_duration(CLI::App& app, const std::string& flags, nanoseconds& out,
                  const std::string& help) {
  const auto take = [&out, flags](const std::string& text) {
    out = value_or_usage(parse_duration(text), flags);
  };
  app.add_option_function<std::string>(flags, take, help)->type_name("DURATION");
}

void add_size(CLI::App& app, const std::string& flags, Bytes& out, const std::string& help) {
  const auto take = [&out, flags](const std::string& text) {
    out = value_or_usage(parse_bytes(text), flags);
  };
  app.add_option_function<std::string>(flags, take, help)->type_name("SIZE");
}

void add_memory(CLI::App& app, Load& load) {
  const auto take = [&load](const std::string& text) {
    load.all_memory = text == "max";
    if (!load.all_memory) load.memory = value_or_usage(parse_bytes(text), "--memory");
  };
  app.add_option_function<std::string>(
         "--memory", take,
         "Device memory held, for example 315Mi; 'max' for as much as there is [0]. The "
         "context comes on top")
      ->type_name("SIZE");
  add_choice(app, "--family", kFamilies, load.family,
             "How it is asked for: cuMemAlloc, pitched, managed, stream-ordered, mapped "
             "(cuMemCreate), arrays [alloc]");
  add_size(app, "--chunk", load.chunk, "In pieces of this size [in one; with max: 64Mi]");
}

void add_machine(CLI::App& app, Load& load) {
  app.add_option("--device", load.device, "CUDA's number of the device [0]")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--driver", load.driver, "The driver's library [libcuda.so.1]");
  add_choice(app, "--time", kTimes, load.time,
             "Whose time is measured: host, or device (events; for the simulated driver in "
             "virtual time) [host]");
}

void add_kernels(CLI::App& app, Load& load) {
  app.add_flag("--spin", load.spin,
               "Kernels end by the GPU's clock, and not when their work is done");
  app.add_option("--fill", load.fill, "Percent of the multiprocessors that a kernel fills [100]")
      ->check(CLI::Range(1, 100));
  app.add_option("--rounds-per-us", load.rounds_per_us,
                 "Speed of the GPU, to measure it not anew: 'roundsPerUs' of an earlier -o json")
      ->check(CLI::NonNegativeNumber);
}

void add_output(CLI::App& app, std::string& format) {
  app.add_option("-o,--output", format, "table, json or yaml [table]")
      ->check(CLI::IsMember({"table", "json", "yaml"}));
}

std::string in_form(const std::string& json, const std::string& format) {
  return format == "yaml" ? json::to_yaml(json) : json;
}

}  // namespace tranche::load
