#include "kernel/reference/session.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/transfer.h"
#include "kernel/reference/message.h"
#include "kernel/reference/shared_memory.h"

namespace kw {
namespace {

std::uint64_t cpu_us_now() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + time.tv_usec;
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

// SIGXCPU then ends this process. The soft limit only, so that the next request can have its own.
void limit_cpu(std::uint64_t used_us, std::uint64_t seconds) {
  rlimit limit{};
  if (seconds == 0 || ::getrlimit(RLIMIT_CPU, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>((used_us + 999'999) / 1'000'000 + seconds, limit.rlim_max);
  ::setrlimit(RLIMIT_CPU, &limit);
}

class Session {
 public:
  Session(const TorchLibrary& library, SharedMemory memory) : library_(library), memory_(std::move(memory)) {}

  ReferenceReply serve(const ReferenceRequest& request) {
    ReferenceReply reply;
    const std::uint64_t before_us = cpu_us_now();
    limit_cpu(before_us, request.cpu_seconds);
    if (const auto done = answer(request, reply); !done.ok()) reply.error = done.error();
    reply.cpu_us = cpu_us_now() - before_us;
    return reply;
  }

 private:
  struct Kept {
    std::uint64_t task = 0;
    std::unique_ptr<PreparedInputs> inputs;
  };

  Result<void> answer(const ReferenceRequest& request, ReferenceReply& reply) {
    KW_TRY_VOID(memory_.map(request.shared_bytes));
    if (request.command == ReferenceCommand::gpu_name) {
      KW_TRY(reply.gpu_name, library_.gpu_name());
      return {};
    }
    const bool elementwise = request.command == ReferenceCommand::define_elementwise;
    if (request.command == ReferenceCommand::define || elementwise) {
      if (!request.text) return Error{"a task without its text", "", {}};
      KW_TRY(tasks_[request.task], library_.make_reference(*request.text, elementwise));
      return {};
    }
    if (request.command == ReferenceCommand::forget) {
      std::erase_if(kept_, [&](const auto& each) { return each.second.task == request.task; });
      tasks_.erase(request.task);
      return {};
    }
    if (request.command == ReferenceCommand::release) {
      kept_.erase(request.inputs);
      return {};
    }
    const auto task = tasks_.find(request.task);
    if (task == tasks_.end() || task->second == nullptr) return Error{"the reference process lost the task", "", {}};
    return work(*task->second, request, reply);
  }

  Result<void> work(Reference& reference, const ReferenceRequest& request, ReferenceReply& reply) {
    if (request.command == ReferenceCommand::prepare) {
      KW_TRY(const std::vector<InputTensor> tensors, tensors_of(request.tensors));
      KW_TRY(auto inputs, reference.prepare(tensors, request.device));
      kept_[request.inputs] = {request.task, std::move(inputs)};
      return {};
    }
    const auto kept = kept_.find(request.inputs);
    const PreparedInputs* inputs = kept != kept_.end() ? kept->second.inputs.get() : nullptr;
    if (request.command == ReferenceCommand::time) {
      if (inputs == nullptr) return Error{"the reference process lost its inputs", "", {}};
      KW_TRY(reply.times, reference.time_us(*inputs, request.sizes, request.timing));
      return {};
    }
    if (inputs == nullptr && request.inputs != 0) return Error{"the reference process lost its inputs", "", {}};
    std::vector<InputTensor> tensors;
    if (inputs == nullptr) {
      KW_TRY(tensors, tensors_of(request.tensors));
    }
    if (request.positions.empty()) {
      KW_TRY(const std::vector<OutputTensor> outputs,
             inputs != nullptr ? reference.run(*inputs, request.sizes, request.precision)
                               : reference.run(tensors, request.sizes, request.precision, request.device));
      for (const OutputTensor& output : outputs) KW_TRY_VOID(put(output, request, reply));
      return {};
    }
    std::unique_ptr<PreparedInputs> made;
    if (inputs == nullptr) {
      KW_TRY(made, reference.prepare(tensors, request.device));
      inputs = made.get();
    }
    KW_TRY(const Positions positions, positions_of(request.positions));
    KW_TRY(const auto outputs, reference.run_at(*inputs, request.sizes, request.precision, positions));
    for (const SampledOutput& output : outputs) {
      reply.whole_shapes.push_back(output.shape);
      KW_TRY_VOID(put(output.elements, request, reply));
    }
    return {};
  }

  Result<std::string_view> bytes_of(const PlacedTensor& tensor) const {
    if (tensor.offset > memory_.bytes() || tensor.bytes > memory_.bytes() - tensor.offset)
      return Error{"a tensor lies outside the shared memory", "", {}};
    return std::string_view(memory_.data() + tensor.offset, tensor.bytes);
  }

  Result<std::vector<InputTensor>> tensors_of(const std::vector<PlacedTensor>& placed) const {
    std::vector<InputTensor> tensors;
    for (const PlacedTensor& each : placed) {
      KW_TRY(const std::string_view bytes, bytes_of(each));
      const auto& recipe = each.recipe;
      if (recipe && (recipe->element_bytes != kw::bytes_of(each.dtype) ||
                     recipe->table_elements != bytes.size() / recipe->element_bytes))
        return Error{"the recipe of '" + each.name + "' makes no sense", "", {}};
      tensors.push_back({each.name, each.dtype, each.shape, std::string(bytes), recipe, each.coarse});
    }
    return tensors;
  }

  Result<Positions> positions_of(const std::vector<PlacedTensor>& placed) const {
    Positions positions;
    for (const PlacedTensor& each : placed) {
      KW_TRY(const std::string_view bytes, bytes_of(each));
      positions.emplace_back(bytes.size() / sizeof(std::int64_t));
      std::memcpy(positions.back().data(), bytes.data(), bytes.size() / sizeof(std::int64_t) * sizeof(std::int64_t));
    }
    return positions;
  }

  // The caller made room for what the task declares; the library has checked the shapes against that.
  Result<void> put(const OutputTensor& output, const ReferenceRequest& request, ReferenceReply& reply) {
    const std::uint64_t used =
        reply.outputs.empty() ? 0 : reply.outputs.back().offset + reply.outputs.back().bytes - request.room_offset;
    const bool inside = request.room_offset <= memory_.bytes() &&
                        request.room_bytes <= memory_.bytes() - request.room_offset && used <= request.room_bytes &&
                        output.bytes.size() <= request.room_bytes - used;
    if (!inside) return Error{"the reference's '" + output.name + "' is larger than the task says", "", {}};
    const PlacedTensor placed{output.name, output.dtype, output.shape, request.room_offset + used, output.bytes.size()};
    std::memcpy(memory_.data() + placed.offset, output.bytes.data(), output.bytes.size());
    reply.outputs.push_back(placed);
    return {};
  }

  const TorchLibrary& library_;
  SharedMemory memory_;
  std::map<std::uint64_t, std::unique_ptr<Reference>> tasks_;
  std::map<std::uint64_t, Kept> kept_;  // after the tasks, so that inputs go first
};

bool send_frame(int socket, const std::string& body) {
  const ReferenceFrame head{reference_magic, body.size()};
  return send_bytes(socket, &head, sizeof head, Deadline::max()) == Transfer::done &&
         send_bytes(socket, body.data(), body.size(), Deadline::max()) == Transfer::done;
}

bool receive_frame(int socket, std::string& body) {
  ReferenceFrame head;
  if (receive_bytes(socket, &head, sizeof head, Deadline::max()) != Transfer::done) return false;
  if (head.magic != reference_magic || head.body_bytes > reference_body_limit) return false;
  body.resize(head.body_bytes);
  return receive_bytes(socket, body.data(), body.size(), Deadline::max()) == Transfer::done;
}

}  // namespace

void serve_references(int socket, const TorchLibrary& library, FaultInjection& faults) {
  std::uint64_t hello = 0;
  int shared = -1;
  if (!receive_with_descriptor(socket, &hello, sizeof hello, shared) || hello != reference_magic || shared < 0) return;
  Session session(library, SharedMemory::adopt(shared));
  std::string body;
  while (receive_frame(socket, body)) {
    const auto request = decode_reference_request(body);
    if (!request.ok()) return;
    faults.strike();
    if (!send_frame(socket, encode(session.serve(*request)))) return;
  }
}

}  // namespace kw
