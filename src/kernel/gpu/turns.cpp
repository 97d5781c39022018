#include "kernel/gpu/turns.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace kw {

GpuTurns::GpuTurns(const std::string& device) {
  if (device.empty()) return;
  // Writable for everybody, so that all users of the machine agree; without it only this program's turns count.
  const std::string path = "/tmp/kernelwright-gpu-" + device + ".lock";
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
}

GpuTurns::~GpuTurns() {
  if (file_ >= 0) ::close(file_);
}

void GpuTurns::lock_file(int operation) const {
  if (file_ < 0) return;
  while (::flock(file_, operation) != 0 && errno == EINTR) {
  }
}

void GpuTurns::begin_shared() {
  std::unique_lock lock(mutex_);
  ++waiting_shared_;
  changed_.wait(lock, [&] { return !alone_ && (waiting_alone_ == 0 || shared_first_ > 0); });
  --waiting_shared_;
  if (shared_first_ > 0) --shared_first_;
  if (sharing_++ == 0) lock_file(LOCK_SH);
  changed_.notify_all();
}

void GpuTurns::end_shared() {
  std::unique_lock lock(mutex_);
  if (--sharing_ == 0) lock_file(LOCK_UN);
  changed_.notify_all();
}

void GpuTurns::begin_alone() {
  std::unique_lock lock(mutex_);
  ++waiting_alone_;
  changed_.wait(lock, [&] { return !alone_ && sharing_ == 0 && shared_first_ == 0; });
  --waiting_alone_;
  alone_ = true;
  lock_file(LOCK_EX);
}

void GpuTurns::end_alone() {
  std::unique_lock lock(mutex_);
  lock_file(LOCK_UN);
  alone_ = false;
  shared_first_ = waiting_shared_;
  changed_.notify_all();
}

}  // namespace kw
