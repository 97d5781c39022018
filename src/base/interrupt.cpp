#include "base/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace kw {
namespace {

std::atomic<int> requests{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void note_request(int) {
  if (requests.fetch_add(1) > 0) ::_exit(exit_interrupted);
}

}  // namespace

void install_interrupt_handling() {
  struct sigaction action {};
  action.sa_handler = note_request;
  ::sigemptyset(&action.sa_mask);
  // No SA_RESTART: a blocking read returns, so that its loop can look at interrupted().
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return requests.load() > 0; }

void clear_interrupt() { requests.store(0); }

}  // namespace kw
