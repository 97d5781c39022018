#!/usr/bin/env python3
"""Compares the model with transformers, PEFT, bitsandbytes and PyTorch's autograd on this machine's CPU, one line a check:
    $(scripts/parity_env.sh)/venv/bin/python scripts/model_parity.py build/kernelwright [--model FILE.gguf] [--prompts 20]

What is compared: logits, greedy answers, LoRA adapters in both directions, NF4 in both directions, gradients of packed batches against
autograd sequence by sequence. The model is SmolLM2-135M-Instruct (kernelwright model fetch smollm2-135m) and random ones.
Error of a tensor: ||ours - theirs|| / ||theirs||. Exit status 1 where anything is beyond its bound.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import bitsandbytes.functional
import safetensors.torch
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

import model_golden

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
LOGITS, SCORES, GRADIENTS = 1e-5, 1e-5, 1e-5
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
PROMPTS = [
    "What is the capital of France?", "Write a haiku about the sea.", "Explain what a GPU is to a child.", "List three prime numbers.",
    "Translate to German: good morning.", "Who wrote Hamlet?", "Why is the sky blue?", "Give me a recipe for pancakes.",
    "Write a C function that adds two arrays.", "What is 12 times 12?", "Name the planets of the solar system.",
    "Write a CUDA kernel that adds two vectors.", "Tell me a joke.", "What does HTTP stand for?", "How do I sort a list in Python?",
    "Summarise the story of Cinderella in two sentences.", "What is a warp?", "Is zero an even number?",
    "Write an email that declines an invitation.", "What are the primary colours?",
]
failures = 0


def report(what, good, detail=""):
    global failures
    failures += not good
    print(f"{'ok    ' if good else 'FAILED'}  {what}{': ' + detail if detail else ''}", flush=True)


def error(ours, theirs):
    return ((ours.double() - theirs.double()).norm() / theirs.double().norm()).item()


class Ours:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, arguments))[:200]}: {done.stdout}{done.stderr}")
        return done.stdout

    def logits(self, model, sequences, *extra):
        out = self.folder / "ours.safetensors"
        self.run("model", "logits", model, "--tokens", ";".join(",".join(map(str, s)) for s in sequences), "--out", out, *extra)
        tensors = safetensors.torch.load_file(out)
        return [tensors["logits" if i == 0 else f"logits.{i}"] for i in range(len(sequences))]

    def greedy(self, model, prompts, count):
        text = self.run("model", "generate", model, "--tokens", ";".join(",".join(map(str, p)) for p in prompts), "--max-tokens", count)
        return [answer[0]["tokens"] for answer in json.loads(text)]

    def gradients(self, model, batch, *extra):
        safetensors.torch.save_file(batch, self.folder / "batch.safetensors")
        out = self.folder / "gradients.safetensors"
        self.run("model", "gradients", model, "--batch", self.folder / "batch.safetensors", "--out", out, *extra)
        return safetensors.torch.load_file(out)


def their_logits(model, sequences):
    with torch.no_grad():
        return [model(torch.tensor(s)[None]).logits[0].float() for s in sequences]


def worst(ours, theirs):
    return max(error(a, b) for a, b in zip(ours, theirs))


def check_smollm2(ours, path, model, prompts, generated):
    """The GGUF file as transformers reads it."""
    theirs = their_logits(model, prompts[:6])
    for how in ([], ["--quantised"]):
        largest = worst(ours.logits(path, prompts[:6], *how), theirs)
        report(f"SmolLM2 from its GGUF file, logits{' (blocks as they lie)' if how else ''}", largest < LOGITS,
               f"largest error {largest:.1e} over 6 prompts")
    answers = ours.greedy(path, prompts, 64)
    # A token is right if it is the likeliest after those before it, by transformers' logits of the whole answer at once.
    same, lead = 0, float("inf")
    for prompt, answer in zip(prompts, answers):
        logits = their_logits(model, [prompt + answer])[0][len(prompt) - 1:-1]
        best = logits.topk(2, -1)
        same += torch.equal(best.indices[:, 0], torch.tensor(answer))
        lead = min(lead, (best.values[:, 0] - best.values[:, 1]).min().item())
    report(f"SmolLM2, greedy, 64 tokens after {len(prompts)} prompts in one batch, likeliest tokens", same == len(prompts),
           f"{same} of {len(prompts)} answers identical; smallest lead of a token {lead:.1e}")
    same = 0
    for prompt, answer in zip(prompts[:generated], answers):
        out = model.generate(torch.tensor(prompt)[None], attention_mask=torch.ones(1, len(prompt)), max_new_tokens=64, min_new_tokens=64,
                             do_sample=False, eos_token_id=None, pad_token_id=0)
        same += out[0, len(prompt):].tolist() == answer
    report(f"SmolLM2, greedy, generate() with its cache, {generated} prompts", same == generated, f"{same} of {generated} answers identical")


SHAPES = {
    "Qwen2, tied, 7 query heads a kv head": lambda: Qwen2ForCausalLM(Qwen2Config(
        hidden_size=112, num_hidden_layers=3, num_attention_heads=14, num_key_value_heads=2, intermediate_size=300, vocab_size=1000,
        max_position_embeddings=512, tie_word_embeddings=True, rope_theta=1e6)),
    "Qwen2, untied": lambda: Qwen2ForCausalLM(Qwen2Config(
        hidden_size=96, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=3, intermediate_size=256, vocab_size=777,
        max_position_embeddings=512, tie_word_embeddings=False, rope_theta=1e6)),
    "Llama, untied, biases, heads wider than hidden": lambda: LlamaForCausalLM(LlamaConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=1, head_dim=32, intermediate_size=172, vocab_size=500,
        max_position_embeddings=512, tie_word_embeddings=False, attention_bias=True, rope_theta=1e4)),
    "Llama, tied": lambda: LlamaForCausalLM(LlamaConfig(
        hidden_size=128, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, intermediate_size=352, vocab_size=2048,
        max_position_embeddings=512, tie_word_embeddings=True, rope_theta=1e5)),
}


def their_gradients(model, batch, use_adapter):
    model.zero_grad()
    log_prob, entropy = model_golden.scores(model, batch, use_adapter)
    ((log_prob * batch["batch.d_log_prob"]).sum() + (entropy * batch["batch.d_entropy"]).sum()).backward()
    found = {"log_prob": log_prob.detach(), "entropy": entropy.detach()}
    for name, value in model.named_parameters():
        if value.grad is not None:
            found["gradient." + name.removeprefix("base_model.model.").replace(".default", "")] = value.grad
    return found


def compare_gradients(what, ours, theirs):
    missing = set(ours) ^ set(theirs)
    errors = {name: error(ours[name], theirs[name]) for name in ours if name in theirs}
    name = max((n for n in errors if n.startswith("gradient.")), key=errors.get)
    report(what, not missing and max(errors.values()) < GRADIENTS and len(errors) > 2,
           f"{len(errors) - 2} tensors, largest error {errors[name]:.1e} ({name[9:]}); log-probs {errors['log_prob']:.1e}, "
           f"entropies {errors['entropy']:.1e}" + (f"; only on one side: {sorted(missing)[:3]}" if missing else ""))


def check_shapes(ours, folder):
    for number, (name, make) in enumerate(SHAPES.items()):
        for dtype in (torch.float32, torch.bfloat16):
            home = folder / f"shape{number}_{dtype}"
            torch.manual_seed(number)
            model = make()
            model_golden.randomise(model, number, 0.3)  # logits of a few units, as trained models have them
            model.to(dtype).save_pretrained(home, max_shard_size="200KB")
            model = AutoModelForCausalLM.from_pretrained(home, dtype=torch.float32).eval()
            generator = torch.Generator().manual_seed(number)
            sequences = [torch.randint(0, model.config.vocab_size, (n,), generator=generator).tolist() for n in (1, 17, 200)]
            largest = worst(ours.logits(home, sequences), their_logits(model, sequences))
            report(f"{name}, {str(dtype)[6:]} weights, logits", largest < LOGITS, f"largest error {largest:.1e} over 1, 17 and 200 tokens")
            if dtype == torch.float32:
                batch = model_golden.packed_batch(model.config.vocab_size, number, (100, 3, 41, 17), (0, -1, 0, 0))
                theirs = their_gradients(model, batch, False)
                compare_gradients(f"{name}, gradients of everything, 4 sequences packed", ours.gradients(home, batch), theirs)
                compare_gradients(f"{name}, the same with activations computed again", ours.gradients(home, batch, "--recompute"), theirs)
                check_lora(ours, folder, name, model, home, batch, sequences)


def check_lora(ours, folder, name, model, home, batch, sequences):
    torch.manual_seed(5)
    adapter = folder / "adapter"
    get_peft_model(model, LoraConfig(r=4, lora_alpha=12, target_modules=TARGETS, init_lora_weights=False)).save_pretrained(adapter)
    base = AutoModelForCausalLM.from_pretrained(home, dtype=torch.float32)
    adapted = PeftModel.from_pretrained(base, adapter, is_trainable=True).eval()
    largest = worst(ours.logits(home, sequences, "--adapter", adapter), their_logits(adapted, sequences))
    report(f"{name}, PEFT's adapter in ours, logits", largest < LOGITS, f"largest error {largest:.1e}")
    compare_gradients(f"{name}, gradients of the adapter, one sequence without it", ours.gradients(home, batch, "--adapter", adapter),
                      their_gradients(adapted, batch, True))


def check_smollm2_lora(ours, folder, path, model, prompts, dump):
    torch.manual_seed(6)
    adapter, copy = folder / "smollm2_adapter", folder / "smollm2_copy"
    adapted = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=TARGETS, init_lora_weights=False))
    with torch.no_grad():  # as large as training makes it: PEFT's random start would drown the base, and all is rounding then
        for name, value in adapted.named_parameters():
            if "lora_B" in name:
                value.mul_(0.05)
    adapted.eval().save_pretrained(adapter)
    subprocess.run([dump, "adapter", adapter, copy], check=True, capture_output=True)
    mine = ours.logits(path, prompts[:2], "--adapter", copy)
    largest = worst(mine, their_logits(adapted, prompts[:2]))
    report("SmolLM2, PEFT's adapter in ours, logits", largest < LOGITS, f"largest error {largest:.1e}")
    batch = model_golden.packed_batch(model.config.vocab_size, 9, (50, 20), (0, 0))
    slopes, theirs = ours.gradients(path, batch, "--adapter", adapter), their_gradients(adapted, batch, True)
    # Thirty layers of float32 are further than 1e-5 from the truth, PyTorch's too: so both are compared with float64.
    adapted.double()
    truth = their_gradients(adapted, batch, True)
    adapted.float()
    missing = set(slopes) ^ set(truth)
    names = [name for name in truth if name.startswith("gradient.") and name in slopes]
    largest, largest_torch = (max(error(found[name], truth[name]) for name in names) for found in (slopes, theirs))
    median, median_torch = (sorted(error(found[name], truth[name]) for name in names)[len(names) // 2] for found in (slopes, theirs))
    report("SmolLM2 from its GGUF file, gradients of the adapter against float64", not missing and largest < max(GRADIENTS, largest_torch),
           f"{len(names)} tensors, largest error {largest:.1e} (PyTorch in float32: {largest_torch:.1e}), median {median:.1e} ({median_torch:.1e})")
    bare = adapted.unload()
    back = PeftModel.from_pretrained(bare, copy).eval()
    largest = worst(mine, their_logits(back, prompts[:2]))
    report("SmolLM2, our copy of the adapter in PEFT, logits", largest < LOGITS, f"largest error {largest:.1e}")
    back.unload()


def bitsandbytes_weights(model):
    """The weights of its Linear4bit layers as bitsandbytes itself expands them."""
    found = {}
    for name, module in model.named_modules():
        if type(module).__name__ == "Linear4bit":
            found[name + ".weight"] = bitsandbytes.functional.dequantize_4bit(module.weight.data, module.weight.quant_state).float()
    return found


def compare_nf4(ours, what, model, folder, prompts):
    """`folder`: the same model as we expand it. The weights are the test; Linear4bit's own products on a CPU are of lower precision."""
    theirs = bitsandbytes_weights(model)
    mine = safetensors.torch.load_file(folder / "model.safetensors")
    largest = max(error(mine[name], value) for name, value in theirs.items())
    theirs_logits = their_logits(model, prompts[:2])
    plain = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        for name, value in theirs.items():
            plain.get_parameter(name).copy_(value)
    expanded = their_logits(plain, prompts[:2])
    mine_logits = ours.logits(folder, prompts[:2])
    report(what, len(theirs) == 210 and largest < 1e-6 and worst(mine_logits, expanded) < LOGITS,
           f"{len(theirs)} Linear4bit, largest error of a weight {largest:.1e}, of logits {worst(mine_logits, expanded):.1e}; "
           f"Linear4bit's own products differ from float32 by {worst(theirs_logits, expanded):.1e}")


def check_nf4(ours, folder, path, prompts):
    nf4 = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True, "bnb_4bit_compute_dtype": torch.float32}
    ours.run("model", "quantize", path, folder / "nf4", "--type", "f32")
    model = AutoModelForCausalLM.from_pretrained(folder / "nf4", dtype=torch.float32, device_map="cpu").eval()
    ours.run("model", "convert", folder / "nf4", folder / "nf4_f32", "--type", "f32")
    compare_nf4(ours, "SmolLM2 that we quantised to NF4, opened by transformers and bitsandbytes", model, folder / "nf4_f32", prompts)
    ours.run("model", "convert", path, folder / "hf", "--type", "f32")
    model = AutoModelForCausalLM.from_pretrained(folder / "hf", dtype=torch.float32, device_map="cpu",
                                                 quantization_config=BitsAndBytesConfig(**nf4)).eval()
    model.save_pretrained(folder / "theirs")
    ours.run("model", "convert", folder / "theirs", folder / "theirs_f32", "--type", "f32")
    compare_nf4(ours, "SmolLM2 that bitsandbytes quantised to NF4, read by us", model, folder / "theirs_f32", prompts)
    # A Hugging Face folder from ours, with its tokenizer.
    tokenizer = AutoTokenizer.from_pretrained(folder / "hf")
    text = "<|im_start|>user\nWhat is a warp? 12,345 ünï\n<|im_end|>\n"
    gguf = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    chat = [{"role": "user", "content": "hello"}]
    same = tokenizer.encode(text) == gguf.encode(text) and (tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) ==
                                                           gguf.apply_chat_template(chat, tokenize=False, add_generation_prompt=True))
    report("the folder's tokenizer and chat template in transformers", same)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--model", help="SmolLM2's GGUF file (default: fetched)")
    parser.add_argument("--prompts", type=int, default=len(PROMPTS))
    parser.add_argument("--generated", type=int, default=5, help="prompts that generate() continues too: it is slow")
    parser.add_argument("--only", default="shapes,smollm2,lora,nf4")
    arguments = parser.parse_args()
    only = arguments.only.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ours = Ours(arguments.program, folder)
        if "shapes" in only:
            check_shapes(ours, folder)
        if only == ["shapes"]:
            sys.exit(failures > 0)
        path = pathlib.Path(arguments.model or ours.run("model", "fetch", "smollm2-135m").strip())
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        prompts = [tokenizer.apply_chat_template([{"role": "user", "content": p}], add_generation_prompt=True, return_dict=False)
                   for p in PROMPTS[:arguments.prompts]]
        if "smollm2" in only or "lora" in only:
            model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
        if "smollm2" in only:
            check_smollm2(ours, path, model, prompts, min(arguments.generated, arguments.prompts))
        if "lora" in only:
            check_smollm2_lora(ours, folder, path, model, prompts, pathlib.Path(arguments.program).parent / "src/model/weights/weights_dump")
        if "nf4" in only:
            check_nf4(ours, folder, path, prompts)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
