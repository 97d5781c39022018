#include "app/serve/judge_api.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <set>

#include "agents/agent/answer_json.h"
#include "agents/episode/episode.h"
#include "agents/normal_form/launcher_order.h"
#include "app/serve/api_json.h"
#include "app/serve/prompt_api.h"
#include "app/serve/request_fields.h"
#include "app/serve/reward_wish.h"
#include "base/http/server_sent_events.h"
#include "kernel/judge/task_identity.h"

namespace kw {
namespace {

constexpr std::size_t max_answer_bytes = 1u << 20;

struct AskedKernel {
  std::string id;
  std::shared_ptr<const nlohmann::json> task;  // one for all that bring none of their own: it may be megabytes
  std::string kernel;                          // empty: the answer holds none
  std::optional<Answer> answer;                // what a model said, where the kernel is to be found in that
};

// Kernels need not be UTF-8, which JSON's texts are.
void read_hex(RequestFields& members, AskedKernel& asked) {
  const std::string digits = members.text("kernel_hex", "", 2 * max_kernel_file_bytes);
  const auto value = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int high = value(digits[i]), low = value(digits[i + 1]);
    if (high < 0 || low < 0) return members.refuse("kernel_hex", "must be digits 0-9 and a-f");
    asked.kernel += static_cast<char>(16 * high + low);
  }
  if (digits.empty() || digits.size() % 2 != 0) members.refuse("kernel_hex", "must be two digits for each byte");
}

// A kernel, or an answer that may hold one.
void read_text(RequestFields& members, AskedKernel& asked) {
  if (members.has("kernel_hex") && !members.has("kernel") && !members.has("answer")) return read_hex(members, asked);
  asked.kernel = members.text("kernel", "", max_kernel_file_bytes);
  if (!members.has("answer")) {
    if (asked.kernel.empty()) members.refuse("kernel", "is missing or empty");
    return;
  }
  if (members.has("kernel")) members.refuse("answer", "and 'kernel' are two things to judge: give one of them");
  asked.answer = parse_answer(members.text("answer", "", max_answer_bytes));
  asked.kernel = asked.answer->kernel;
}

void read_kernel(RequestFields& fields, const nlohmann::json& one, std::size_t index,
                 const std::shared_ptr<const nlohmann::json>& task, std::vector<AskedKernel>& kernels) {
  if (!one.is_object()) return fields.refuse("kernels", "must be a list of {\"id\": ..., \"kernel\": ...}");
  RequestFields members(one);
  AskedKernel asked;
  asked.id = members.text("id", std::to_string(index), 256);
  read_text(members, asked);
  asked.task = members.has("task") ? std::make_shared<const nlohmann::json>(members.value("task")) : task;
  if (members.problem()) fields.refuse("kernels", fmt::format("is wrong at {}: {}", index, members.problem()->body));
  kernels.push_back(std::move(asked));
}

std::vector<AskedKernel> read_kernels(RequestFields& fields) {
  std::vector<AskedKernel> kernels;
  const nlohmann::json& many = fields.value("kernels");
  const auto task = std::make_shared<const nlohmann::json>(fields.value("task"));
  if (many.is_null()) {
    kernels.push_back({fields.text("id", "0", 256), task, "", {}});
    read_text(fields, kernels.back());
  } else if (!many.is_array() || many.empty() || many.size() > max_kernels_of_request) {
    fields.refuse("kernels", fmt::format("must be a list of 1 to {} kernels", max_kernels_of_request));
  } else {
    for (std::size_t i = 0; i < many.size(); ++i) read_kernel(fields, many[i], i, task, kernels);
  }
  for (const AskedKernel& asked : kernels)
    if (asked.task->is_null()) fields.refuse("task", "is missing: a name of the suite, or {\"yaml\": the task's text}");
  return kernels;
}

// Numbers that order kernels by how good they are for going on with, the most important first, as conversations have
// it. Null: the judge has said nothing about the kernel itself.
Json rank_json(const Verdict& verdict) {
  if (!says_something(verdict)) return nullptr;
  const KernelRank rank = rank_of(verdict);
  return Json::array({rank.right ? 1 : 0, rank.speedup, rank.quickness, rank.compiled ? 1 : 0, rank.pass_rate});
}

}  // namespace

// One request: its kernels, and the verdicts that are there.
struct JudgeApi::Batch {
  std::vector<AskedKernel> kernels;
  bool many = false, stream = false;
  QuestionWords words = QuestionWords::task;  // that answers are answers to
  std::optional<RewardWish> reward;
  std::string task_identity;  // that the client's task has; empty: it does not say
  JudgePool* pool = nullptr;  // of the purpose that it asks for
  std::shared_ptr<HttpReply> reply;

  std::mutex mutex;
  std::vector<JudgePool::Ticket> tickets;
  std::vector<std::shared_ptr<const Verdict>> verdicts;  // null: not there yet, or there was nothing to judge
  std::size_t left = 0;
  bool ended = false;  // refused, or the client is gone: nothing more is sent

  Json result(std::size_t index) const {
    const AskedKernel& asked = kernels[index];
    const Verdict* verdict = verdicts[index].get();
    Json json{{"id", asked.id},
              {"verdict", verdict ? to_json(*verdict) : Json(nullptr)},
              {"rank", verdict ? rank_json(*verdict) : Json(nullptr)}};
    if (asked.answer) {
      json["answer"] = to_json(*asked.answer);
      if (verdict) json["answer"]["kernel"] = asked.kernel;  // as it was judged
    }
    if (reward)
      json["reward"] = to_json(verdict ? reward_of(*verdict, reward->shape, reward->given, reward->role)
                                       : reward_without_kernel(*reward, asked.answer->message));
    return json;
  }

  // `verdict`: null for an answer that holds no kernel.
  void take(std::size_t index, std::shared_ptr<const Verdict> verdict) {
    const std::lock_guard lock(mutex);
    if (ended) return;
    verdicts[index] = std::move(verdict);
    --left;
    if (stream) {
      reply->write(sse_event(-1, "verdict", dump_json(result(index))));
      if (left > 0) return;
      reply->write(sse_event(-1, "end", dump_json({{"count", kernels.size()}})));
      return reply->end_stream();
    }
    if (left > 0) return;
    if (!many) return reply->respond({200, "application/json", dump_json(result(0)), {}});
    Json results = Json::array();
    for (std::size_t i = 0; i < kernels.size(); ++i) results.push_back(result(i));
    reply->respond({200, "application/json", dump_json({{"results", std::move(results)}}), {}});
  }

  // What waits is not judged for nobody.
  void leave() {
    std::vector<JudgePool::Ticket> waiting;
    {
      const std::lock_guard lock(mutex);
      ended = true;
      waiting.swap(tickets);
    }
    for (const JudgePool::Ticket ticket : waiting) pool->cancel(ticket);
  }
};

void JudgeApi::judge(const HttpRequest& request, std::shared_ptr<HttpReply> reply) {
  RequestFields fields(request);
  auto batch = std::make_shared<Batch>();
  batch->reply = reply;
  batch->many = fields.has("kernels");
  batch->stream = fields.flag("stream", false);
  batch->words = read_question_words(fields);
  batch->reward = read_reward_wish(fields);
  batch->task_identity = fields.text("task_identity", "", 64);
  batch->pool = judges_.pool_for(fields.text("purpose", "verdict", 20));
  if (batch->pool == nullptr) fields.refuse("purpose", "must be verdict, training or exam");
  batch->kernels = read_kernels(fields);
  if (fields.problem()) return reply->respond(*fields.problem());
  batch->left = batch->kernels.size();
  batch->verdicts.resize(batch->kernels.size());
  reply->on_gone([weak = std::weak_ptr(batch)] {
    if (const auto left = weak.lock()) left->leave();
  });
  if (!work_.submit([this, batch] { begin(batch); })) reply->respond(busy_response());
}

void JudgeApi::begin(const std::shared_ptr<Batch>& batch) {
  std::map<const nlohmann::json*, std::shared_ptr<const Task>> tasks;  // each is read once
  for (const AskedKernel& asked : batch->kernels) {
    auto& task = tasks[asked.task.get()];
    if (task) continue;
    const auto found = tasks_.find(*asked.task);
    if (!found.ok()) return batch->reply->respond(http_error(400, to_string(found.error()), "task"));
    task = (*found)->task();
    if (!batch->task_identity.empty() && task_identity(*task) != batch->task_identity)
      return batch->reply->respond(
          http_error(409, "the task is read differently here: another version of Kernelwright?", "task_identity"));
  }
  JudgePool& pool = *batch->pool;
  for (AskedKernel& asked : batch->kernels) {
    if (!asked.answer || asked.kernel.empty()) continue;
    if (const auto form = asked_form(*tasks[asked.task.get()], batch->words))
      asked.kernel = in_task_order(*form, asked.kernel);
  }
  if (pool.waiting() + batch->kernels.size() > most_waiting_)
    return batch->reply->respond(http_error(429, "too many kernels are waiting to be judged; try again in a moment"));
  if (batch->stream) batch->reply->begin_stream(event_stream());
  for (std::size_t i = 0; i < batch->kernels.size(); ++i) {
    const AskedKernel& asked = batch->kernels[i];
    if (asked.kernel.empty()) {
      batch->take(i, nullptr);
      continue;
    }
    const auto ticket = pool.submit_now(tasks[asked.task.get()], asked.kernel,
                                        [this, batch, i](std::shared_ptr<const Verdict> verdict) {
                                          note_(*verdict);
                                          batch->take(i, std::move(verdict));
                                        });
    const std::lock_guard lock(batch->mutex);
    if (batch->ended) {
      pool.cancel(ticket);
      return;
    }
    batch->tickets.push_back(ticket);
  }
}

}  // namespace kw
