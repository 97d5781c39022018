#pragma once
// Who may use the GPU. Checking runs share it; a timing run has it alone, and no other program's runs beside it either
// (a lock file for each device). Neither side starves: after a timing run those that waited to check go first.

#include <condition_variable>
#include <mutex>
#include <string>

namespace kw {

class GpuTurns {
 public:
  // `device` names the lock file; empty: no other program is asked.
  explicit GpuTurns(const std::string& device);
  ~GpuTurns();
  GpuTurns(const GpuTurns&) = delete;
  GpuTurns& operator=(const GpuTurns&) = delete;

  void begin_shared();
  void end_shared();
  void begin_alone();
  void end_alone();

 private:
  void lock_file(int operation) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  int sharing_ = 0;         // running
  int waiting_shared_ = 0;  // wanting to run
  int waiting_alone_ = 0;
  int shared_first_ = 0;  // of those that waited during a timing run, how many are still to go before the next one
  bool alone_ = false;
  int file_ = -1;
};

class SharedTurn {
 public:
  explicit SharedTurn(GpuTurns& turns) : turns_(turns) { turns_.begin_shared(); }
  ~SharedTurn() { turns_.end_shared(); }
  SharedTurn(const SharedTurn&) = delete;
  SharedTurn& operator=(const SharedTurn&) = delete;

 private:
  GpuTurns& turns_;
};

class AloneTurn {
 public:
  explicit AloneTurn(GpuTurns& turns) : turns_(turns) { turns_.begin_alone(); }
  ~AloneTurn() { turns_.end_alone(); }
  AloneTurn(const AloneTurn&) = delete;
  AloneTurn& operator=(const AloneTurn&) = delete;

 private:
  GpuTurns& turns_;
};

}  // namespace kw
