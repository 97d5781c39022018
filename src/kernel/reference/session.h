#pragma once
// A process's life as the one that answers for references: requests over a socket, tensors in shared memory.

#include "kernel/reference/fault_injection.h"
#include "kernel/reference/torch_library.h"

namespace kw {

// Until the other side goes away. Its first message brings the shared memory.
void serve_references(int socket, const TorchLibrary& library, FaultInjection& faults);

}  // namespace kw
