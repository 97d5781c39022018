#include "kernel/gpu/worker.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "base/transfer.h"
#include "kernel/compile/wire.h"
#include "kernel/gpu/confinement.h"
#include "kernel/gpu/device_session.h"
#include "kernel/sandbox/isolated_process.h"
#include "kernel/sandbox/private_root.h"

namespace kw {
namespace {

constexpr int exit_lost = 3;

class Worker {
 public:
  explicit Worker(int socket) : socket_(socket) {}

  int run(Confinement wanted, const NamespaceSet& namespaces) {
    // Where that is not allowed the driver says whether it can do without.
    if (namespaces.rest && ::getpid() == 1) static_cast<void>(mount_own_proc());
    auto session = DeviceSession::open();
    if (!session.ok()) {
      reply(GpuOutcome::refused, to_string(session.error()));
      return exit_lost;
    }
    session_ = std::move(session).value();
    GpuFacts facts = session_->facts();
    // Debuggers and sanitizers talk to the process in ways that the filter ends.
    const char* debugged = std::getenv("KERNELWRIGHT_GPU_DEBUG");
    if (debugged != nullptr && *debugged == '1') {
      facts.protection = "none: KERNELWRIGHT_GPU_DEBUG is set";
    } else {
      const bool worked = session_->try_out().ok();
      const auto confined = confine_gpu_worker(wanted, namespaces);
      facts.protection = confined.ok() ? confined->description : confined.error().message;
      facts.confined = confined.ok() && confined->full;
      // What the driver needs later it has to find now: whoever started this process can then try with less taken.
      if (const auto works = session_->try_out(); worked && !works.ok()) {
        reply(GpuOutcome::refused, "the driver does not work once it is confined: " + to_string(works.error()));
        return exit_lost;
      }
    }
    reply(GpuOutcome::done, encode(facts));
    while (serve_one()) {
    }
    return 0;
  }

 private:
  bool serve_one() {
    GpuRequestHead head;
    int file = -1;
    if (!receive_head(head, file)) return false;
    std::string body(head.body_bytes, '\0');
    if (receive_bytes(socket_, body.data(), body.size(), Deadline::max()) != Transfer::done) return false;
    const bool goes_on = serve(head.command, body, file);
    if (file >= 0) ::close(file);
    return goes_on;
  }

  bool receive_head(GpuRequestHead& head, int& file) {
    if (!receive_with_descriptor(socket_, &head, sizeof head, file)) return false;
    return head.magic == gpu_request_magic && head.body_bytes <= gpu_body_limit;
  }

  bool reply(GpuOutcome outcome, const std::string& body) {
    GpuReplyHead head;
    head.magic = gpu_reply_magic;
    head.outcome = outcome;
    head.body_bytes = body.size();
    return send_bytes(socket_, &head, sizeof head, Deadline::max()) == Transfer::done &&
           send_bytes(socket_, body.data(), body.size(), Deadline::max()) == Transfer::done;
  }

  bool answer(const Error& error) {
    const bool lost = session_->outcome() == GpuOutcome::fault;
    reply(session_->outcome(), error.message);
    return !lost;
  }

  template <class Request, class Work>
  bool work_on(Result<Request> request, const Work& work) {
    if (!request.ok()) return reply(GpuOutcome::refused, request.error().message);
    const auto done = work(*request);
    if (!done.ok()) return answer(done.error());
    return reply(GpuOutcome::done, *done);
  }

  template <class T>
  static Result<std::string> encoded(const Result<T>& value) {
    if (!value.ok()) return value.error();
    return encode(*value);
  }
  static Result<std::string> nothing(const Result<void>& done) {
    if (!done.ok()) return done.error();
    return std::string();
  }

  bool serve(GpuCommand command, const std::string& body, int file) {
    if (command != GpuCommand::time) session_->drop_timing();
    switch (command) {
      case GpuCommand::load_module:
        return work_on(decode_module_request(body), [&](const auto& it) { return nothing(session_->load_module(it)); });
      case GpuCommand::load_inputs:
        return work_on(decode_inputs_request(body),
                       [&](const auto& it) { return nothing(session_->load_inputs(it, file)); });
      case GpuCommand::forget_inputs:
        return work_on(decode_inputs_request(body), [&](const auto& it) {
          session_->forget_inputs(it.id);
          return Result<std::string>(std::string());
        });
      case GpuCommand::run:
        return work_on(decode_run_requests(body), [&](const auto& it) { return encoded(session_->run(it)); });
      case GpuCommand::lay_out_timing:
        return work_on(decode_time_request(body),
                       [&](const auto& it) { return nothing(session_->lay_out_timing(it)); });
      case GpuCommand::time: {
        const auto timed = session_->time();
        return timed.ok() ? reply(GpuOutcome::done, encode(*timed)) : answer(timed.error());
      }
      case GpuCommand::transfer_rate: {
        const auto rates = session_->transfer_rates();
        return rates.ok() ? reply(GpuOutcome::done, encode(*rates)) : answer(rates.error());
      }
      case GpuCommand::profile:
        return work_on(decode_run_requests(body), [&](const auto& it) -> Result<std::string> {
          if (it.size() != 1) return Error{"one plan at a time is profiled", "", {}};
          const auto report = session_->profile(it.front());
          if (!report.ok()) return report.error();
          return to_json(*report).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
        });
    }
    return reply(GpuOutcome::refused, "unknown command");
  }

  int socket_;
  std::unique_ptr<DeviceSession> session_;
};

}  // namespace

std::optional<int> run_if_gpu_worker(int argc, char** argv) {
  if (argc < 2 || std::strcmp(argv[1], gpu_worker_argument) != 0) return std::nullopt;
  const Confinement wanted = confinement_from(argc > 2 ? argv[2] : "");
  const NamespaceSet namespaces = namespaces_from_argument(argv[argc - 1]);
  // Leaving through exit() would run the driver's clean-up, which can hang after a fault.
  ::_exit(Worker(passed_descriptor_number).run(wanted, namespaces));
}

}  // namespace kw
