#pragma once
// Expected failure as a value: Result<T> holds either a T or an Error that a person can act on.

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace kw {

// Where in a user's file something is; lines and columns count from 1, 0 means unknown.
struct Position {
  std::string file;
  int line = 0;
  int column = 0;

  friend bool operator==(const Position&, const Position&) = default;
};

struct Error {
  std::string message;  // one sentence: what is wrong
  std::string advice;   // what to do about it; may be empty
  Position where;

  friend bool operator==(const Error&, const Error&) = default;
};

// "file:3:7: message (advice)", leaving out what is not known.
std::string to_string(const Error& error);
std::string to_string(const Position& position);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& {
    KW_CHECK(ok());
    return std::get<0>(state_);
  }
  T& value() & {
    KW_CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    KW_CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Error& error() const& {
    KW_CHECK(!ok());
    return std::get<1>(state_);
  }
  Error&& error() && {
    KW_CHECK(!ok());
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

// For steps that only succeed or fail.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& {
    KW_CHECK(!ok());
    return *error_;
  }
  Error&& error() && {
    KW_CHECK(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace kw

#define KW_JOIN_INNER(a, b) a##b
#define KW_JOIN(a, b) KW_JOIN_INNER(a, b)

// KW_TRY(auto task, load_task(path)); returns the error to the caller, or declares `task`.
#define KW_TRY(declaration, expression) KW_TRY_NAMED(KW_JOIN(kw_result_, __LINE__), declaration, expression)
#define KW_TRY_NAMED(name, declaration, expression) \
  auto name = (expression);                         \
  if (!name.ok()) return std::move(name).error();   \
  declaration = std::move(name).value()

// KW_TRY_VOID(write_file(path, text)); the same for Result<void>.
#define KW_TRY_VOID(expression)                               \
  do {                                                        \
    auto kw_status = (expression);                            \
    if (!kw_status.ok()) return std::move(kw_status).error(); \
  } while (false)
