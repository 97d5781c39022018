#pragma once
// The other sandbox: a worker in a Docker container of its own, without network, rights or anything to write to,
// instead of namespaces that this program makes itself. For machines that forbid user namespaces to ordinary users but
// have a daemon that may make them. What the worker does inside is the same: system-call filter, Landlock, limits.

#include <optional>
#include <string>

#include "base/result.h"
#include "kernel/sandbox/isolated_process.h"

namespace kw {

// Which sandbox, and which image: in the environment, so that every worker of the program and of what it starts is in
// the same one. The image holds this program, in this version (docs/container.md).
inline constexpr const char* sandbox_variable = "KERNELWRIGHT_SANDBOX";
inline constexpr const char* sandbox_image_variable = "KERNELWRIGHT_SANDBOX_IMAGE";
inline constexpr const char* default_sandbox_image = "kernelwright:cpu";

// "namespaces" or "docker"; another name is an error.
Result<void> choose_sandbox(const std::string& kind);
bool containers_are_wanted();

// As spawn_isolated(). `pid` is Docker's client: when it ends, for whatever reason, so does the container.
Result<IsolatedProcess> spawn_in_container(const SpawnOptions& options);

// The first process of a container. Every program that may be in an image calls this first in main().
std::optional<int> run_if_contained_worker(int argc, char** argv);

}  // namespace kw
