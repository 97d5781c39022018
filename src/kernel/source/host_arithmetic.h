#pragma once
// Conversions and operators on host values with C++'s rules: promotion, width, signedness, wrap-around. What is
// undefined in C++ (signed overflow, division by zero, shifts out of range, a float that does not fit an integer) is an
// error. The errors carry no position; the interpreter adds it.

#include <string_view>

#include "base/result.h"
#include "kernel/source/host_value.h"

namespace kw {

enum class Conversion { implicit, cast, reinterpret };

Result<HostValue> convert(const HostValue& value, const HostType* to, Conversion how, TypeTable& types);

// How good an argument fits a parameter: 0 exact, 1 promotion, 2 conversion; -1 not at all.
int conversion_rank(const HostType& from, const HostType& to);

Result<bool> truth(const HostValue& value);

// The type that both operands of an arithmetic operator are converted to; null when there is none.
const HostType* common_type(const HostType& a, const HostType& b, const TypeTable& types);
// The type of `a op b`; null when it is not an arithmetic operation.
const HostType* binary_result_type(std::string_view op, const HostType& a, const HostType& b, const TypeTable& types);

Result<HostValue> apply_unary(std::string_view op, const HostValue& value, TypeTable& types);
Result<HostValue> apply_binary(std::string_view op, const HostValue& a, const HostValue& b, TypeTable& types);

// Integer promotion: what `+x` has.
const HostType* promoted(const HostType& type, const TypeTable& types);

}  // namespace kw
