#!/usr/bin/env python3
"""Writes the golden files of tests/model with transformers, PEFT and PyTorch's autograd, in float32:
    $(scripts/parity_env.sh)/venv/bin/python scripts/model_golden.py tests/model

A folder for each model: its Hugging Face files, and expected.safetensors with
  prompt, logits             logits of one sequence
  greedy_prompts, greedy     64 tokens after each prompt, always the likeliest
  batch.*                    a packed batch (model/decoder/training.h), and d loss / d log_prob and d entropy for each scored token
  log_prob, entropy          of its scored tokens
  gradient.NAME              of every parameter
  lora.*                     the same with the adapter of the folder `adapter` on the sequences that batch.adapter names
"""
import pathlib
import shutil
import sys

import safetensors.torch
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

SHAPE = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=40,
             vocab_size=64, max_position_embeddings=256, bos_token_id=None, eos_token_id=None, pad_token_id=None)


def randomise(model, seed, embedding=1.0):
    """Weights large enough that the likeliest token is never a matter of rounding; norms and biases that matter."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if "norm" in name:
                parameter.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.3 * noise)
            else:
                parameter.copy_(noise * (embedding if "embed" in name or "lm_head" in name else 1.2 / parameter.shape[1] ** 0.5))


def packed_batch(vocabulary, seed, lengths=(17, 5, 23), adapters=(0, -1, 0)):
    """Several sequences; questions are not scored; one coefficient for each scored token, as a policy gradient has them."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, vocabulary, (sum(lengths),), generator=generator, dtype=torch.int32)
    starts = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int64)
    scored = torch.zeros(len(tokens), dtype=torch.uint8)
    for begin, end in zip(starts[:-1], starts[1:]):
        scored[begin + 1 + (end - begin) // 4:end] = 1
    count = int(scored.sum())
    return {"batch.tokens": tokens, "batch.starts": starts, "batch.scored": scored,
            "batch.adapter": torch.tensor(adapters, dtype=torch.int32), "batch.temperature": torch.tensor([0.8]),
            "batch.d_log_prob": torch.randn(count, generator=generator) / count,
            "batch.d_entropy": torch.randn(count, generator=generator) * 0.1 / count}


def scores(model, batch, use_adapter):
    """log-probabilities and entropies of the scored tokens, sequence by sequence, as one graph."""
    log_probs, entropies = [], []
    starts = batch["batch.starts"].tolist()
    for number, (begin, end) in enumerate(zip(starts[:-1], starts[1:])):
        tokens = batch["batch.tokens"][begin:end].long()
        bare = use_adapter and batch["batch.adapter"][number] < 0
        if bare:
            with model.disable_adapter():
                logits = model(tokens[None]).logits[0]
        else:
            logits = model(tokens[None]).logits[0]
        logs = torch.log_softmax(logits[:-1] / batch["batch.temperature"], -1)
        wanted = batch["batch.scored"][begin + 1:end].bool()
        log_probs.append(logs.gather(1, tokens[1:, None])[:, 0][wanted])
        entropies.append(-(logs.exp() * logs).sum(-1)[wanted])
    return torch.cat(log_probs), torch.cat(entropies)


def greedy(model, prompts, count):
    """Also the smallest lead of a chosen token over the next: what rounding may not overturn."""
    answers, lead = [], float("inf")
    for prompt in prompts:
        tokens = prompt.long()[None]
        for _ in range(count):
            with torch.no_grad():
                best = model(tokens).logits[0, -1].topk(2)
            lead = min(lead, float(best.values[0] - best.values[1]))
            tokens = torch.cat([tokens, best.indices[:1][None]], 1)
        generated = model.generate(prompt.long()[None], attention_mask=torch.ones(1, len(prompt)), max_new_tokens=count, do_sample=False)
        assert torch.equal(generated, tokens)  # generate() with its cache agrees
        answers.append(tokens[0, len(prompt):].int())
    return torch.stack(answers), lead


def write(folder, model, dtype, seed, shard_size, gradients, lora):
    randomise(model, seed)
    model = model.to(dtype)
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, max_shard_size=shard_size)
    # Values of the file, arithmetic in float32. (Not model.float(): .to(bfloat16) has rounded the rotary frequencies too.)
    model = model.__class__.from_pretrained(folder, dtype=torch.float32).eval()
    vocabulary = model.config.vocab_size
    generator = torch.Generator().manual_seed(seed + 1)
    prompt = torch.randint(0, vocabulary, (24,), generator=generator, dtype=torch.int32)
    prompts = torch.randint(0, vocabulary, (3, 7), generator=generator, dtype=torch.int32)
    expected = {"prompt": prompt, "greedy_prompts": prompts}
    with torch.no_grad():
        expected["logits"] = model(prompt.long()[None]).logits[0].clone()
    expected["greedy"], lead = greedy(model, prompts, 64)
    batch = packed_batch(vocabulary, seed + 2)
    expected |= batch
    log_prob, entropy = scores(model, batch, False)
    expected |= {"log_prob": log_prob.detach(), "entropy": entropy.detach()}
    if gradients:
        loss = (log_prob * batch["batch.d_log_prob"]).sum() + (entropy * batch["batch.d_entropy"]).sum()
        loss.backward()
        expected |= {f"gradient.{name}": value.grad.clone() for name, value in model.named_parameters()}
    if lora:
        torch.manual_seed(seed + 3)
        config = LoraConfig(r=2, lora_alpha=5, init_lora_weights=False,
                            target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])
        adapted = get_peft_model(model, config)
        adapted.save_pretrained(folder / "adapter")
        adapted = PeftModel.from_pretrained(model.__class__.from_pretrained(folder, dtype=torch.float32), folder / "adapter",
                                            is_trainable=True).eval()
        with torch.no_grad():
            expected["lora.logits"] = adapted(prompt.long()[None]).logits[0].clone()
        log_prob, entropy = scores(adapted, batch, True)
        expected |= {"lora.log_prob": log_prob.detach(), "lora.entropy": entropy.detach()}
        ((log_prob * batch["batch.d_log_prob"]).sum() + (entropy * batch["batch.d_entropy"]).sum()).backward()
        for name, value in adapted.named_parameters():
            if "lora_" in name:
                expected["lora.gradient." + name.removeprefix("base_model.model.").replace(".default", "")] = value.grad.clone()
    safetensors.torch.save_file({name: value.contiguous() for name, value in expected.items()}, folder / "expected.safetensors")
    for extra in folder.rglob("README.md"):
        extra.unlink()
    print(f"{folder.name}: {model.num_parameters()} parameters, smallest lead of a greedy token {lead:.4f}, "
          f"{sum(f.stat().st_size for f in folder.rglob('*') if f.is_file())} bytes")
    assert lead > 1e-3, "rounding could change a greedy token: take another seed"


def main():
    torch.use_deterministic_algorithms(True)
    root = pathlib.Path(sys.argv[1])
    root.mkdir(parents=True, exist_ok=True)
    write(root / "qwen2_f32", Qwen2ForCausalLM(Qwen2Config(**SHAPE, tie_word_embeddings=True, rms_norm_eps=1e-6, rope_theta=1e6)),
          torch.float32, 11, "1GB", True, True)
    write(root / "llama_bf16_sharded", LlamaForCausalLM(LlamaConfig(**SHAPE | dict(num_key_value_heads=1), head_dim=16, attention_bias=True,
          tie_word_embeddings=False, rms_norm_eps=1e-5, rope_theta=1e4)), torch.bfloat16, 21, "20KB", False, False)
    write(root / "llama_bf16_tied", LlamaForCausalLM(LlamaConfig(**SHAPE | dict(num_key_value_heads=4), tie_word_embeddings=True,
          rms_norm_eps=1e-5, rope_theta=1e5)), torch.bfloat16, 31, "1GB", False, False)


if __name__ == "__main__":
    main()
