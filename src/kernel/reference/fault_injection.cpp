#include "kernel/reference/fault_injection.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <utility>

namespace kw {
namespace {

// The real thing: a signal that the process sends itself does not end the first process of a pid namespace.
[[noreturn]] void run_illegal_instruction() { __builtin_trap(); }

void write_to_null() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

}  // namespace

Result<FaultInjection> FaultInjection::parse(std::string_view text) {
  FaultInjection made;
  const auto unknown = [](std::string_view part) {
    return Error{std::string(fault_variable) + ": '" + std::string(part) + "' is not understood",
                 "write ill=0.01,segv=0.01,memory=0.01,stall=0.01,trap=1,refuse=1",
                 {}};
  };
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return unknown(part);
    const std::string_view name = part.substr(0, equals), digits = part.substr(equals + 1);
    double value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || !(value >= 0 && value <= 100))
      return unknown(part);
    const std::array<std::pair<std::string_view, double*>, 4> rates = {
        {{"ill", &made.ill_}, {"segv", &made.segv_}, {"memory", &made.memory_}, {"stall", &made.stall_}}};
    bool known = false;
    for (const auto& [rate, place] : rates) {
      if (name != rate) continue;
      *place = value;
      known = true;
    }
    if (name == "trap") made.trap_below_ = static_cast<std::size_t>(value);
    if (name == "refuse") made.refuse_below_ = static_cast<std::size_t>(value);
    if (!known && name != "trap" && name != "refuse") return unknown(part);
  }
  made.reseed();
  return made;
}

void FaultInjection::reseed() {
  std::uint64_t seed = 1;
  static_cast<void>(::getrandom(&seed, sizeof seed, 0));
  random_ = Random(seed);
}

void FaultInjection::strike() {
  double drawn = random_.uniform();
  const auto hits = [&](double probability) {
    const bool hit = drawn >= 0 && drawn < probability;
    drawn -= probability;
    return hit;
  };
  if (hits(ill_)) run_illegal_instruction();
  if (hits(segv_)) write_to_null();
  if (hits(memory_)) ::raise(SIGKILL);  // as the kernel ends a process when the machine's memory is used up
  if (hits(stall_)) {
    for (;;) ::pause();
  }
}

std::optional<Error> FaultInjection::strike_probe(std::size_t instruction_set) const {
  if (instruction_set < trap_below_) run_illegal_instruction();
  if (instruction_set < refuse_below_) return Error{"could not create a primitive", "", {}};
  return std::nullopt;
}

}  // namespace kw
