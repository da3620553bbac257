"""Asks two validators made by others about request bodies that the wire checkers have judged.

Reads lines of {"api", "model", "messages", "tools", "isValid"} from the files named; `isValid` is what our checkers
say. turnsafe knows Anthropic's Messages and OpenAI's chat format, mistral-common the latter. Every body ours calls
valid must pass theirs; of those ours calls invalid, it prints how many theirs see too. Fails on a disagreement about a
valid body, or if no validator sees any invalid one.
"""

import json
import sys
from collections import Counter

import turnsafe
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import MistralRequestValidatorV13, ValidationMode

PROVIDERS = {"anthropic-messages": "anthropic", "openai-completions": "openai"}


def turnsafe_errors(body):
    if body["api"] not in PROVIDERS:
        return None
    report = turnsafe.validate(body["messages"], provider=PROVIDERS[body["api"]])
    return [str(violation) for violation in report.errors]


def mistral_errors(body):
    if body["api"] != "openai-completions":
        return None
    try:
        request = ChatCompletionRequest.from_openai([as_mistral(message) for message in body["messages"]])
        MistralRequestValidatorV13(mode=ValidationMode.serving).validate_messages(request.messages)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    return []


def as_mistral(message):
    """The fields and roles that Mistral's form of the protocol knows."""
    known = {key: message[key] for key in ("content", "tool_calls", "tool_call_id") if key in message}
    return {"role": "system" if message["role"] == "developer" else message["role"], **known}


VALIDATORS = {"turnsafe": turnsafe_errors, "mistral-common": mistral_errors}


def main(paths):
    counts = Counter()
    for path in paths:
        with open(path, encoding="utf-8", errors="surrogatepass") as lines:
            for line in lines:
                ask(json.loads(line), counts)
    for name in VALIDATORS:
        agreed, disputed = counts[name, True, True], counts[name, True, False]
        seen, unseen = counts[name, False, False], counts[name, False, True]
        print(f"{name}: {agreed} of {agreed + disputed} valid bodies pass, {seen} of {seen + unseen} invalid are seen")
    has_failed = any(counts[name, True, False] or not counts[name, False, False] for name in VALIDATORS)
    return 1 if has_failed else 0


def ask(body, counts):
    for name, errors_of in VALIDATORS.items():
        errors = errors_of(body)
        if errors is None:
            continue
        counts[name, body["isValid"], not errors] += 1
        if body["isValid"] and errors:
            print(f"{name} refuses a body of {body['model']}: {errors[0][:300]}", file=sys.stderr)


sys.exit(main(sys.argv[1:]))
