// The three languages of the tasks: how each writes a function of whole numbers, runs a file, and checks what a function
// returns. A task is written once, in terms of these.

import { spawnSync } from "node:child_process";

const isInstalled = (command, args) => spawnSync(command, args, { stdio: "ignore" }).status === 0;

/** Writers by language; `interpreter` is what has to be on the machine. */
export const LANGUAGES = {
  js: {
    interpreter: "node",
    isHere: () => true,
    command: process.execPath,
    extension: "mjs",
    comment: "//",
    choose: (condition, yes, no) => `(${condition}) ? (${yes}) : (${no})`,
    call: (name, ...args) => `${name}(${args.join(", ")})`,
    head: (name, params) => `export function ${name}(${params.join(", ")}) {`,
    body: (expression) => `  return ${expression};`,
    end: "}",
    use: (name, module) => `import { ${name} } from "./${module}.mjs";`,
    once: (file, again) => `import { existsSync, readFileSync, rmSync } from "node:fs";

const file = new URL("${file}", import.meta.url);
if (!existsSync(file)) {
  console.log("${again}");
  process.exit(1);
}
process.stdout.write(readFileSync(file, "utf8"));
rmSync(file);
`,
    check: (cases) => `import { pathToFileURL } from "node:url";

const root = pathToFileURL(process.argv[2] + "/");
${cases
  .map(
    ({ module, name, args, expected }) =>
      `if ((await import(new URL("src/${module}.mjs", root))).${name}(${args.join(", ")}) !== ${expected}) process.exit(1);`,
  )
  .join("\n")}
`,
  },
  py: {
    interpreter: "python3",
    isHere: () => isInstalled("python3", ["--version"]),
    command: "python3",
    extension: "py",
    comment: "#",
    choose: (condition, yes, no) => `(${yes}) if (${condition}) else (${no})`,
    call: (name, ...args) => `${name}(${args.join(", ")})`,
    head: (name, params) => `def ${name}(${params.join(", ")}):`,
    body: (expression) => `    return ${expression}`,
    end: "",
    use: (name, module) => `from ${module} import ${name}`,
    once: (file, again) => `import pathlib
import sys

file = pathlib.Path(__file__).with_name("${file}")
if not file.exists():
    print("${again}")
    sys.exit(1)
sys.stdout.write(file.read_text())
file.unlink()
`,
    check: (cases) => `import importlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/src")
${cases
  .map(
    ({ module, name, args, expected }) =>
      `if importlib.import_module("${module}").${name}(${args.join(", ")}) != ${expected}:\n    sys.exit(1)`,
  )
  .join("\n")}
`,
  },
  sh: {
    interpreter: "sh",
    isHere: () => isInstalled("sh", ["-c", "exit 0"]),
    command: "sh",
    extension: "sh",
    comment: "#",
    choose: (condition, yes, no) => `(${condition}) ? (${yes}) : (${no})`,
    call: (name, ...args) => `$(${name} ${args.map((arg) => `$((${arg}))`).join(" ")})`,
    head: (name, params) => [`${name}() {`, ...params.map((param, i) => `  ${param}=$${i + 1}`)].join("\n"),
    body: (expression) => `  echo $((${expression}))`,
    end: "}",
    use: (_name, module) => `. "$ROOT/src/${module}.sh"`,
    once: (file, again) => `#!/bin/sh
file="$(dirname "$0")/${file}"
if [ ! -f "$file" ]; then
  echo "${again}"
  exit 1
fi
cat "$file"
rm "$file"
`,
    check: (cases) => `ROOT=$1
${cases
  .map(
    ({ module, name, args, expected }) =>
      `[ "$(. "$ROOT/src/${module}.sh"; ${name} ${args.join(" ")})" = "${expected}" ] || exit 1`,
  )
  .join("\n")}
`,
  },
};

/** A function of whole numbers, with a comment of these lines above it. */
export function functionOf(language, { name, params, expression, notes = [] }) {
  const { comment, head, body, end } = language;
  const lines = [...notes.map((note) => `${comment} ${note}`), head(name, params), body(expression), end];
  return `${lines.filter((line) => line !== "").join("\n")}\n`;
}
