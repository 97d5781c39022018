#pragma once
// A task's reference as the program sees it: every call is a request to a process that may die of it.

#include <map>
#include <mutex>
#include <optional>

#include "kernel/reference/reference_service.h"

namespace kw {

class RemoteReference : public Reference {
 public:
  // `elementwise`: only where the text works element by element (make_elementwise_reference).
  explicit RemoteReference(Task task, bool elementwise = false);
  ~RemoteReference() override;

  // Compiles the text; the error says what is wrong with it.
  Result<void> define();

  void start_work() override;
  Result<std::vector<OutputTensor>> run(const std::vector<InputTensor>& inputs, const Sizes& sizes, Precision precision,
                                        Device device) override;
  Result<std::unique_ptr<PreparedInputs>> prepare(const std::vector<InputTensor>& inputs, Device device) override;
  Result<std::vector<OutputTensor>> run(const PreparedInputs& inputs, const Sizes& sizes, Precision precision) override;
  Result<std::vector<SampledOutput>> run_at(const PreparedInputs& inputs, const Sizes& sizes, Precision precision,
                                            const Positions& positions) override;
  Result<ReferenceTimes> time_us(const PreparedInputs& inputs, const Sizes& sizes,
                                 const TimingOptions& options) override;

 private:
  struct Question;
  struct Answered;

  // The answer, its tensors copied out of the shared memory. Tries again with another process when one dies.
  Result<Answered> ask(const Question& question);
  Result<ReferenceAnswer> ask_once(const Question& question, Answered& answered);
  Result<std::shared_ptr<ReferenceProcess>> process_for(Device device);
  Error explain(const ReferenceAnswer& answer, const Question& question, int attempts) const;

  const Task task_;
  const std::uint64_t number_;
  const ReferenceCommand define_;
  std::mutex mutex_;
  std::shared_ptr<ReferenceProcess> process_;  // on the CPU; may have ended
  std::uint64_t spent_us_ = 0;                 // of CPU time since start_work()
  std::map<std::string, Error> hopeless_;      // sizes at which the text took too long
};

}  // namespace kw
