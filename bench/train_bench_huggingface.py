#!/usr/bin/env python3
"""Training speed of Hugging Face transformers on the CPU, for the shapes of train_bench: run both in the same moment.

  train_bench_huggingface.py [PRESET] [SEQUENCES] [TOKENS] [VOCABULARY] [SECONDS] [THREADS]
"""
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

SHAPES = {  # hidden, layers, heads, kv heads, intermediate: those of src/model/decoder/presets.cpp
    "tiny-1m": (128, 4, 4, 2, 352),
    "tiny-3m": (192, 6, 6, 2, 512),
    "tiny-6m": (256, 6, 8, 2, 704),
    "small-30m": (512, 8, 8, 4, 1376),
}


def main():
    argument = dict(enumerate(sys.argv))
    preset = argument.get(1, "tiny-1m")
    sequences, tokens = int(argument.get(2, 8)), int(argument.get(3, 256))
    vocabulary, limit_s = int(argument.get(4, 2048)), float(argument.get(5, 3))
    hidden, layers, heads, kv_heads, intermediate = SHAPES[preset]
    if 6 in argument:
        torch.set_num_threads(int(argument[6]))
    torch.manual_seed(1)
    config = LlamaConfig(vocab_size=vocabulary, hidden_size=hidden, num_hidden_layers=layers,
                         num_attention_heads=heads, num_key_value_heads=kv_heads, intermediate_size=intermediate,
                         max_position_embeddings=2048, tie_word_embeddings=True, attn_implementation="sdpa")
    model = LlamaForCausalLM(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0, fused=True)
    ids = torch.randint(0, vocabulary, (sequences, tokens))
    times, cpu_times = [], []
    start = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < limit_s:
        one, cpu = time.perf_counter(), time.process_time()
        model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        times.append(time.perf_counter() - one)
        cpu_times.append(time.process_time() - cpu)
    times.sort()
    count = sequences * tokens
    parameters = sum(p.numel() for p in model.parameters()) / 1e6
    print(f"{preset}: {parameters:.2f} M parameters, {sequences} x {tokens} tokens, {torch.get_num_threads()} threads, "
          f"{len(times)} steps, torch {torch.__version__}")
    print(f"   best: {count / times[0]:8.0f} tok/s\n median: {count / times[len(times) // 2]:8.0f} tok/s")
    print(f"    CPU: {count / min(cpu_times):8.0f} tok/s of CPU time at best")


if __name__ == "__main__":
    main()
