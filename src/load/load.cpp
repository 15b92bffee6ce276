#include "load/load.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace tranche::load {
namespace {

// Reads fields of one object. What is missing keeps its value: the writer is this program.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  template <class T>
  void field(const char* name, T& out) {
    if (const auto found = json_.find(name); found != json_.end()) found->get_to(out);
  }
  void field(const char* name, Bytes& out) { field(name, out.value); }
  void field(const char* name, nanoseconds& out) {
    nanoseconds::rep value = out.count();
    field(name, value);
    out = nanoseconds(value);
  }
  template <class E>
  void enumeration(const char* name, E& out) {
    auto value = static_cast<std::uint8_t>(out);
    field(name, value);
    out = static_cast<E>(value);
  }

 private:
  const Json& json_;
};

// nlohmann throws; nothing above this file does.
template <class T, class Read>
Result<T> read(const Json& json, const char* what, Read&& fields) {
  if (!json.is_object()) return fail(Code::kInvalidArgument, fmt::format("no {}", what));
  T out;
  try {
    Reader reader(json);
    fields(reader, out);
  } catch (const Json::exception& error) {
    return fail(Code::kInvalidArgument, fmt::format("{}: {}", what, error.what()));
  }
  return out;
}

Json latency_json(const Percentiles& latency) {
  return {{"count", latency.count},     {"mean", latency.mean.count()},
          {"p50", latency.p50.count()}, {"p90", latency.p90.count()},
          {"p99", latency.p99.count()}, {"max", latency.max.count()}};
}

void read_latency(const Json& json, std::optional<Percentiles>& out) {
  const auto found = json.find("latency");
  if (found == json.end() || !found->is_object()) return;
  Reader reader(*found);
  Percentiles& latency = out.emplace();
  reader.field("count", latency.count);
  reader.field("mean", latency.mean);
  reader.field("p50", latency.p50);
  reader.field("p90", latency.p90);
  reader.field("p99", latency.p99);
  reader.field("max", latency.max);
}

double seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

double Report::launches_per_second() const {
  return elapsed.count() > 0 ? static_cast<double>(launches) / seconds(elapsed) : 0;
}

double Report::gpu_percent() const {
  return elapsed.count() > 0 ? 100 * seconds(work) / seconds(elapsed) : 0;
}

Json to_json(const Load& load) {
  return {{"pattern", static_cast<std::uint8_t>(load.pattern)},
          {"name", load.name},
          {"driver", load.driver},
          {"device", load.device},
          {"memory", load.memory.value},
          {"allMemory", load.all_memory},
          {"chunk", load.chunk.value},
          {"family", static_cast<std::uint8_t>(load.family)},
          {"scratch", load.scratch.value},
          {"kernel", load.kernel.count()},
          {"graphNodes", load.graph_nodes},
          {"spin", load.spin},
          {"fill", load.fill},
          {"roundsPerUs", load.rounds_per_us},
          {"duty", load.duty},
          {"depth", load.depth},
          {"every", load.every.count()},
          {"duration", load.duration.count()},
          {"count", load.count},
          {"time", static_cast<std::uint8_t>(load.time)}};
}

Result<Load> load_from_json(const Json& json) {
  return read<Load>(json, "load", [](Reader& reader, Load& load) {
    reader.enumeration("pattern", load.pattern);
    reader.field("name", load.name);
    reader.field("driver", load.driver);
    reader.field("device", load.device);
    reader.field("memory", load.memory);
    reader.field("allMemory", load.all_memory);
    reader.field("chunk", load.chunk);
    reader.enumeration("family", load.family);
    reader.field("scratch", load.scratch);
    reader.field("kernel", load.kernel);
    reader.field("graphNodes", load.graph_nodes);
    reader.field("spin", load.spin);
    reader.field("fill", load.fill);
    reader.field("roundsPerUs", load.rounds_per_us);
    reader.field("duty", load.duty);
    reader.field("depth", load.depth);
    reader.field("every", load.every);
    reader.field("duration", load.duration);
    reader.field("count", load.count);
    reader.enumeration("time", load.time);
  });
}

Json to_json(const DeviceInfo& info) {
  return {{"name", info.name},
          {"memory", info.memory.value},
          {"computeMode", info.compute_mode},
          {"roundsPerUs", info.rounds_per_us}};
}

Result<DeviceInfo> device_from_json(const Json& json) {
  return read<DeviceInfo>(json, "device", [](Reader& reader, DeviceInfo& info) {
    reader.field("name", info.name);
    reader.field("memory", info.memory);
    reader.field("computeMode", info.compute_mode);
    reader.field("roundsPerUs", info.rounds_per_us);
  });
}

Json to_json(const Report& report) {
  Json json = {{"name", report.name},
               {"pid", report.pid},
               {"memory", report.memory.value},
               {"launches", report.launches},
               {"work", report.work.count()},
               {"elapsed", report.elapsed.count()},
               {"launchesPerSecond", report.launches_per_second()},
               {"gpuPercent", report.gpu_percent()}};
  json["latency"] = report.latency ? latency_json(*report.latency) : Json();
  json["refused"] = report.refused;
  json["error"] = report.error;
  return json;
}

Result<Report> report_from_json(const Json& json) {
  return read<Report>(json, "report", [&](Reader& reader, Report& report) {
    reader.field("name", report.name);
    reader.field("pid", report.pid);
    reader.field("memory", report.memory);
    reader.field("launches", report.launches);
    reader.field("work", report.work);
    reader.field("elapsed", report.elapsed);
    reader.field("refused", report.refused);
    reader.field("error", report.error);
    read_latency(json, report.latency);
  });
}

}  // namespace tranche::load
