#include "load/load.h"

#include <fmt/format.h>

#include "base/json_fields.h"

namespace tranche::load {
namespace {

// Reads fields of one object. What is missing keeps its value: the writer is this program.
class Reader {
 public:
  explicit Reader(const json::Fields& fields) : fields_(fields) {}

  template <class T>
  void field(std::string_view name, T& out) const {
    if (fields_.has(name)) out = fields_.need<T>(name);
  }
  void field(std::string_view name, Bytes& out) const { field(name, out.value); }
  void field(std::string_view name, nanoseconds& out) const {
    nanoseconds::rep value = out.count();
    field(name, value);
    out = nanoseconds(value);
  }
  template <class E>
  void enumeration(std::string_view name, E& out, E last) const {
    if (!fields_.has(name)) return;
    out = static_cast<E>(fields_.need_number(name, 0, static_cast<std::int64_t>(last)));
  }

  const json::Fields& fields() const { return fields_; }

 private:
  const json::Fields& fields_;
};

template <class T>
Result<T> read(json::View json, std::string_view what, void (*fill)(const Reader&, T&)) {
  if (json.kind() != json::Kind::kObject) {
    return fail(Code::kInvalidArgument, fmt::format("no {}", what));
  }
  auto value = json::read_fields(json, [&](const json::Fields& fields) {
    T out;
    fill(Reader(fields), out);
    return out;
  });
  if (!value) return std::unexpected(std::move(value).error().with_context(what));
  return value;
}

json::Value latency_json(const Percentiles& latency) {
  return {{"count", latency.count},     {"mean", latency.mean.count()},
          {"p50", latency.p50.count()}, {"p90", latency.p90.count()},
          {"p99", latency.p99.count()}, {"max", latency.max.count()}};
}

std::optional<Percentiles> read_latency(const json::Fields& report) {
  const auto found = report.view().find("latency");
  if (!found || found->kind() != json::Kind::kObject) return std::nullopt;
  const auto fields = report.need_object("latency");
  const Reader reader(fields);
  Percentiles latency;
  reader.field("count", latency.count);
  reader.field("mean", latency.mean);
  reader.field("p50", latency.p50);
  reader.field("p90", latency.p90);
  reader.field("p99", latency.p99);
  reader.field("max", latency.max);
  return latency;
}

void fill_load(const Reader& reader, Load& load) {
  reader.enumeration("pattern", load.pattern, Pattern::kFault);
  reader.field("name", load.name);
  reader.field("driver", load.driver);
  reader.field("device", load.device);
  reader.field("memory", load.memory);
  reader.field("allMemory", load.all_memory);
  reader.field("chunk", load.chunk);
  reader.enumeration("family", load.family, Family::kArray);
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
  reader.enumeration("time", load.time, TimeBase::kDevice);
}

void fill_device(const Reader& reader, DeviceInfo& info) {
  reader.field("name", info.name);
  reader.field("memory", info.memory);
  reader.field("computeMode", info.compute_mode);
  reader.field("roundsPerUs", info.rounds_per_us);
}

void fill_report(const Reader& reader, Report& report) {
  reader.field("name", report.name);
  reader.field("pid", report.pid);
  reader.field("memory", report.memory);
  reader.field("launches", report.launches);
  reader.field("work", report.work);
  reader.field("elapsed", report.elapsed);
  reader.field("refused", report.refused);
  reader.field("error", report.error);
  report.latency = read_latency(reader.fields());
}

double seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

double Report::launches_per_second() const {
  return elapsed.count() > 0 ? static_cast<double>(launches) / seconds(elapsed) : 0;
}

double Report::gpu_percent() const {
  return elapsed.count() > 0 ? 100 * seconds(work) / seconds(elapsed) : 0;
}

json::Value to_json(const Load& load) {
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

Result<Load> load_from_json(json::View json) { return read<Load>(json, "load", fill_load); }

json::Value to_json(const DeviceInfo& info) {
  return {{"name", info.name},
          {"memory", info.memory.value},
          {"computeMode", info.compute_mode},
          {"roundsPerUs", info.rounds_per_us}};
}

Result<DeviceInfo> device_from_json(json::View json) {
  return read<DeviceInfo>(json, "device", fill_device);
}

json::Value to_json(const Report& report) {
  json::Value json = {{"name", report.name},
                      {"pid", report.pid},
                      {"memory", report.memory.value},
                      {"launches", report.launches},
                      {"work", report.work.count()},
                      {"elapsed", report.elapsed.count()},
                      {"launchesPerSecond", report.launches_per_second()},
                      {"gpuPercent", report.gpu_percent()}};
  json["latency"] = report.latency ? latency_json(*report.latency) : json::Value();
  json["refused"] = report.refused;
  json["error"] = report.error;
  return json;
}

Result<Report> report_from_json(json::View json) {
  return read<Report>(json, "report", fill_report);
}

}  // namespace tranche::load
