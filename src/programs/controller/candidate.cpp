#include "controller/candidate.h"

#include "base/pause.h"

namespace tranche::controller {

Candidate::Candidate(const WorkerContext& context, const Elector::Options& options)
    : elector_(context.objects, options, context.clock, context.log),
      retry_(options.retry),
      thread_([this](const std::stop_token& stop) {
        do {
          elector_.attempt(stop);
        } while (pause(retry_, stop));
      }) {}

Candidate::~Candidate() {
  thread_.request_stop();
  thread_.join();
  elector_.release();
}

}  // namespace tranche::controller
