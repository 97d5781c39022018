#pragma once
// This program's side of one process that answers for references.

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "kernel/reference/message.h"
#include "kernel/reference/shared_memory.h"

namespace kw {

struct ReferenceEnd {
  int signal = 0;  // that ended it; 0: it left by itself, or nobody knows
  std::uint64_t cpu_us = 0;
};

struct ReferenceAnswer {
  enum class Kind { reply, died, late };
  Kind kind = Kind::died;
  ReferenceReply reply;
  ReferenceEnd end;  // of a process that died, or was ended because it was late
};

// "SIGILL"
std::string signal_name(int number);

class ReferenceProcess {
 public:
  // Ends the process, waits for it, and says how it had ended.
  using Ender = std::function<ReferenceEnd()>;

  // Takes over the socket, and sends the shared memory over it.
  static Result<std::shared_ptr<ReferenceProcess>> make(int socket, std::size_t instruction_set, Ender end);
  ~ReferenceProcess();
  ReferenceProcess(const ReferenceProcess&) = delete;
  ReferenceProcess& operator=(const ReferenceProcess&) = delete;

  // Held from the first tensor that is placed until the answer is read.
  std::mutex& mutex() { return mutex_; }
  bool ended() const { return socket_ < 0; }
  std::size_t instruction_set() const { return instruction_set_; }
  SharedMemory& memory() { return memory_; }
  std::set<std::uint64_t>& tasks() { return tasks_; }  // that it has been told
  std::set<std::uint64_t>& kept() { return kept_; }    // inputs that it keeps

  ReferenceAnswer ask(ReferenceRequest& request, std::chrono::milliseconds limit);
  ReferenceEnd end();

 private:
  ReferenceProcess(int socket, std::size_t instruction_set, Ender end, SharedMemory memory)
      : socket_(socket), instruction_set_(instruction_set), end_(std::move(end)), memory_(std::move(memory)) {}

  std::mutex mutex_;
  int socket_;
  std::size_t instruction_set_;
  Ender end_;
  SharedMemory memory_;
  std::set<std::uint64_t> tasks_, kept_;
};

}  // namespace kw
