"""Python's `tokenizers` on one vocabulary, one text at a time on one thread: `vocabularies.py FILE ROUNDS ROUND_MS < texts`."""

import json
import resource
import sys
import time

from tokenizers import Tokenizer


def main():
    """Prints the same figures as `vocabularies.mjs`."""
    file, rounds, round_ms = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    texts = [text.encode("utf-8", "replace").decode() for text in json.load(sys.stdin)]
    size = sum(len(text.encode()) for text in texts)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    tokenizer = Tokenizer.from_file(file)
    tokenizer.encode_special_tokens = True
    load_ms = (time.process_time() - start) * 1e3
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3

    def count(text):
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    tokens = sum(map(count, texts))
    figures = []
    for _ in range(rounds):
        start, passes = time.process_time(), 0
        while passes == 0 or (time.process_time() - start) * 1e3 < round_ms:
            for text in texts:
                count(text)
            passes += 1
        figures.append(size * passes / 1e6 / (time.process_time() - start))
    speed = sorted(figures)[rounds // 2]
    print(json.dumps({"loadMs": load_ms, "megabytes": megabytes, "tokens": tokens, "speed": speed}))


main()
