#pragma once
// A task says what to compute: inputs, outputs, a PyTorch reference, sizes, and the naive kernel that speedups are
// measured against. This header knows nothing about files; loading is in task_file.h.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "kernel/task/dtype.h"
#include "kernel/task/expression.h"

namespace kw {

// How an input is filled.
struct NormalValues {};
struct UniformValues {
  double low = 0;
  double high = 1;
};
struct IntegerValues {  // both ends included
  Expression low;
  Expression high;
};
using Values = std::variant<NormalValues, UniformValues, IntegerValues>;

struct TensorSpec {
  std::string name;
  Dtype dtype = Dtype::float32;
  std::vector<Expression> shape;  // empty: a scalar, passed by value
  Values values;                  // inputs only

  bool is_scalar() const { return shape.empty(); }
  Result<std::vector<std::int64_t>> shape_at(const Sizes& sizes) const;
  Result<std::int64_t> elements_at(const Sizes& sizes) const;
};

enum class Split { train, holdout };

struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// One parameter of the launcher that the task implies.
struct Parameter {
  enum class Role { input, scalar, output, size, stream };
  Role role;
  std::string name;
  Dtype dtype = Dtype::int32;  // of the element or the scalar; int32 for sizes; meaningless for the stream
};

struct Task {
  std::string name;
  int tier = 0;
  std::string family;
  Split split = Split::train;
  std::string summary;
  std::string pytorch;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<std::string> size_names;  // in the order in which they first appear in the shapes
  std::vector<Sizes> sizes_small;
  std::vector<Sizes> sizes_train;
  std::vector<Sizes> sizes_holdout;
  std::optional<Tolerance> tolerance;
  std::string naive;       // CUDA text
  std::string naive_file;  // where it was read from, for messages
  std::string file;        // where the task was read from

  std::vector<Sizes> all_sizes() const;
  // The launcher's parameters in order: inputs, outputs, sizes, stream.
  std::vector<Parameter> parameters() const;
  // `extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream)`
  std::string launcher_declaration() const;
  // Every size name must have a value >= 1, no other name may be there, and every tensor must stay below the element
  // limit.
  Result<void> check_sizes(const Sizes& sizes) const;
};

// A tensor with more elements than this is refused: index arithmetic in kernels is 32-bit.
inline constexpr std::int64_t max_tensor_elements = (std::int64_t{1} << 31) - 1;

}  // namespace kw
