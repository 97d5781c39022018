#pragma once
// What a GPU worker may do to this machine once it has opened its device: how much of it is taken away, and what that
// left.

#include <string>

#include "base/result.h"
#include "kernel/sandbox/isolated_process.h"

namespace kw {

// Each holds what the ones before it hold.
enum class Confinement {
  filter,    // no program can be started, no socket opened; the user's files are there
  own_root,  // own processes, network and IPC, and a file system with the driver's files alone; for root only
  own_user,  // the same in a user namespace: root inside has no rights outside
};

// The next weaker one; the weakest is its own.
Confinement weaker_than(Confinement confinement);

// The one that KERNELWRIGHT_GPU_SANDBOX asks for ("filter", "own_root", "own_user"); the strongest if it asks for
// nothing.
Confinement wanted_confinement();

// How to start a process for it.
bool needs_namespaces(Confinement confinement);
const char* name_of(Confinement confinement);
Confinement confinement_from(const std::string& name);

struct Confined {
  bool full = false;        // namespaces, the driver's files alone, no rights, the filter
  std::string description;  // for people: what holds and, where something is missing, why
};

// For a process with the driver loaded and the device open. Only a missing system-call filter is an error.
Result<Confined> confine_gpu_worker(Confinement wanted, const NamespaceSet& namespaces);

}  // namespace kw
