"""What Hugging Face reaches on the same GPU with the same shapes (random weights, bf16), as tables like
bench/model_gpu_bench.cpp prints them: transformers' generate, full training, LoRA training with PEFT.

    python scripts/gpu_huggingface_baseline.py [--models qwen2.5-coder-0.5b,...] [--batches 64]
"""
import argparse
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

# hidden, layers, query heads, kv heads, intermediate, vocabulary
SHAPES = {
    "small-30m": (LlamaConfig, LlamaForCausalLM, 512, 8, 8, 4, 1376, 4096),
    "smollm2-135m": (LlamaConfig, LlamaForCausalLM, 576, 30, 9, 3, 1536, 49152),
    "qwen2.5-coder-0.5b": (Qwen2Config, Qwen2ForCausalLM, 896, 24, 14, 2, 4864, 151936),
    "qwen2.5-coder-1.5b": (Qwen2Config, Qwen2ForCausalLM, 1536, 28, 12, 2, 8960, 151936),
}
BYTES_PER_SECOND, FLOPS_PER_SECOND = 4.8e12, 790e12


def make(name):
    config_class, model_class, hidden, layers, heads, kv_heads, intermediate, vocabulary = SHAPES[name]
    config = config_class(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                          num_key_value_heads=kv_heads, intermediate_size=intermediate, vocab_size=vocabulary,
                          tie_word_embeddings=True, max_position_embeddings=8192, rms_norm_eps=1e-6,
                          bos_token_id=None, eos_token_id=None, pad_token_id=0, attn_implementation="sdpa")
    torch.manual_seed(0)
    with torch.device("cuda"):
        return model_class(config).to(torch.bfloat16)


def seconds_of(work):
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def decode(names, batches, context=1024, tokens=32):
    print(f"\n## generate() at a context of {context}\n| model | batch | ms a step | tok/s | share of bandwidth |\n"
          "| --- | --- | --- | --- | --- |")
    for name in names:
        model = make(name).eval()
        weights = 2 * sum(p.numel() for p in model.parameters())
        config = model.config
        for batch in batches:
            ids = torch.randint(1, config.vocab_size, (batch, context), device="cuda")
            mask = torch.ones_like(ids)

            def run(new):
                with torch.no_grad():
                    model.generate(ids, attention_mask=mask, do_sample=True, top_k=0, max_new_tokens=new,
                                   min_new_tokens=new)

            run(2)
            prompt = seconds_of(lambda: run(1))
            seconds = (seconds_of(lambda: run(1 + tokens)) - prompt) / tokens
            head = config.hidden_size // config.num_attention_heads
            cache = batch * context * config.num_hidden_layers * 2 * config.num_key_value_heads * head * 2
            share = (weights + cache) / BYTES_PER_SECOND / seconds
            print(f"| {name} | {batch} | {seconds * 1e3:.3f} | {batch / seconds:.0f} | {100 * share:.1f} % |", flush=True)
        del model
        torch.cuda.empty_cache()


def train(names, sequences=8, length=2048):
    from peft import LoraConfig, get_peft_model

    print(f"\n## Training, {sequences} sequences of {length}\n| model | what | ms a step | tok/s | share of flops |\n"
          "| --- | --- | --- | --- | --- |")
    for name in names:
        for full in (True, False):
            model = make(name).train()
            count = sum(p.numel() for p in model.parameters())
            config = model.config
            if not full:
                model = get_peft_model(model, LoraConfig(
                    r=16, lora_alpha=32, target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj",
                                                         "down_proj"]))
            optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4, fused=True)
            ids = torch.randint(0, config.vocab_size, (sequences, length), device="cuda")

            def step(micro):
                for i in range(0, sequences, micro):
                    loss = model(input_ids=ids[i:i + micro], labels=ids[i:i + micro], use_cache=False).loss
                    (loss * micro / sequences).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)

            # The best of several sizes of a micro-batch: what one of them costs in launches, another does in memory.
            seconds = float("inf")
            for micro in (1, 2, 4, 8):
                step(micro)
                step(micro)
                seconds = min(seconds, seconds_of(lambda: [step(micro) for _ in range(3)]) / 3)
            rate = sequences * length / seconds
            attention = 6 * config.num_hidden_layers * config.hidden_size * length
            flops = (6 if full else 4) * count + attention
            print(f"| {name} | {'full' if full else 'LoRA r16'} | {seconds * 1e3:.1f} | {rate:.0f} | "
                  f"{100 * rate * flops / FLOPS_PER_SECOND:.1f} % |", flush=True)
            del model, optimizer
            torch.cuda.empty_cache()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default="smollm2-135m,qwen2.5-coder-0.5b,qwen2.5-coder-1.5b")
    parser.add_argument("--train", default="qwen2.5-coder-0.5b")
    parser.add_argument("--batches", default="64")
    arguments = parser.parse_args()
    print("#", torch.cuda.get_device_name())
    decode([name for name in arguments.models.split(",") if name], [int(b) for b in arguments.batches.split(",")])
    train([name for name in arguments.train.split(",") if name])
