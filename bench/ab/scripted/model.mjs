// A model that is a script: it works off the tasks of the experiment and solves one only if the lines it needs are in the
// request at hand. So what an arm takes away shows as it would with a real model, without a network and the same each time.

/** Times it looks up again what it misses, and tries an edit whose outcome it never saw. */
const TRIES = 2;

const TASK = /Task ((?:js|py|sh)-\d+), in the folder/g;
const RULE = /House rule \d+\/\d+:[^\n]*?multiple of \d+\./g;
/** What the tool prints, cut, with the handle by which the rest can be read. */
const PRINTED = /^step 0: depot[\s\S]*handle: ([0-9a-f]{8})/;
const LOST_RESULT = "No result provided";

/** `sessionFor(cwd)` is the session of `tasks/index.mjs` whose repositories are there. */
export class ScriptedModel {
  #sessionFor;
  #progress = new Map();
  #calls = 0;

  constructor(sessionFor) {
    this.#sessionFor = sessionFor;
  }

  /** `{ text, calls: [{ id, name, arguments }] }` to a request: `{ folder, text, results, tools, hasTools }`. */
  answer(request) {
    if (!request.hasTools) return { text: summaryOf(request.text), calls: [] };
    const cwd = request.folder;
    const id = Array.from(request.text.matchAll(TASK), ([, name]) => name).at(-1);
    const task = this.#sessionFor(cwd)?.tasks.find((known) => known.id === id);
    if (task === undefined) return { text: "I do not know what to do.", calls: [] };
    const step = this.#next(`${cwd} ${id}`, task, request);
    if (step === undefined) return { text: "done", calls: [] };
    return { text: "", calls: step.map((call) => ({ ...call, id: this.#newId() })) };
  }

  #newId() {
    this.#calls += 1;
    return `call_${this.#calls}`;
  }

  #next(key, task, { text, results, tools }) {
    let progress = this.#progress.get(key);
    if (progress === undefined) {
      progress = { open: looks(task), looked: new Map(), recalled: new Set(), writes: 0 };
      this.#progress.set(key, progress);
    }
    if (progress.writes > 0) return this.#rewrite(progress, results);
    if (progress.open.length > 0) return [progress.open.shift()];
    const lacking = task.needs.filter(({ line }) => !text.includes(line));
    const again = lacking.find(({ from }) => from !== undefined && (progress.looked.get(from) ?? 0) < TRIES);
    if (again !== undefined) {
      progress.looked.set(again.from, (progress.looked.get(again.from) ?? 0) + 1);
      return [reading(task, again.from)];
    }
    const recall = tools.has("recall") ? recalling(lacking, results, progress.recalled) : undefined;
    if (recall !== undefined) return [recall];
    return this.#write(progress, solution(task, lacking.length === 0));
  }

  #write(progress, calls) {
    progress.writes += 1;
    progress.written = calls;
    progress.firstId = this.#calls + 1;
    return calls;
  }

  /** Writes again where the outcome was lost with an interrupted session. */
  #rewrite(progress, results) {
    const outcome = results.get(`call_${progress.firstId}`);
    const isLost = outcome === undefined || outcome.includes(LOST_RESULT);
    return isLost && progress.writes <= TRIES ? this.#write(progress, progress.written) : undefined;
  }
}

/** Where the hook's extension offers to read back what it cut, the model asks for the line a tool printed once. */
function recalling(lacking, results, recalled) {
  const need = lacking.find(({ isPrinted }) => isPrinted);
  if (need === undefined) return undefined;
  const handles = Array.from(results.values(), (text) => PRINTED.exec(text)?.[1]);
  const handle = handles.find((one) => one !== undefined && !recalled.has(one));
  if (handle === undefined) return undefined;
  recalled.add(handle);
  return { name: "recall", arguments: { handle, pattern: need.line.replace(/\d+$/, "") } };
}

/** Long texts that a summary leaves out, as real ones do: it keeps the task at hand and what the user laid down. */
function summaryOf(text) {
  const task = Array.from(text.matchAll(TASK)).at(-1);
  const goal = task === undefined ? "(none)" : text.slice(task.index).split("\n")[0];
  const rules = [...new Set(text.match(RULE) ?? [])];
  return `## Goal\n${goal}\n\n## Constraints & Preferences\n${rules.map((rule) => `- ${rule}`).join("\n")}`;
}

function looks(task) {
  const runs = task.runs.map((command) => bash(`cd ${task.language} && ${command}`));
  return [...task.reads.map((path) => reading(task, path)), ...runs];
}

function reading(task, path) {
  return { name: "read", arguments: { path: `${task.language}/${path}` } };
}

function bash(command) {
  return { name: "bash", arguments: { command } };
}

/** The calls that solve a task, or leave it as one would who guesses. */
function solution(task, isKnown) {
  const at = (file) => `${task.language}/${file}`;
  if (!isKnown) return [bash(`printf '\\n' >> ${at((task.adds ?? task.edits[0]).file)}`)];
  if (task.adds !== undefined) {
    const { file, name, text } = task.adds;
    return [bash(`grep -q ${name} ${at(file)} || cat >> ${at(file)} <<'END'\n${text}END`)];
  }
  return task.edits.map(({ file, old, new: text, isEverywhere }) =>
    isEverywhere
      ? bash(`sed 's/${old}/${text}/g' ${at(file)} > ${at(file)}.new && mv ${at(file)}.new ${at(file)}`)
      : { name: "edit", arguments: { path: at(file), edits: [{ oldText: old, newText: text }] } },
  );
}
