#include "kernel/reference/reference_process.h"

#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/transfer.h"

namespace kw {

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

Result<std::shared_ptr<ReferenceProcess>> ReferenceProcess::make(int socket, std::size_t instruction_set, Ender end) {
  auto memory = SharedMemory::make();
  const std::uint64_t hello = reference_magic;
  if (!memory.ok() || !send_with_descriptor(socket, &hello, sizeof hello, memory->descriptor())) {
    ::close(socket);
    end();
    return memory.ok() ? Error{"the reference process ended before it began", "", {}} : memory.error();
  }
  return std::shared_ptr<ReferenceProcess>(
      new ReferenceProcess(socket, instruction_set, std::move(end), std::move(*memory)));
}

ReferenceProcess::~ReferenceProcess() { end(); }

ReferenceEnd ReferenceProcess::end() {
  if (socket_ < 0) return {};
  ::close(std::exchange(socket_, -1));
  return end_();
}

ReferenceAnswer ReferenceProcess::ask(ReferenceRequest& request, std::chrono::milliseconds limit) {
  if (socket_ < 0) return {};
  request.shared_bytes = memory_.bytes();
  const std::string body = encode(request);
  if (body.size() > reference_body_limit) {
    ReferenceAnswer refused;
    refused.kind = ReferenceAnswer::Kind::reply;
    refused.reply.error = Error{"the task's text is too long for a reference", "", {}};
    return refused;
  }
  const Deadline deadline = std::chrono::steady_clock::now() + limit;
  const ReferenceFrame head{reference_magic, body.size()};
  Transfer transfer = send_bytes(socket_, &head, sizeof head, deadline);
  if (transfer == Transfer::done) transfer = send_bytes(socket_, body.data(), body.size(), deadline);
  ReferenceFrame answer_head;
  if (transfer == Transfer::done) transfer = receive_bytes(socket_, &answer_head, sizeof answer_head, deadline);
  const bool sane = answer_head.magic == reference_magic && answer_head.body_bytes <= reference_body_limit;
  std::string answer;
  if (transfer == Transfer::done && sane) {
    answer.resize(answer_head.body_bytes);
    transfer = receive_bytes(socket_, answer.data(), answer.size(), deadline);
  }
  ReferenceAnswer result;
  if (transfer == Transfer::done && sane) {
    if (auto reply = decode_reference_reply(answer); reply.ok()) {
      result.kind = ReferenceAnswer::Kind::reply;
      result.reply = std::move(*reply);
      return result;
    }
  }
  result.kind = transfer == Transfer::late ? ReferenceAnswer::Kind::late : ReferenceAnswer::Kind::died;
  result.end = end();
  return result;
}

}  // namespace kw
