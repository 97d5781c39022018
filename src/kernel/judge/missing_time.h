#pragma once
// A correct kernel has a time, or its verdict says why it has none: the flag `no_time` with a hint of that kind where a
// time was wanted and could not be had, the flag `not_timed` where nobody asked for one.

#include <string>

#include "kernel/judge/verdict.h"

namespace kw {

inline constexpr const char* no_time_flag = "no_time";
inline constexpr const char* not_timed_flag = "not_timed";

// Of a kernel that is not right, or was not judged to the end.
void forget_times(Verdict& verdict);

// Also forgets what was timed so far: a mean over some of the sizes is not the time of the kernel.
void set_no_time(Verdict& verdict, const std::string& reason, const std::string& advice = "");

// The last look at a verdict. A time that is no number, or none at all without a reason, gets its reason here.
void settle_time(Verdict& verdict, bool wanted);

// Why a correct kernel has no time, as a sentence; empty when it has one, or none was wanted.
std::string missing_time_reason(const Verdict& verdict);

}  // namespace kw
