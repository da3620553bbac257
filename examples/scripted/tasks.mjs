// What the scripted model does with this repository: a handful of questions a developer might ask in one sitting,
// each worked off with real tool calls. The script decides from what the tools answered, so it follows the files
// as they are.

export const SYSTEM_PROMPT =
  "You are a coding assistant working in a repository. Use the tools to read before you answer; quote names, not guesses.";

/** The questions in order; `pauseSeconds` is how long the developer was away before asking. */
export const tasks = [
  {
    ask: "I am new to this repository. What is it made of, and what are the rooms of the core?",
    pauseSeconds: 0,
    *work() {
      yield* look("Before I open anything I want to see the whole layout.", [list("."), read("Cargo.toml")]);
      yield* look("The manifest says what is built; the package says what is shipped.", [
        read("package.json"),
      ]);
      return yield* readFolder(
        "src",
        "lib.rs should have the map of the crate, so the top of src comes first.",
      );
    },
  },
  {
    ask: "Follow one old tool result through the layers: where is it decided that it becomes a summary?",
    pauseSeconds: 95,
    *work() {
      yield* look("Start from the words and narrow down.", [search("summar", "src")]);
      const layers = yield* readFolder("src/layers", "The hits gather in src/layers. I read all of it.");
      const schedule = yield* readFolder("src/schedule", "Which edits apply when is decided elsewhere.");
      return `${layers}\n\n${schedule}`;
    },
  },
  {
    ask: "How are tokens counted, and why should I believe the numbers?",
    pauseSeconds: 40,
    *work() {
      const engine = yield* readFolder(
        "src/tokens",
        "A tokenizer is many small parts; I take them one by one.",
      );
      yield* look("An exact count needs an oracle. Is there one in the tests?", [
        list("tests"),
        search("oracle", "tests"),
      ]);
      return engine;
    },
  },
  {
    ask: "Now the JavaScript side. Can anything thrown in there reach the host?",
    pauseSeconds: 610,
    *work() {
      const face = yield* readFolder(
        "lib",
        "Every path from the public function down to the native call matters here.",
      );
      yield* look("Where is something thrown, and where is it caught?", [search("throw |catch", "lib")]);
      yield* look("The loader was called something else in an older checkout.", [read("lib/loader.js")]);
      const boundary = yield* readFolder("src/node", "The other side of the boundary must not panic either.");
      return `${face}\n\n${boundary}`;
    },
  },
  {
    ask: "We will get sessions from other people. What happens with a file that is cut in the middle?",
    pauseSeconds: 150,
    *work() {
      const reader = yield* readFolder(
        "src/session_file",
        "The reader of recorded sessions is where that is answered.",
      );
      yield* look("Is it tested with broken input, too?", [search("broken|cut|survived", "tests")]);
      return reader;
    },
  },
  {
    ask: "Back from lunch. Which tests run a real agent, and what do they prove?",
    pauseSeconds: 2_900,
    *work() {
      yield* look("First what is there.", [list("__test__"), list("__test__/pi")]);
      yield* look("The entry point tells which versions run where.", [read("__test__/agent.test.mjs")]);
      return yield* readFolder("__test__/support", "The suite itself is in support.");
    },
  },
  {
    ask: "Check two house rules for me: constants say their unit, and no unwrap outside tests.",
    pauseSeconds: 60,
    *work() {
      const [constants] = yield* look("Both rules can be searched for.", [search("^(pub )?const ", "src")]);
      yield* look("And the other one.", [search("\\.unwrap\\(|\\.expect\\(", "src")]);
      for (const [path, line] of places(constants).slice(0, 12)) {
        yield* look(`${path}, line ${line}: is the unit said above it?`, [
          read(path, Math.max(1, line - 3), 8),
        ]);
      }
      return "The constants I looked at carry a doc comment with their unit, and the unwraps are all in test modules.";
    },
  },
  {
    ask: "Write two sentences for the release note, from the code and not from memory.",
    pauseSeconds: 420,
    *work() {
      yield* look("The public face once more, to name only what is exported.", [
        read("index.js"),
        read("src/lib.rs"),
      ]);
      return "The hook summarises old tool results, strips old thinking and slides the window, always on copies. Token counts are exact cl100k, and text is measured once.";
    },
  },
];

/** All tasks as one script: each step receives the texts of the results of the step before. */
export function* script() {
  for (const task of tasks) {
    const answer = yield* task.work();
    yield { thinking: "That is enough to answer from.", text: answer };
  }
}

const list = (path) => ({ name: "list", arguments: { path } });
const search = (pattern, path) => ({ name: "search", arguments: { pattern, path } });
const read = (path, offset, limit) => ({
  name: "read",
  arguments: { path, ...(offset && { offset, limit }) },
});

function* look(thinking, calls) {
  return yield { thinking, calls };
}

/** Lists a folder and reads each of its files, every third time two at once; the answer says what each is for. */
function* readFolder(folder, why) {
  const [listing] = yield* look(why, [list(folder)]);
  const files = listing.split("\n").filter((name) => /\.(rs|js|mjs|toml)$/.test(name));
  const notes = [];
  let thinking = `${files.length} files in ${folder}: ${files.join(", ")}. None of them is long, so I read them whole.`;
  while (files.length > 0) {
    const batch = files.splice(0, notes.length % 3 === 2 ? 2 : 1).map((name) => `${folder}/${name}`);
    const texts = yield* look(
      thinking,
      batch.map((path) => read(path)),
    );
    const read_ = batch.map((path, index) => noteOn(path, texts[index] ?? ""));
    notes.push(...read_);
    thinking = read_.map(thoughtOn).join("\n");
  }
  return `What is in ${folder}:\n${notes.map(({ path, purpose }) => `- \`${path}\`: ${purpose}`).join("\n")}`;
}

function noteOn(path, text) {
  const lines = text.split("\n").map((line) => line.replace(/^\s*\d+\t/, ""));
  const comment = lines.filter((line) => /^\/\/[! ]/.test(line)).map((line) => line.replace(/^\/\/!? ?/, ""));
  const purpose = /^.*?[.:](?=\s|$)/.exec(comment.join(" "))?.[0] ?? "no opening comment";
  const names = lines.flatMap(
    (line) => /^(?:export |pub )?(?:async )?(?:fn|function) (\w+)/.exec(line)?.[1] ?? [],
  );
  return { path, purpose, names, lines: lines.length };
}

function thoughtOn({ path, purpose, names, lines }) {
  const functions =
    names.length > 0 ? `It defines ${names.slice(0, 8).join(", ")}.` : "It defines no free functions.";
  return `${path} (${lines} lines) says of itself: "${purpose}" ${functions} I keep that in mind for the answer and go on with the next file.`;
}

/** File and line of each hit of a search. */
function places(hits) {
  return hits.split("\n").flatMap((hit) => {
    const found = /^(.+?):(\d+): /.exec(hit);
    return found ? [[found[1], Number(found[2])]] : [];
  });
}
