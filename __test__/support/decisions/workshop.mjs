// An agent at work on files: it reads them, searches them, changes lines it has seen, runs tests, now and then looks at a
// picture or reads back what was shortened. The same seed says the same, so that lines have a history worth weighing.

import { dice } from "../transcripts.mjs";

const WORDS =
  "cache window parser token ledger batch price frontier message result handle marker group water clock bill row".split(
    " ",
  );
const CHINESE = ["缓存", "窗口", "消息", "价格", "结果", "账本"];
const FOLDERS = ["src", "src/core", "lib", "docs"];
const FIRST_FILES = 7;
const MOST_LINES = 130;
const MINUTE = 60_000;
const START_MS = 1_700_000_000_000;

/** Models whose prices and wires differ. */
export const CLAUDE = { model: "claude-sonnet-4-5", provider: "anthropic", api: "anthropic-messages" };
export const GEMINI = { model: "gemini-2.5-pro", provider: "google", api: "google-generative-ai" };
export const GPT = { model: "gpt-5", provider: "openai", api: "openai-responses" };

/**
 * What was said in `calls` calls; `pauses` and `switches`: one call in so many comes late, or is another model's; `looks`: how
 * much likelier it is to look at a picture.
 */
export function workshop(
  seed,
  { calls, models = [CLAUDE], pauses = 20, switches = 12, isChinese = false, hasRecall = false, looks = 0 },
) {
  return new Workshop(seed, { models, pauses, switches, isChinese, hasRecall, looks }).messages(calls);
}

class Workshop {
  #roll;
  #habits;
  #files = new Map();
  #current;
  #messages = [];
  #now = START_MS;
  #model;
  #made = 0;
  #lastCommand;

  constructor(seed, habits) {
    this.#roll = dice(seed);
    this.#habits = habits;
    this.#model = habits.models[0];
    for (let at = 0; at < FIRST_FILES; at += 1) this.#newFile();
  }

  messages(calls) {
    this.#asks();
    for (let call = 0; call < calls; call += 1) this.#call();
    this.#answers([this.#text("That is all.")], "stop");
    return this.#messages;
  }

  #call() {
    const { pauses, switches, models } = this.#habits;
    if (this.#roll(pauses) === 0) this.#now += this.#pick([4, 6, 70]) * MINUTE;
    if (this.#roll(switches) === 0) this.#model = this.#pick(models);
    if (this.#roll(30) === 0) {
      this.#answers([], this.#pick(["error", "aborted"]));
      return;
    }
    if (this.#roll(9) === 0) {
      this.#answers([...this.#thinks(), this.#text(this.#sentence())], "stop");
      this.#asks();
      return;
    }
    const count = this.#roll(7) === 0 ? 2 + this.#roll(2) : 1;
    const works = Array.from({ length: count }, () => this.#work());
    const calls = works.map(({ name, args }) => this.#toolCall(name, args));
    const says = this.#roll(3) === 0 ? [this.#text(this.#sentence())] : [];
    this.#answers([...this.#thinks(), ...says, ...calls], "toolUse");
    for (const [at, { shows, isError = false, images = 0 }] of works.entries()) {
      const content = shows === "" ? [] : [this.#text(shows)];
      for (let image = 0; image < images; image += 1) content.push(IMAGE);
      const { id, name } = calls[at];
      this.#push({ role: "toolResult", toolCallId: id, toolName: name, content, isError });
    }
    if (this.#roll(40) === 0)
      this.#push({ role: "custom", customType: "note", content: this.#sentence(), display: true });
    if (this.#roll(40) === 0)
      this.#push({
        role: "bashExecution",
        command: "make",
        output: this.#log(),
        exitCode: 0,
        cancelled: false,
      });
  }

  /** One thing to do: `{ name, args, shows }`. */
  #work() {
    const path = this.#file();
    const lines = this.#files.get(path);
    const kinds = [
      ...[this.#reads, this.#reads, this.#readsPart, this.#readsPart, this.#prints, this.#searches],
      ...[this.#edits, this.#edits, this.#edits, this.#editsSeveral, this.#patches, this.#writes],
      ...[this.#runs, this.#runs, this.#looks, this.#moves, this.#recalls],
      ...Array(this.#habits.looks).fill(this.#looks),
    ];
    return this.#pick(kinds).call(this, path, lines);
  }

  #reads(path, lines) {
    return { name: "read", args: { path }, shows: lines.join("\n") };
  }

  #readsPart(path, lines) {
    const offset = this.#roll(lines.length);
    const limit = 10 + this.#roll(50);
    const part = lines.slice(offset, offset + limit);
    const shows = part.map((line, at) => `${String(offset + at + 1).padStart(6)}→${line}`).join("\n");
    return { name: "read", args: { path, offset: offset + 1, limit }, shows };
  }

  #prints(path, lines) {
    const command = this.#roll(2) === 0 ? `cat ${path}` : `sed -n 1,80p ${path}`;
    return { name: "bash", args: { command }, shows: lines.slice(0, 80).join("\n") };
  }

  #searches() {
    const word = this.#pick(WORDS);
    const found = [];
    for (const [path, lines] of this.#files)
      for (const [at, line] of lines.entries())
        if (line.includes(word)) found.push(`${path}:${at + 1}:${line}`);
    return { name: "grep", args: { pattern: word, path: "src" }, shows: found.slice(0, 60).join("\n") };
  }

  #edits(path, lines) {
    const [oldText, newText] = this.#change(lines);
    return {
      name: "edit",
      args: { path, oldText, newText },
      shows: `Edited ${path}:\n-${oldText}\n+${newText}`,
    };
  }

  #editsSeveral(path, lines) {
    const edits = Array.from({ length: 2 }, () => this.#change(lines));
    const args = {
      file_path: path,
      edits: edits.map(([old_string, new_string]) => ({ old_string, new_string })),
    };
    return { name: "multi_edit", args, shows: `2 places changed in ${path}` };
  }

  #patches(path, lines) {
    const [oldLine, newLine] = this.#change(lines);
    const input = `*** Begin Patch\n*** Update File: ${path}\n@@\n-${oldLine}\n+${newLine}\n*** End Patch`;
    return { name: "apply_patch", args: { input }, shows: `M ${path}` };
  }

  #writes() {
    const path = this.#newFile();
    const content = this.#files.get(path).join("\n");
    return { name: "write", args: { path, content }, shows: `Wrote ${content.length} bytes to ${path}` };
  }

  #runs() {
    const isAgain = this.#lastCommand !== undefined && this.#roll(3) > 0;
    this.#lastCommand = isAgain ? this.#lastCommand : `cargo test ${this.#pick(WORDS)}`;
    return {
      name: "bash",
      args: { command: this.#lastCommand },
      shows: this.#log(),
      isError: this.#roll(3) === 0,
    };
  }

  #looks() {
    const images = 1 + this.#roll(2);
    return {
      name: "screenshot",
      args: { url: "http://localhost" },
      shows: this.#roll(2) === 0 ? "a page" : "",
      images,
    };
  }

  #moves(path, lines) {
    const to = path.replace(/^[^.]*/, (start) => `${start}_${this.#made}`);
    this.#files.delete(path);
    this.#files.set(to, lines);
    this.#current = to;
    const input = `*** Begin Patch\n*** Update File: ${path}\n*** Move to: ${to}\n@@\n ${lines[0]}\n*** End Patch`;
    return { name: "apply_patch", args: { input }, shows: `R ${path} ${to}` };
  }

  /** Reads something back, if there is such a tool; the handle is of no matter. */
  #recalls(path, lines) {
    if (!this.#habits.hasRecall) return this.#reads(path, lines);
    return { name: "recall", args: { handle: "abcd1234" }, shows: lines.join("\n") };
  }

  /** Takes one line for another: both. */
  #change(lines) {
    const at = this.#roll(lines.length);
    const old = lines[at];
    lines[at] = this.#line(false);
    return [old, lines[at]];
  }

  /** Mostly the one that was last worked on. */
  #file() {
    if (this.#current === undefined || this.#roll(3) === 0)
      this.#current = this.#pick([...this.#files.keys()]);
    return this.#current;
  }

  #newFile() {
    const folder = this.#pick(FOLDERS);
    const path = `${folder}/${this.#pick(WORDS)}${this.#made++}.${folder === "docs" ? "md" : "rs"}`;
    const length = 8 + this.#roll(MOST_LINES);
    this.#files.set(
      path,
      Array.from({ length }, () => this.#line(folder === "docs")),
    );
    return path;
  }

  #line(isDocument) {
    const [one, two, three] = [this.#pick(WORDS), this.#pick(WORDS), this.#pick(WORDS)];
    const number = this.#roll(1000);
    if (isDocument) return `- The ${one} of a ${two} is kept for ${number} calls; see \`${three}_${one}\`.`;
    switch (this.#roll(7)) {
      case 0:
        return `    // ${this.#pick(CHINESE)}${this.#pick(CHINESE)}不变时，${this.#pick(CHINESE)}不会重新计算`;
      case 1:
        return "    }";
      case 2:
        return "";
      case 3:
        return `    let ${one}_${two} = self.${three}.${one}(${number});`;
      case 4:
        return `    if ${one}.${two}_tokens > ${number} { return Some(${three}::${one}) }`;
      case 5:
        return `pub fn ${one}_${two}_${number}(${three}: &${two}) -> f64 {`;
      default:
        return `        assert_eq!(${one}.${two}(), "${three} ${number}");`;
    }
  }

  #log() {
    const lines = Array.from({ length: 5 + this.#roll(60) }, (_, at) =>
      this.#roll(12) === 0
        ? `error: ${this.#pick(WORDS)} panicked at src/${this.#pick(WORDS)}.rs:${at}`
        : `test ${this.#pick(WORDS)}::${this.#pick(WORDS)}_${this.#roll(1000)} ... ok`,
    );
    if (this.#roll(8) === 0) lines.push("x".repeat(900));
    return lines.join("\n");
  }

  #asks() {
    const rest = Array.from({ length: 1 + this.#roll(4) }, () => this.#sentence()).join(" ");
    const opening = this.#habits.isChinese ? "请修复这个文件里的错误，然后运行测试。" : "Please mend this.";
    const content = `${opening} ${rest}`;
    this.#push({ role: "user", content: this.#roll(10) === 0 ? [this.#text(content), IMAGE] : content });
  }

  #sentence() {
    const word = () => this.#pick(WORDS);
    if (this.#habits.isChinese && this.#roll(2) === 0)
      return `${this.#pick(CHINESE)}里的 ${word()}_${word()} 应当与${this.#pick(CHINESE)}一致。`;
    return `The ${word()} should hold the ${word()} of src/${word()}.rs, not ${word()}_${word()}.`;
  }

  #thinks() {
    if (this.#roll(3) > 0) return [];
    const thinking = Array.from({ length: 1 + this.#roll(8) }, () => this.#sentence()).join("\n");
    return [{ type: "thinking", thinking, thinkingSignature: this.#pick(["c2ln", "reasoning_content", ""]) }];
  }

  #toolCall(name, args) {
    this.#made += 1;
    return { type: "toolCall", id: `call_${this.#made}`, name, arguments: args };
  }

  #text(text) {
    return { type: "text", text };
  }

  #answers(content, stopReason) {
    this.#push({ role: "assistant", content, ...this.#model, stopReason });
  }

  #push(message) {
    this.#now += 1000 * (1 + this.#roll(20));
    this.#messages.push({ ...message, timestamp: this.#now });
  }

  #pick(items) {
    return items[this.#roll(items.length)];
  }
}

const IMAGE = { type: "image", data: "AAAA", mimeType: "image/png" };
