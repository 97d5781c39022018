// Streams, graphs captured from them, and events.

#include "kernel/emulated_driver/state.h"

using namespace kw::emulated_driver;

namespace {

constexpr double event_time_ns = 500;

CUresult elapsed_time(float* time_ms, CUevent start, CUevent end) {
  return in_context([&](Device& state) {
    if (time_ms == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (CUevent event : {start, end})
      if (!state.events.has(event) || !event->timed || !event->recorded) return CUDA_ERROR_INVALID_HANDLE;
    *time_ms = static_cast<float>((end->time_ns - start->time_ns) * 1e-6);
    return CUDA_SUCCESS;
  });
}

}  // namespace

KW_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return in_context([&](Device& state) {
    if (stream == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    *stream = state.streams.add(std::make_unique<CUstream_st>());
    (*stream)->blocking = flags != CU_STREAM_NON_BLOCKING;
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  return in_context([&](Device& state) {
    if (!state.has_stream(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!state.streams.has(stream) || !stream->capturing) return CUDA_SUCCESS;
    stream->capture_valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  });
}

KW_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  return in_context([&](Device& state) {
    if (!state.has_stream(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!state.streams.has(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;  // a default stream
    if (stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
    stream->capturing = true;
    stream->capture_valid = true;
    stream->captured.clear();
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return in_context([&](Device& state) {
    if (!state.streams.has(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
    stream->capturing = false;
    *graph = nullptr;
    if (!stream->capture_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    *graph = state.graphs.add(std::make_unique<CUgraph_st>(CUgraph_st{std::move(stream->captured)}));
    stream->captured.clear();
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  return in_context([&](Device& state) {
    if (executable == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!state.graphs.has(graph)) return CUDA_ERROR_INVALID_HANDLE;
    *executable = state.executable_graphs.add(std::make_unique<CUgraphExec_st>(CUgraphExec_st{graph->work}));
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuGraphUpload(CUgraphExec executable, CUstream stream) {
  return in_context([&](Device& state) {
    return state.executable_graphs.has(executable) && state.has_stream(stream) ? CUDA_SUCCESS
                                                                               : CUDA_ERROR_INVALID_HANDLE;
  });
}

KW_EXPORT CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  return in_context([&](Device& state) {
    if (!state.executable_graphs.has(executable) || !state.has_stream(stream)) return CUDA_ERROR_INVALID_HANDLE;
    const bool capturing = state.streams.has(stream) && stream->capturing;
    for (const Work& work : executable->work) {
      const CUresult done = capturing ? submit(state, stream, work) : run(state, work);
      if (done != CUDA_SUCCESS) return done;
      if (state.fault != CUDA_SUCCESS) break;  // what follows in the graph does not run
    }
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuGraphExecDestroy(CUgraphExec executable) {
  return in_context([&](Device& state) {
    return state.executable_graphs.remove(executable) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

KW_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  return in_context(
      [&](Device& state) { return state.graphs.remove(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}

KW_EXPORT CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  return in_context([&](Device& state) {
    if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *event = state.events.add(std::make_unique<CUevent_st>());
    (*event)->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
  return in_context([&](Device& state) {
    if (!state.events.has(event) || !state.has_stream(stream)) return CUDA_ERROR_INVALID_HANDLE;
    // In a capture it would only order streams: it has no time.
    event->recorded = !(state.streams.has(stream) && stream->capturing);
    if (!event->recorded) return CUDA_SUCCESS;
    state.pass(event_time_ns);
    event->time_ns = state.clock_ns;
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuEventSynchronize(CUevent event) {
  return in_context([&](Device& state) { return state.events.has(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}

KW_EXPORT CUresult cuEventElapsedTime_v2(float* time_ms, CUevent start, CUevent end) {
  return elapsed_time(time_ms, start, end);
}

// cuda.h gives the newer function the older one's name; programs that look names up find both.
#undef cuEventElapsedTime
KW_EXPORT CUresult cuEventElapsedTime(float* time_ms, CUevent start, CUevent end) {
  return elapsed_time(time_ms, start, end);
}
