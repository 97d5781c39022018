#pragma once
// KW_CHECK(condition): a violated invariant is a bug of ours, so it aborts with file and line; it stays on in release
// builds.

namespace kw {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

#define KW_CHECK(condition) ((condition) ? static_cast<void>(0) : ::kw::check_failed(#condition, __FILE__, __LINE__))
