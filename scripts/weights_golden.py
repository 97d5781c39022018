#!/usr/bin/env python3
"""Writes the golden files of tests/weights with the packages that define the formats:
    pip install torch safetensors gguf numpy transformers peft bitsandbytes
    python scripts/weights_golden.py tests/weights
"""
import pathlib
import sys

import bitsandbytes.functional
import gguf
import numpy as np
import safetensors.torch
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
torch.manual_seed(7)
random = np.random.default_rng(7)

# Every element type; names that test the order.
types = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
         torch.uint8, torch.bool, torch.float8_e4m3fn, torch.float8_e5m2]
tensors = {}
for number, kind in enumerate(types):
    values = torch.randn(3, 5) * 4 if kind.is_floating_point else torch.randint(0, 2, (3, 5))
    tensors[f"z{9 - number % 3}.{str(kind)[6:]}"] = values.to(kind)
    tensors[f"a.{str(kind)[6:]}"] = values[0].clone().to(kind)
tensors["scalar"] = torch.tensor(2.5)
tensors["empty"] = torch.zeros(0, 4)
safetensors.torch.save_file(tensors, folder / "types.safetensors", metadata={"format": "pt"})
safetensors.torch.save_file({name: value.float() for name, value in tensors.items() if value.dtype.is_floating_point},
                            folder / "types_float.safetensors", metadata={"format": "pt"})

# One tensor for each block format, of random blocks whose scales are finite.
formats = {"F32": 4, "F16": 2, "BF16": 2, "Q8_0": 34, "Q4_0": 18, "Q4_1": 20, "Q4_K": 144, "Q6_K": 210}
halves = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q4_K": [0, 2], "Q6_K": [208]}
writer = gguf.GGUFWriter(folder / "blocks.gguf", "llama")
writer.add_uint8("test.u8", 200)
writer.add_int8("test.i8", -100)
writer.add_uint16("test.u16", 60000)
writer.add_int16("test.i16", -30000)
writer.add_int32("test.i32", -5)
writer.add_float32("test.f32", 1e-5)
writer.add_uint64("test.u64", 2**63)
writer.add_int64("test.i64", -(2**40))
writer.add_float64("test.f64", 0.1)
writer.add_bool("test.bool", True)
writer.add_array("test.strings", ["one", "", "drei \u00e4"])
writer.add_array("test.numbers", [1, -2, 3])
writer.add_array("test.floats", [0.5, 1.5])
expected = {}
for name, block_bytes in formats.items():
    kind = gguf.GGMLQuantizationType[name]
    elements, _ = gguf.GGML_QUANT_SIZES[kind]
    rows, blocks = 2, 512 // elements
    raw = random.integers(0, 256, (rows, blocks, block_bytes), dtype=np.uint8)
    if name in ("F32", "F16", "BF16"):
        values = random.standard_normal((rows, 512)).astype(np.float32)
        raw = gguf.quants.quantize(values, kind).view(np.uint8)
    else:
        for offset in halves[name]:
            scales = (random.standard_normal((rows, blocks)) * 0.01).astype(np.float16)
            scales[0, 0] = np.float16(6e-8 * 5)  # subnormal
            raw[:, :, offset:offset + 2] = scales[..., None].view(np.uint8)
        raw = raw.reshape(rows, -1)
    if name == "F32":
        writer.add_tensor(name, raw.view(np.float32))
    else:
        writer.add_tensor(name, raw, raw_shape=raw.shape, raw_dtype=kind)
    expected[name] = torch.from_numpy(gguf.quants.dequantize(raw.view(np.float32) if name == "F32" else raw, kind).copy()
                                      .reshape(rows, 512))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
safetensors.torch.save_file(expected, folder / "blocks_expected.safetensors", metadata={"format": "pt"})

# NF4 of values that nf4_test.cpp makes by the same formula; more than 256 blocks, so two nested blocks.
count = 64 * 300
index = np.arange(count, dtype=np.uint64)
values = (((index * 2654435761) % 2**32).astype(np.float64) / 2**32 - 0.5) * (1 + (index // 64) % 7).astype(np.float64) * 0.02
weight = torch.from_numpy(values.astype(np.float32)).reshape(300, 64)
packed, state = bitsandbytes.functional.quantize_4bit(weight, blocksize=64, compress_statistics=True, quant_type="nf4")
parts = {"w": packed} | {f"w.{name}": value for name, value in state.as_dict(packed=True).items()}
parts["expected"] = bitsandbytes.functional.dequantize_4bit(packed, state).reshape(-1)[-1024:].contiguous()
safetensors.torch.save_file(parts, folder / "nf4.safetensors", metadata={"format": "pt"})

# A model of a few thousand parameters and an adapter.
config = LlamaConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=24,
                     vocab_size=40, max_position_embeddings=64, rms_norm_eps=1e-5, rope_theta=50000.0, tie_word_embeddings=True,
                     bos_token_id=1, eos_token_id=2)
model = LlamaForCausalLM(config).to(torch.bfloat16)
model.save_pretrained(folder / "tiny_llama", max_shard_size="5KB")
adapted = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], init_lora_weights=False))
adapted.save_pretrained(folder / "tiny_adapter")
(folder / "tiny_adapter" / "README.md").unlink(missing_ok=True)
(folder / "tiny_llama" / "README.md").unlink(missing_ok=True)
