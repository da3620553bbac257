"""Tokens of strings by the libraries that vocabulary files were made for.

Reads one JSON line that says which vocabulary and how, then a JSON string a line; writes two JSON lists of ids for each:
special-token text taken for ordinary, and taken for special tokens.
"""

import base64
import json
import sys


def hugging_face(file):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(file)

    def encode(texts):
        found = []
        for is_ordinary in (True, False):
            tokenizer.encode_special_tokens = is_ordinary
            found.append([each.ids for each in tokenizer.encode_batch(texts, add_special_tokens=False)])
        return zip(*found)

    return encode


def tiktoken(ranks, pattern, special, offset=0):
    from tiktoken import Encoding

    encoding = Encoding("oracle", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)

    def encode(texts):
        for text in texts:
            ordinary = [token + offset for token in encoding.encode_ordinary(text)]
            yield ordinary, encoding.encode(text, allowed_special="all") if special else ordinary

    return encode


def of(kind, file, pattern=None, special=None):
    if kind == "tokenizer.json":
        return hugging_face(file)
    if kind == "tekken.json":
        with open(file, encoding="utf-8") as opened:
            tekken = json.load(opened)
        offset = tekken["config"]["default_num_special_tokens"]
        used = tekken["vocab"][: tekken["config"]["default_vocab_size"] - offset]
        ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in used}
        return tiktoken(ranks, tekken["config"]["pattern"], {}, offset)
    with open(file, "rb") as opened:
        lines = [line.split() for line in opened.read().splitlines() if line]
    return tiktoken({base64.b64decode(token): int(rank) for token, rank in lines}, pattern, special or {})


def main():
    """Texts go in batches: the libraries' threads need some to work on."""
    batch_size = 4096
    encode = of(**json.loads(sys.stdin.readline()))
    while texts := [json.loads(line) for _, line in zip(range(batch_size), sys.stdin)]:
        for ids in encode(texts):
            sys.stdout.write(json.dumps(list(ids)) + "\n")


main()
