#pragma once
// NVRTC knows the types and functions of device code without any header; the host's part of the run-time library is not
// for device code.
