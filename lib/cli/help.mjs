// The texts of `--help`.

import { HOOK_FLAGS } from "./options.mjs";
import { wrapped } from "./terminal.mjs";

const WIDTH = 78;

const SESSION = `The session is a file (pi's or Claude Code's JSONL, a JSON array of messages),
a folder, which stands for the newest session in it, "-" for standard input,
or nothing: the newest session of pi and Claude Code. Messages are pi's,
OpenAI's, Anthropic's or the AI SDK's.`;

const HOOK = `Options of the hook, as docs/settings.md describes them:
  --options FILE.json          an object of them; those below outrank it
  ${wrapped(HOOK_FLAGS.join(" "), WIDTH - 2).join("\n  ")}`;

const JSON_OPTION = "  --json                       print one JSON document instead of the tables";

/** The help of a command. Those that read a session take the options of the hook, too. */
function helpOf({ usage, about, takesFiles = false, options, examples }) {
  const session = takesFiles ? [] : [SESSION];
  const hook = takesFiles ? [] : [HOOK];
  const own = `Options:\n${options}\n${JSON_OPTION}`;
  return [`Usage: pi-strata ${usage}`, about, ...session, own, ...hook, `Examples:\n${examples}`].join(
    "\n\n",
  );
}

export const HELP = {
  all: `Usage: pi-strata COMMAND [options]

Keeps an LLM agent's context small: plays recorded sessions through the hook,
counts tokens.

Commands:
  replay [session]     what each call would have saved
  explain [session]    every edit before one call, and why
  cache [session]      dollars billed, cache misses and why
  count [file...]      exact tokens of files

Examples:
  pi-strata replay session.jsonl
  pi-strata explain --call 120 session.jsonl

COMMAND --help shows the options of a command; --version says which this is.
Exit codes: 0 done; 2 something to mend (a missing file, a wrong option);
1 any other failure. Colours follow NO_COLOR and FORCE_COLOR.`,

  replay: helpOf({
    usage: "replay [options] [session]",
    about: `Plays a recorded session call by call through the hook. The first lines say
which prices and which cache it goes by.`,
    options: `  --every N                    print every N-th call only
  --html FILE                  also write a report: one page with charts
  --price INPUT[,OUTPUT]       dollars per million tokens; the model's family
                               sets the cache prices. Without it: as the
                               session was billed, else tokens are weighed`,
    examples: `  pi-strata replay --context-window 64000 --every 20 session.jsonl
  pi-strata replay --html report.html --price 3,15 ~/.pi/agent/sessions
  cat session.jsonl | pi-strata replay --json - | jq .summary`,
  }),

  explain: helpOf({
    usage: "explain [options] [session]",
    about: "Says what the hook would do before one call of a recorded session, and why.",
    options: "  --call N                     the call, from 1 (default: the last one)",
    examples: `  pi-strata explain --call 120 session.jsonl
  pi-strata explain --json session.jsonl | jq .schedule`,
  }),

  cache: helpOf({
    usage: "cache [options] [session]",
    about: `Reads a recorded session's bill back: dollars, cache misses and why, what the
hook cost and saved. Name the options that the hook had. What it would have cost
without the hook is estimated, and only where the reported sizes show that the
hook was at work.`,
    options: `  --price INPUT[,OUTPUT]       dollars per million tokens, for calls whose cost
                               the session does not tell; OUTPUT: 5 × INPUT`,
    examples: `  pi-strata cache session.jsonl
  pi-strata cache --json session.jsonl | jq .misses`,
  }),

  count: helpOf({
    usage: "count [options] [file...]",
    about: `Counts exact tokens of files, by cl100k_base unless told otherwise; "-", or no
file, is standard input. Patterns that the shell leaves as they are stand for
their files (Node 22).`,
    takesFiles: true,
    options: `  --encoding NAME              the encoding: cl100k_base, o200k_base, ...
  --model NAME                 a model whose encoding is wanted, such as gpt-4o
  --tokenizer FILE             an open model's tokenizer.json, tekken.json or
                               tiktoken file
  --pattern REGEX              the pattern of that tiktoken file`,
    examples: `  pi-strata count README.md src/*.ts
  pi-strata count --tokenizer Qwen3-8B/tokenizer.json prompt.txt
  pbpaste | pi-strata count --json | jq .total`,
  }),
};
