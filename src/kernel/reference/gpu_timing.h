#pragma once
// Device time of what a call enqueues on the legacy default stream, which is torch's.

#include <functional>

#include "kernel/reference/cuda_driver.h"
#include "kernel/reference/reference.h"

namespace kw {

// Microseconds of the steady clock, from any beginning.
double steady_us();

// Each trial: flushes of the L2, an event, the call, an event, and waiting for it. Flushes take longer than the host
// needs to enqueue the call, so the device never waits for the host between the events; how many that takes is found
// out first. Torch's context must be current. Throws what `call` throws, and std::runtime_error from the driver.
// `host_us` is the host's clock: tests have one of their own, so that nothing depends on how busy the machine is.
ReferenceTimes time_on_gpu(const CudaDriver& driver, const std::function<void()>& call, const TimingOptions& options,
                           double (*host_us)() = steady_us);

}  // namespace kw
