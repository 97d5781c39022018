#pragma once
// The pool's side of one worker: start it, give it a job, end it.

#include <sys/types.h>

#include <optional>

#include "kernel/compile/pool.h"

namespace kw {

class WorkerProcess {
 public:
  // The calling thread must outlive the worker: the kernel ends the worker with it.
  static Result<WorkerProcess> start(bool namespaces);
  ~WorkerProcess();
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;

  const WorkerGreeting& greeting() const { return greeting_; }
  pid_t pid() const { return pid_; }

  // False when the worker has ended or said something unasked for; it is of no use any more.
  bool is_alive() const;

  struct Answer {
    JobResult result;
    bool worker_lost = false;  // start a new one
    bool was_started = true;   // false: the worker was already gone, so the job may be given to another
  };
  Answer run(const CompilerJob& job, const CompileLimits& limits);

 private:
  WorkerProcess(pid_t pid, int socket) : pid_(pid), socket_(socket) {}
  Result<WorkerGreeting> receive_greeting() const;

  pid_t pid_;
  int socket_;
  WorkerGreeting greeting_;
};

}  // namespace kw
