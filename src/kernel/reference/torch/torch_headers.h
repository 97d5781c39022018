#pragma once
// The only place where libtorch's headers are included; precompiled, because they take half a minute.
#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/script.h>
#include <torch/version.h>
