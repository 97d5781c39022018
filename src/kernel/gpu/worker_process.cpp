#include "kernel/gpu/worker_process.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/bounded_json.h"
#include "base/log.h"
#include "kernel/compile/wire.h"
#include "kernel/gpu/worker.h"
#include "kernel/sandbox/isolated_process.h"

namespace kw {
namespace {

constexpr auto start_limit = std::chrono::seconds(60);
constexpr std::size_t most_modules = 64;

// In this program, on this machine: see GpuWorker::greet().
std::atomic<int> strongest_that_works{static_cast<int>(Confinement::own_user)};
std::atomic<int> weaker_starts{0};

std::uint64_t rounded_up(std::uint64_t bytes) {
  return (bytes + tensor_alignment - 1) / tensor_alignment * tensor_alignment;
}

std::vector<std::string> worker_environment() {
  // Every image is compiled here and now: the driver need not keep any.
  std::vector<std::string> environment = {"CUDA_CACHE_DISABLE=1", "CUDA_MODULE_LOADING=EAGER"};
  const char* debugged = std::getenv("KERNELWRIGHT_GPU_DEBUG");
  if (debugged != nullptr && *debugged == '1')
    for (char** each = environ; *each != nullptr; ++each) environment.emplace_back(*each);
  for (const char* name : {"KERNELWRIGHT_CUDA", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "KERNELWRIGHT_LIBCUDA",
                           "KERNELWRIGHT_GPU_CHOSEN", "KERNELWRIGHT_EMULATED_NEEDS", "KERNELWRIGHT_EMULATED_GPUS",
                           "PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS"})
    if (const char* value = std::getenv(name)) environment.push_back(std::string(name) + "=" + value);
  return environment;
}

Result<void> fill(int file, const std::vector<InputPack::Tensor>& tensors) {
  const auto no_memory = [] { return Error{std::string("no memory for inputs: ") + std::strerror(errno), "", {}}; };
  off_t at = 0;
  for (const InputPack::Tensor& tensor : tensors) {
    const std::string_view bytes = tensor.contents;
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t wrote = ::pwrite(file, bytes.data() + done, bytes.size() - done, at + static_cast<off_t>(done));
      if (wrote <= 0) return no_memory();
      done += static_cast<std::size_t>(wrote);
    }
    at += static_cast<off_t>(rounded_up(bytes.size()));
  }
  if (::ftruncate(file, at) != 0) return no_memory();
  return {};
}

GpuEnd end_of(GpuOutcome outcome) {
  switch (outcome) {
    case GpuOutcome::done:
      return GpuEnd::done;
    case GpuOutcome::refused:
      return GpuEnd::refused;
    case GpuOutcome::no_memory:
      return GpuEnd::no_memory;
    case GpuOutcome::fault:
      return GpuEnd::fault;
  }
  return GpuEnd::lost;
}

template <class T, class Decode>
GpuAnswer<T> decoded(const GpuAnswer<std::string>& answer, const Decode& decode) {
  if (!answer.done()) return {answer.end, answer.text, {}};
  auto value = decode(answer.value);
  if (!value.ok()) return {GpuEnd::lost, value.error().message, {}};
  return {GpuEnd::done, "", std::move(value).value()};
}

}  // namespace

std::shared_ptr<const InputPack> InputPack::make(std::vector<Tensor> tensors, std::shared_ptr<const void> owner) {
  static std::atomic<std::uint64_t> next_id{1};
  std::shared_ptr<InputPack> pack(new InputPack());
  pack->id_ = next_id++;
  for (const Tensor& tensor : tensors) pack->bytes_ += rounded_up(tensor.bytes);
  pack->tensors_ = std::move(tensors);
  pack->owner_ = std::move(owner);
  return pack;
}

std::vector<InputLayout> InputPack::layout() const {
  std::vector<InputLayout> layout;
  for (const Tensor& tensor : tensors_) layout.push_back({tensor.bytes, tensor.contents.size(), tensor.recipe});
  return layout;
}

Result<int> InputPack::open_file() const {
  const int file = ::memfd_create("inputs", MFD_CLOEXEC);
  if (file < 0) return Error{std::string("no memory for inputs: ") + std::strerror(errno), "", {}};
  if (const auto filled = fill(file, tensors_); !filled.ok()) {
    ::close(file);
    return filled.error();
  }
  return file;
}

Result<std::unique_ptr<GpuWorker>> GpuWorker::start(std::uint64_t resident_bytes, Confinement most) {
  KW_TRY(auto worker, spawn(resident_bytes, most));
  KW_TRY_VOID(worker->greet());
  return worker;
}

Result<std::unique_ptr<GpuWorker>> GpuWorker::spawn(std::uint64_t resident_bytes, Confinement most) {
  const auto possible = static_cast<Confinement>(strongest_that_works.load());
  std::unique_ptr<GpuWorker> worker(new GpuWorker(std::min(most, possible), resident_bytes));
  KW_TRY_VOID(worker->start_process());
  return worker;
}

Result<void> GpuWorker::start_process() {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    return Error{std::string("cannot make a socket: ") + std::strerror(errno), "", {}};
  SpawnOptions options;
  options.arguments = {gpu_worker_argument, name_of(confinement_)};
  options.environment = worker_environment();
  options.passed_descriptor = pair[1];
  options.namespaces = needs_namespaces(confinement_);
  options.not_in_container = "kernels on a GPU";
  options.user_namespace = confinement_ == Confinement::own_user;
  const Result<IsolatedProcess> process = spawn_isolated(options);
  ::close(pair[1]);
  if (!process.ok()) {
    ::close(pair[0]);
    return process.error();
  }
  pid_ = process->pid;
  socket_ = pair[0];
  usable_ = true;
  return {};
}

Result<void> GpuWorker::greet() {
  std::string refusal;  // of the strongest that was tried
  for (const Confinement first = confinement_;;) {
    const auto greeting = receive(std::chrono::steady_clock::now() + start_limit);
    if (greeting.done()) {
      KW_TRY(facts_, decode_facts(greeting.value));
      if (confinement_ == first) return {};
      facts_.protection += "; weaker than wanted: " + refusal;
      log_event(LogLevel::warn, "gpu_worker_less_confined",
                {{"confinement", name_of(confinement_)}, {"reason", refusal}});
      // Twice is no accident: others need not try.
      if (++weaker_starts >= 2) strongest_that_works = static_cast<int>(confinement_);
      return {};
    }
    const bool silent = greeting.end == GpuEnd::lost || greeting.text.empty();
    const std::string reason = silent ? "the GPU worker did not start" : greeting.text;
    if (refusal.empty()) refusal = reason;
    if (confinement_ == Confinement::filter)
      return Error{reason, silent ? "the program's main() must call run_if_gpu_worker() first" : "", {}};
    give_up();
    confinement_ = weaker_than(confinement_);
    KW_TRY_VOID(start_process());
  }
}

GpuWorker::~GpuWorker() { give_up(); }

void GpuWorker::give_up() {
  usable_ = false;
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

GpuAnswer<std::string> GpuWorker::receive(std::chrono::steady_clock::time_point deadline) {
  GpuReplyHead head;
  Transfer transfer = receive_bytes(socket_, &head, sizeof head, deadline);
  if (transfer == Transfer::done && (head.magic != gpu_reply_magic || head.body_bytes > gpu_body_limit))
    transfer = Transfer::closed;
  std::string body(transfer == Transfer::done ? head.body_bytes : 0, '\0');
  if (transfer == Transfer::done) transfer = receive_bytes(socket_, body.data(), body.size(), deadline);
  if (transfer == Transfer::late) return {GpuEnd::timeout, "no answer in time", {}};
  if (transfer != Transfer::done) return {GpuEnd::lost, "the GPU worker ended", {}};
  const GpuEnd end = end_of(head.outcome);
  if (end != GpuEnd::done) return {end, std::move(body), {}};
  return {GpuEnd::done, "", std::move(body)};
}

GpuAnswer<std::string> GpuWorker::ask(GpuCommand command, const std::string& body, Milliseconds limit, int file) {
  if (!usable_) return {GpuEnd::lost, "the GPU worker is gone", {}};
  const auto deadline = std::chrono::steady_clock::now() + limit;
  GpuRequestHead head;
  head.magic = gpu_request_magic;
  head.command = command;
  head.body_bytes = body.size();
  head.has_file = file >= 0 ? 1 : 0;
  GpuAnswer<std::string> answer;
  if (body.size() > gpu_body_limit) {
    answer = {GpuEnd::refused, "the request is too large", {}};
    return answer;
  }
  if (!send_with_descriptor(socket_, &head, sizeof head, file) ||
      send_bytes(socket_, body.data(), body.size(), deadline) != Transfer::done) {
    answer = {GpuEnd::lost, "the GPU worker ended", {}};
  } else {
    answer = receive(deadline);
  }
  if (answer.end == GpuEnd::fault || answer.end == GpuEnd::timeout || answer.end == GpuEnd::lost) give_up();
  return answer;
}

GpuAnswer<Nothing> GpuWorker::load_module(const GpuModule& module, Milliseconds limit) {
  const auto known = std::find(modules_.begin(), modules_.end(), module.id);
  if (known != modules_.end()) {
    modules_.splice(modules_.begin(), modules_, known);
    return {GpuEnd::done, "", {}};
  }
  // Our own device code (0) stays.
  while (modules_.size() >= most_modules) {
    const auto last = std::find_if(modules_.rbegin(), modules_.rend(), [](std::uint64_t id) { return id != 0; });
    forget_module(*last);
  }
  const auto answer =
      ask(GpuCommand::load_module, encode(ModuleRequest{module.id, *module.image, *module.kernels}), limit);
  if (answer.done()) modules_.push_front(module.id);
  return {answer.end, answer.text, {}};
}

void GpuWorker::forget_module(std::uint64_t id) {
  const auto known = std::find(modules_.begin(), modules_.end(), id);
  if (known == modules_.end()) return;
  modules_.erase(known);
  ask(GpuCommand::load_module, encode(ModuleRequest{id, "", {}}), std::chrono::seconds(5));
}

bool GpuWorker::has_inputs(std::uint64_t id) const {
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const auto& each) { return each.first == id; });
}

GpuAnswer<Nothing> GpuWorker::load_inputs(const InputPack& pack, Milliseconds limit) {
  const auto known =
      std::find_if(inputs_.begin(), inputs_.end(), [&](const auto& each) { return each.first == pack.id(); });
  if (known != inputs_.end()) {
    inputs_.splice(inputs_.begin(), inputs_, known);
    return {GpuEnd::done, "", {}};
  }
  const auto forget_last = [&] {
    const auto [id, bytes] = inputs_.back();
    inputs_.pop_back();
    resident_bytes_ -= bytes;
    ask(GpuCommand::forget_inputs, encode(InputsRequest{id, {}}), std::chrono::seconds(5));
  };
  while (!inputs_.empty() && resident_bytes_ + pack.bytes() > resident_limit_) forget_last();
  const std::string body = encode(InputsRequest{pack.id(), pack.layout()});
  const auto file = pack.open_file();
  if (!file.ok()) return {GpuEnd::no_memory, file.error().message, {}};
  auto answer = ask(GpuCommand::load_inputs, body, limit, *file);
  while (answer.end == GpuEnd::no_memory && !inputs_.empty()) {
    forget_last();
    answer = ask(GpuCommand::load_inputs, body, limit, *file);
  }
  ::close(*file);
  if (answer.done()) {
    inputs_.emplace_front(pack.id(), pack.bytes());
    resident_bytes_ += pack.bytes();
  }
  return {answer.end, answer.text, {}};
}

GpuAnswer<std::vector<RunReply>> GpuWorker::run(const std::vector<RunRequest>& requests, Milliseconds limit) {
  used_ = true;
  auto answer = decoded<std::vector<RunReply>>(ask(GpuCommand::run, encode(requests), limit), decode_run_replies);
  if (answer.done() && answer.value.size() != requests.size())
    return {GpuEnd::lost, "the worker's answer is incomplete", {}};
  return answer;
}

GpuAnswer<Nothing> GpuWorker::lay_out_timing(const TimeRequest& request, Milliseconds limit) {
  const auto answer = ask(GpuCommand::lay_out_timing, encode(request), limit);
  return {answer.end, answer.text, {}};
}

GpuAnswer<TimeReply> GpuWorker::time(Milliseconds limit) {
  return decoded<TimeReply>(ask(GpuCommand::time, "", limit), decode_time_reply);
}

GpuAnswer<CounterReport> GpuWorker::profile(const RunRequest& request, Milliseconds limit) {
  used_ = true;
  return decoded<CounterReport>(ask(GpuCommand::profile, encode(std::vector<RunRequest>{request}), limit),
                                [](const std::string& text) -> Result<CounterReport> {
                                  const auto json = parse_bounded_ordered_json(text);
                                  if (!json.ok()) return Error{"the worker's counters are malformed", "", {}};
                                  return counter_report_from_json(*json);
                                });
}

GpuAnswer<TransferRates> GpuWorker::transfer_rates(Milliseconds limit) {
  return decoded<TransferRates>(ask(GpuCommand::transfer_rate, "", limit), decode_transfer_rates);
}

}  // namespace kw
