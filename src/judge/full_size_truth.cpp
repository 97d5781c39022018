#include "judge/full_size_truth.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/log.h"
#include "judge/gpu_task.h"
#include "judge/large_inputs.h"
#include "judge/task_entry.h"

namespace kw {
namespace {

constexpr std::int64_t sampled_chunks = 512;  // of an output
constexpr std::string_view stored_version = "full size truth 1";

// Contents that a recipe draws, or that are small enough to be kept.
class InputPages : public PageSource {
 public:
  explicit InputPages(LargeInput input) : input_(std::move(input)) {
    if (!input_.recipe) return;
    input_.tensor.bytes.clear();
    input_.tensor.bytes.shrink_to_fit();
  }

  void fill(std::uint64_t offset, std::byte* into, std::size_t bytes) const override {
    if (input_.recipe) {
      const std::uint64_t width = input_.recipe->element_bytes;  // a page holds whole elements
      draw_part(*input_.recipe, input_.table, offset / width, into, bytes / width * width);
      return;
    }
    const std::string& all = input_.tensor.bytes;
    if (offset < all.size()) std::memcpy(into, all.data() + offset, std::min<std::size_t>(bytes, all.size() - offset));
  }

 private:
  LargeInput input_;
};

// What is stored: everything but the inputs and places, which follow from the seed.
std::string to_stored(const FullSizeTruth& one) {
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  std::string values;
  for (std::size_t i = 0; i < one.truth.size(); ++i) {
    nlohmann::ordered_json unstable = nlohmann::ordered_json::array();
    // Infinity has no place in JSON.
    for (const UnstableElement& element : one.bounds[i].unstable)
      unstable.push_back({element.index, std::min(element.allowed, 1e300)});
    outputs.push_back({{"name", one.truth[i].name},
                       {"dtype", name_of(one.truth[i].dtype)},
                       {"bytes", one.truth[i].bytes.size()},
                       {"relative", one.bounds[i].relative},
                       {"absolute", one.bounds[i].absolute},
                       {"unstable", std::move(unstable)}});
    values += one.truth[i].bytes;
  }
  return outputs.dump() + "\n" + values;
}

bool from_stored(std::string_view stored, FullSizeTruth& one) {
  const std::size_t end = stored.find('\n');
  if (end == std::string_view::npos) return false;
  const auto outputs = nlohmann::ordered_json::parse(stored.substr(0, end), nullptr, false);
  if (outputs.is_discarded() || !outputs.is_array() || outputs.size() != one.places.size()) return false;
  std::string_view values = stored.substr(end + 1);
  try {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto& output = outputs[i];
      OutputTensor truth;
      truth.name = output.at("name").get<std::string>();
      const auto dtype = dtype_from_name(output.at("dtype").get<std::string>());
      const auto bytes = output.at("bytes").get<std::size_t>();
      if (!dtype || bytes > values.size() || bytes != one.places[i].size() * bytes_of(*dtype)) return false;
      truth.dtype = *dtype;
      truth.shape = {static_cast<std::int64_t>(one.places[i].size())};
      truth.bytes = std::string(values.substr(0, bytes));
      values.remove_prefix(bytes);
      ErrorBound bound{output.at("relative").get<double>(), output.at("absolute").get<double>()};
      for (const auto& element : output.at("unstable"))
        bound.unstable.push_back({element.at(0).get<std::int64_t>(), element.at(1).get<double>()});
      one.truth.push_back(std::move(truth));
      one.bounds.push_back(std::move(bound));
    }
  } catch (const nlohmann::json::exception&) {
    return false;
  }
  return true;
}

Result<void> answer(const Task& task, const std::vector<InputTensor>& inputs, bool jumps, std::uint64_t seed,
                    FullSizeTruth& one) {
  KW_TRY(const auto reference, make_reference(task));
  const auto answers = [&](const std::vector<InputTensor>& from,
                           std::initializer_list<Precision> precisions) -> Result<std::vector<std::vector<OutputTensor>>> {
    KW_TRY(const auto prepared, reference->prepare(from, Device::cpu));
    std::vector<std::vector<OutputTensor>> all;
    for (const Precision precision : precisions) {
      reference->start_work();
      KW_TRY(auto sampled, reference->run_at(*prepared, one.sizes, precision, one.places));
      auto& picked = all.emplace_back();
      for (SampledOutput& output : sampled) picked.push_back(std::move(output.elements));
    }
    return all;
  };
  KW_TRY(auto plain, answers(inputs, {Precision::truth, Precision::task_dtype}));
  one.truth = std::move(plain[0]);
  std::vector<std::vector<OutputTensor>> coarse;
  if (!task.tolerance) {
    KW_TRY(coarse, answers(coarse_inputs(inputs), {Precision::truth}));
  }
  for (std::size_t i = 0; i < one.truth.size(); ++i)
    one.bounds.push_back(task.tolerance ? ErrorBound{task.tolerance->relative, task.tolerance->absolute}
                                        : derive_bound({{one.truth[i], std::move(plain[1][i]), std::move(coarse[0][i])}},
                                                       terms_of(task, one.sizes)));
  if (!jumps) return {};
  for (const double sign : {1.0, -1.0}) {
    KW_TRY(const auto nudged, answers(nudged_inputs(inputs, {seed, sign, std::nullopt}), {Precision::truth}));
    for (std::size_t i = 0; i < one.truth.size(); ++i) add_unstable(one.truth[i], nudged[0][i], one.bounds[i]);
  }
  return {};
}

}  // namespace

FullSizeTruths::~FullSizeTruths() {
  if (working_.valid()) working_.wait();
}

void FullSizeTruths::prepare(bool jumps) {
  std::lock_guard lock(mutex_);
  if (!answers_.empty()) return;
  std::vector<std::promise<Answer>> promises(task_.sizes_train.size());
  for (auto& promise : promises) answers_.push_back(promise.get_future().share());
  working_ = std::async(std::launch::async, [this, jumps, promises = std::move(promises)]() mutable {
    for (std::size_t i = 0; i < promises.size(); ++i) promises[i].set_value(make(task_.sizes_train[i], jumps));
  });
}

FullSizeTruths::Answer FullSizeTruths::at(std::size_t train_size) {
  std::shared_future<Answer> answer;
  {
    std::lock_guard lock(mutex_);
    answer = answers_.at(train_size);
  }
  return answer.get();
}

FullSizeTruths::Answer FullSizeTruths::make(const Sizes& sizes, bool jumps) {
  auto one = std::make_shared<FullSizeTruth>();
  one->sizes = sizes;
  std::int64_t bytes = 0;
  for (const auto* tensors : {&task_.inputs, &task_.outputs})
    for (const TensorSpec& tensor : *tensors) {
      KW_TRY(const std::int64_t elements, tensor.elements_at(sizes));
      bytes += elements * static_cast<std::int64_t>(bytes_of(tensor.dtype));
    }
  if (bytes > largest_truth_bytes)
    return Error{fmt::format("{} has {} MiB of tensors, and at most {} MiB are compared without a GPU",
                             to_string(sizes), bytes >> 20, largest_truth_bytes >> 20),
                 "Judge it on a GPU, or declare smaller train sizes.",
                 {}};
  const std::string key =
      Sha256().add(stored_version).add(secret_).add(identity_).add(to_string(sizes)).add(jumps ? "jumps" : "").hex();
  const std::uint64_t seed = std::stoull(key.substr(0, 12), nullptr, 16);
  KW_TRY(auto large, make_large_inputs(task_, sizes, seed, full_size_seed));
  for (const TensorSpec& output : task_.outputs) {
    KW_TRY(const std::int64_t elements, output.elements_at(sizes));
    const std::size_t width = bytes_of(output.dtype);
    auto places = places_of(choose_sample(elements, width, seed ^ one->places.size(), sampled_chunks), elements, width);
    one->places.push_back(std::move(places));
  }
  const auto stored = cache_ != nullptr ? cache_->get(key) : std::nullopt;
  if (!stored || !from_stored(*stored, *one)) {
    one->truth.clear();
    one->bounds.clear();
    std::vector<InputTensor> inputs;
    for (LargeInput& input : large) {
      inputs.push_back(input.recipe ? std::move(input.tensor) : input.tensor);
      // The pages are drawn again from the recipe; the tensor itself is the reference's.
    }
    KW_TRY_VOID(answer(task_, inputs, jumps, seed, *one));
    if (cache_ != nullptr)
      if (const auto put = cache_->put(key, to_stored(*one)); !put.ok())
        log_event(spdlog::level::debug, "full_size_not_stored", {{"reason", put.error().message}});
  }
  for (std::size_t i = 0; i < large.size(); ++i)
    if (!task_.inputs[i].is_scalar()) one->inputs.push_back(std::make_shared<InputPages>(std::move(large[i])));
  return std::shared_ptr<const FullSizeTruth>(std::move(one));
}

}  // namespace kw
