#include "kernel/reference/remote_reference.h"

#include <atomic>
#include <csignal>
#include <cstring>

#include "base/log.h"
#include "kernel/reference/positions.h"
#include "kernel/sandbox/worker_deaths.h"

namespace kw {
namespace {

constexpr int most_attempts = 4;  // when processes die
constexpr std::uint64_t alignment = 64;
constexpr std::int64_t worth_keeping = 1 << 20;  // bytes of inputs

std::atomic<std::uint64_t> next_number{1};  // of tasks and kept inputs

std::uint64_t rounded_up(std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// On the CPU small inputs are not kept: the tensors go along with every request.
class RemoteInputs : public PreparedInputs {
 public:
  RemoteInputs(const std::vector<InputTensor>& inputs, Device device)
      : tensors_(inputs), device_(device), number_(next_number++) {}
  ~RemoteInputs() override {
    if (process_ == nullptr) return;
    const std::lock_guard lock(process_->mutex());
    if (process_->ended()) return;
    ReferenceRequest request;
    request.command = ReferenceCommand::release;
    request.inputs = number_;
    process_->ask(request, std::chrono::seconds(10));
    process_->kept().erase(number_);
  }

  Device device() const override { return device_; }
  std::int64_t bytes() const override {
    std::int64_t sum = 0;
    for (const InputTensor& tensor : tensors_) sum += static_cast<std::int64_t>(tensor.bytes.size());
    return sum;
  }
  const std::vector<InputTensor>& tensors() const { return tensors_; }
  std::uint64_t number() const { return number_; }
  // Where they were kept last.
  void kept_by(std::shared_ptr<ReferenceProcess> process) const { process_ = std::move(process); }

 private:
  const std::vector<InputTensor>& tensors_;
  Device device_;
  std::uint64_t number_;
  mutable std::shared_ptr<ReferenceProcess> process_;
};

const RemoteInputs& remote(const PreparedInputs& inputs) { return static_cast<const RemoteInputs&>(inputs); }

// Puts bytes one after the other into the shared memory.
class Placer {
 public:
  explicit Placer(SharedMemory& memory) : memory_(memory) {}

  static std::uint64_t room(const std::vector<InputTensor>& tensors) {
    std::uint64_t bytes = 0;
    for (const InputTensor& tensor : tensors) bytes += rounded_up(tensor.bytes.size());
    return bytes;
  }

  PlacedTensor place(const std::string& name, Dtype dtype, const std::vector<std::int64_t>& shape,
                     std::string_view bytes) {
    PlacedTensor placed{name, dtype, shape, used_, bytes.size()};
    if (!bytes.empty()) std::memcpy(memory_.data() + used_, bytes.data(), bytes.size());
    used_ += rounded_up(bytes.size());
    return placed;
  }
  std::vector<PlacedTensor> place(const std::vector<InputTensor>& tensors) {
    std::vector<PlacedTensor> placed;
    for (const InputTensor& tensor : tensors) {
      placed.push_back(place(tensor.name, tensor.dtype, tensor.shape, tensor.bytes));
      placed.back().recipe = tensor.recipe;
      placed.back().coarse = tensor.coarse;
    }
    return placed;
  }
  std::uint64_t used() const { return used_; }

 private:
  SharedMemory& memory_;
  std::uint64_t used_ = 0;
};

bool fewer_instructions_may_help(const ReferenceAnswer& answer) {
  if (answer.kind == ReferenceAnswer::Kind::died) return answer.end.signal == SIGILL;
  return answer.kind == ReferenceAnswer::Kind::reply && answer.reply.error.has_value() &&
         answer.reply.error->message.find("could not create a primitive") != std::string::npos;
}

}  // namespace

struct RemoteReference::Question {
  ReferenceCommand command = ReferenceCommand::run;
  const Sizes* sizes = nullptr;
  Precision precision = Precision::truth;
  Device device = Device::cpu;
  const std::vector<InputTensor>* inputs = nullptr;
  const RemoteInputs* kept = nullptr;  // on a GPU, or large
  const Positions* positions = nullptr;
  TimingOptions timing;
  std::uint64_t output_bytes = 0;
};

struct RemoteReference::Answered {
  std::vector<OutputTensor> outputs;
  std::vector<std::vector<std::int64_t>> whole_shapes;
  ReferenceTimes times;
};

RemoteReference::RemoteReference(Task task, bool elementwise)
    : task_(std::move(task)),
      number_(next_number++),
      define_(elementwise ? ReferenceCommand::define_elementwise : ReferenceCommand::define) {}

RemoteReference::~RemoteReference() = default;

void RemoteReference::start_work() {
  const std::lock_guard lock(mutex_);
  spent_us_ = 0;
}

Result<std::shared_ptr<ReferenceProcess>> RemoteReference::process_for(Device device) {
  if (device == Device::gpu) {
    if (const auto name = gpu_available(); !name.ok()) return name.error();
    return ReferenceService::instance().on_gpu();
  }
  if (process_ == nullptr || process_->ended()) {
    KW_TRY(process_, ReferenceService::instance().start());
  }
  return process_;
}

// One request, and what has to come before it in a process that is new. An error is none of the text's doing.
Result<ReferenceAnswer> RemoteReference::ask_once(const Question& question, Answered& answered) {
  const ReferenceLimits limits = ReferenceService::instance().limits();
  const auto wall = question.device == Device::gpu ? limits.gpu_wall : limits.wall;
  KW_TRY(const auto process, process_for(question.device));
  const std::lock_guard lock(process->mutex());
  ReferenceRequest request;
  request.task = number_;
  request.device = question.device;
  if (question.device == Device::cpu) {
    const std::uint64_t spent = std::min(spent_us_ / 1'000'000, limits.cpu_seconds - 1);
    request.cpu_seconds = limits.cpu_seconds - spent;
  }
  // What one request took counts, whether it was answered or not.
  const auto send = [&](ReferenceCommand command) {
    request.command = command;
    ReferenceAnswer answer = process->ask(request, wall);
    const bool replied = answer.kind == ReferenceAnswer::Kind::reply;
    spent_us_ += replied ? answer.reply.cpu_us : answer.end.cpu_us;
    return answer;
  };
  const auto failed = [](const ReferenceAnswer& answer) {
    return answer.kind != ReferenceAnswer::Kind::reply || answer.reply.error.has_value();
  };
  if (!process->tasks().contains(number_)) {
    request.text = task_;
    ReferenceAnswer answer = send(define_);
    if (failed(answer)) return answer;
    process->tasks().insert(number_);
    if (question.command == define_) return answer;
    request.text.reset();
  }
  if (question.kept != nullptr && !process->kept().contains(question.kept->number())) {
    KW_TRY_VOID(process->memory().grow(Placer::room(question.kept->tensors())));
    Placer placer(process->memory());
    request.tensors = placer.place(question.kept->tensors());
    request.inputs = question.kept->number();
    ReferenceAnswer answer = send(ReferenceCommand::prepare);
    process->memory().forget();
    if (failed(answer)) return answer;
    process->kept().insert(question.kept->number());
    question.kept->kept_by(process);
    if (question.command == ReferenceCommand::prepare) return answer;
    request.tensors.clear();
  }
  std::uint64_t bytes = question.inputs != nullptr ? Placer::room(*question.inputs) : 0;
  if (question.positions != nullptr)
    for (const auto& each : *question.positions) bytes += rounded_up(each.size() * sizeof(std::int64_t));
  KW_TRY_VOID(process->memory().grow(bytes + question.output_bytes));
  Placer placer(process->memory());
  if (question.inputs != nullptr) request.tensors = placer.place(*question.inputs);
  if (question.positions != nullptr) {
    for (const auto& each : *question.positions) {
      const std::string_view raw(reinterpret_cast<const char*>(each.data()), each.size() * sizeof(std::int64_t));
      request.positions.push_back(placer.place("", Dtype::int64, {static_cast<std::int64_t>(each.size())}, raw));
    }
  }
  request.inputs = question.kept != nullptr ? question.kept->number() : 0;
  if (question.sizes != nullptr) request.sizes = *question.sizes;
  request.precision = question.precision;
  request.timing = question.timing;
  request.room_offset = placer.used();
  request.room_bytes = question.output_bytes;
  ReferenceAnswer answer = send(question.command);
  if (!failed(answer)) {
    for (const PlacedTensor& output : answer.reply.outputs) {
      const bool inside = output.offset >= request.room_offset && output.bytes <= request.room_bytes &&
                          output.offset - request.room_offset <= request.room_bytes - output.bytes;
      if (!inside) return Error{"the reference process answered nonsense", "", {}};
      answered.outputs.push_back({output.name, output.dtype, output.shape,
                                  std::string(process->memory().data() + output.offset, output.bytes)});
    }
    answered.whole_shapes = std::move(answer.reply.whole_shapes);
    answered.times = std::move(answer.reply.times);
  }
  process->memory().forget();
  return answer;
}

Error RemoteReference::explain(const ReferenceAnswer& answer, const Question& question, int attempts) const {
  const std::string subject = "the reference of '" + task_.name + "'";
  const std::string where = question.sizes != nullptr ? " at " + to_string(*question.sizes) : "";
  const ReferenceLimits limits = ReferenceService::instance().limits();
  const bool out_of_cpu = answer.end.signal == SIGXCPU;
  if (out_of_cpu || answer.kind == ReferenceAnswer::Kind::late) {
    const std::string limit = out_of_cpu ? std::to_string(limits.cpu_seconds) + " s of CPU time"
                                         : std::to_string(limits.wall.count() / 1000) + " s";
    return Error{subject + " took more than the allowed " + limit + where,
                 "does it end? if so, use smaller sizes or fewer operations",
                 {task_.file, 0, 0}};
  }
  const std::string reason = answer.end.signal != 0 ? " by " + signal_name(answer.end.signal) : "";
  return Error{subject + " ended its process" + reason + where + " (" + std::to_string(attempts) + " times)",
               "write it with other operations",
               {task_.file, 0, 0}};
}

Result<RemoteReference::Answered> RemoteReference::ask(const Question& question) {
  const std::lock_guard lock(mutex_);
  const std::string place = question.sizes != nullptr ? to_string(*question.sizes) : "";
  if (const auto known = hopeless_.find(place); known != hopeless_.end()) return known->second;
  const ReferenceLimits limits = ReferenceService::instance().limits();
  for (int attempt = 1;; ++attempt) {
    Answered answered;
    auto answer = ask_once(question, answered);
    const bool last = attempt >= most_attempts;
    if (!answer.ok()) {
      if (last) return answer.error();
      process_.reset();
      continue;
    }
    const bool replied = answer->kind == ReferenceAnswer::Kind::reply;
    if (replied && !answer->reply.error) return answered;
    if (!replied) note_worker_death(WorkerKind::reference);
    if (!last && fewer_instructions_may_help(*answer)) {
      const std::size_t used = process_ != nullptr ? process_->instruction_set() : 0;
      const bool fewer = ReferenceService::instance().use_fewer_instructions_than(used);
      process_.reset();
      if (fewer || !replied) continue;
    }
    if (replied) return std::move(*answer->reply.error);
    // A process that computed until its limit would do so again; one that waited may have been stopped by the machine.
    const bool computed = answer->end.signal == SIGXCPU || (answer->kind == ReferenceAnswer::Kind::late &&
                                                            answer->end.cpu_us > limits.cpu_seconds * 1'000'000 / 2);
    const bool late_again = answer->kind == ReferenceAnswer::Kind::late && attempt >= 2;
    if (last || computed || late_again) {
      Error error = explain(*answer, question, attempt);
      if (computed) hopeless_.emplace(place, error);
      return error;
    }
    log_event(LogLevel::info, "reference_process_lost",
              {{"task", task_.name}, {"signal", std::to_string(answer->end.signal)}});
  }
}

Result<void> RemoteReference::define() {
  Question question;
  question.command = define_;
  KW_TRY(const Answered done, ask(question));
  static_cast<void>(done);
  return {};
}

namespace {

// Of all outputs in the widest type that they may come in.
Result<std::uint64_t> bytes_of_outputs(const Task& task, const Sizes& sizes) {
  std::uint64_t bytes = 0;
  for (const TensorSpec& output : task.outputs) {
    KW_TRY(const std::int64_t elements, output.elements_at(sizes));
    bytes += static_cast<std::uint64_t>(elements) * sizeof(double);
  }
  return bytes;
}

// The process checks what the text returns, but nobody vouches for the process.
bool is_as_declared(const TensorSpec& spec, Precision precision, std::int64_t elements, const OutputTensor& output) {
  const bool wide = precision == Precision::truth && is_floating_point(spec.dtype);
  return output.name == spec.name && output.dtype == (wide ? Dtype::float64 : spec.dtype) &&
         output.bytes.size() == static_cast<std::size_t>(elements) * bytes_of(output.dtype);
}

}  // namespace

Result<std::vector<OutputTensor>> RemoteReference::run(const std::vector<InputTensor>& inputs, const Sizes& sizes,
                                                       Precision precision, Device device) {
  KW_TRY(const auto prepared, prepare(inputs, device));
  return run(*prepared, sizes, precision);
}

Result<std::unique_ptr<PreparedInputs>> RemoteReference::prepare(const std::vector<InputTensor>& inputs,
                                                                 Device device) {
  auto made = std::make_unique<RemoteInputs>(inputs, device);
  if (device == Device::gpu) {
    Question question;
    question.command = ReferenceCommand::prepare;
    question.device = device;
    question.kept = made.get();
    KW_TRY(const Answered done, ask(question));
    static_cast<void>(done);
  }
  return std::unique_ptr<PreparedInputs>(std::move(made));
}

Result<std::vector<OutputTensor>> RemoteReference::run(const PreparedInputs& inputs, const Sizes& sizes,
                                                       Precision precision) {
  Question question;
  question.sizes = &sizes;
  question.precision = precision;
  question.device = inputs.device();
  question.inputs = inputs.device() == Device::cpu ? &remote(inputs).tensors() : nullptr;
  question.kept = inputs.device() == Device::gpu ? &remote(inputs) : nullptr;
  KW_TRY(question.output_bytes, bytes_of_outputs(task_, sizes));
  KW_TRY(Answered answered, ask(question));
  bool sane = answered.outputs.size() == task_.outputs.size();
  for (std::size_t i = 0; sane && i < answered.outputs.size(); ++i) {
    KW_TRY(const auto shape, task_.outputs[i].shape_at(sizes));
    KW_TRY(const std::int64_t elements, task_.outputs[i].elements_at(sizes));
    sane = answered.outputs[i].shape == shape &&
           is_as_declared(task_.outputs[i], precision, elements, answered.outputs[i]);
  }
  if (!sane) return Error{"the reference process answered nonsense", "", {task_.file, 0, 0}};
  return std::move(answered.outputs);
}

Result<std::vector<SampledOutput>> RemoteReference::run_at(const PreparedInputs& inputs, const Sizes& sizes,
                                                           Precision precision, const Positions& positions) {
  KW_TRY_VOID(check_positions(task_, positions, sizes));
  Question question;
  question.sizes = &sizes;
  question.precision = precision;
  question.device = inputs.device();
  const bool kept = inputs.device() == Device::gpu || inputs.bytes() >= worth_keeping;
  question.inputs = kept ? nullptr : &remote(inputs).tensors();
  question.kept = kept ? &remote(inputs) : nullptr;
  question.positions = &positions;
  for (const auto& each : positions) question.output_bytes += each.size() * sizeof(double);
  KW_TRY(Answered answered, ask(question));
  bool sane = answered.outputs.size() == task_.outputs.size() && answered.whole_shapes.size() == task_.outputs.size();
  std::vector<SampledOutput> made;
  for (std::size_t i = 0; sane && i < answered.outputs.size(); ++i) {
    KW_TRY(const auto shape, task_.outputs[i].shape_at(sizes));
    sane = answered.whole_shapes[i] == shape &&
           is_as_declared(task_.outputs[i], precision, static_cast<std::int64_t>(positions[i].size()),
                          answered.outputs[i]);
    made.push_back({positions[i], shape, std::move(answered.outputs[i])});
  }
  if (!sane) return Error{"the reference process answered nonsense", "", {task_.file, 0, 0}};
  return made;
}

Result<ReferenceTimes> RemoteReference::time_us(const PreparedInputs& inputs, const Sizes& sizes,
                                                const TimingOptions& options) {
  if (inputs.device() != Device::gpu)
    return Error{
        "PyTorch's time is measured on a GPU, and these inputs are on the CPU", "prepare them for Device::gpu", {}};
  Question question;
  question.command = ReferenceCommand::time;
  question.sizes = &sizes;
  question.device = Device::gpu;
  question.kept = &remote(inputs);
  question.timing = options;
  KW_TRY(Answered answered, ask(question));
  return std::move(answered.times);
}

}  // namespace kw
