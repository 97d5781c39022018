#pragma once
// Ctrl-C and SIGTERM ask a long command to stop at its next safe point; a second one ends the program at once.

namespace kw {

void install_interrupt_handling();
bool interrupted();
// For tests, and for commands that go on after having handled an interrupt.
void clear_interrupt();

// The exit code of a command that was interrupted, as shells expect it (128 + SIGINT).
inline constexpr int exit_interrupted = 130;

}  // namespace kw
