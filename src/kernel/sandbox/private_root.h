#pragma once
// A file system of its own for a process that goes on opening files while it works on what it does not trust (a GPU
// driver opens its device files again and again): an otherwise empty root in which only named paths exist.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

// For the first process of a pid namespace: /proc becomes that of the namespace. Before, /proc/1 is somebody else's,
// and whoever looks itself up by its number (a GPU driver does) is told of a process that it may not see.
Result<void> mount_own_proc();

// For a process that is alone in its mount namespace and may mount there. Afterwards its root is a read-only tmpfs in
// which each of `paths` that exists here lies at the same place, read-only; device files can be used as before. A path
// that is a link is followed. With `processes`, /proc is that of the process's own pid namespace. With `scratch_bytes`,
// files of so many bytes in all may be written in `scratch_folder`, and are gone with the process. On failure the
// process still has the old root.
inline constexpr const char* scratch_folder = "/scratch";
Result<void> enter_private_root(const std::vector<std::string>& paths, bool processes, std::uint64_t scratch_bytes = 0);

}  // namespace kw
