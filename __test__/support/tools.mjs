// Three real tools over a folder: list, read and search. They are pi `AgentTool`s of any version (the parameters
// are plain JSON schemas), only ever read, and answer the same for the same files.
import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";

/** Folders that hold what was built or installed. */
const SKIPPED = new Set([".git", "node_modules", "target", "dist", ".cache"]);
/** Longest output of one call, in UTF-16 units; pi's own read tool stops at 50 KB. */
const MAX_OUTPUT_CHARS = 50_000;
const MAX_HITS = 200;
const MAX_FILE_BYTES = 1_000_000;

export function createTools(root) {
  const at = (path = ".") => {
    const full = resolve(root, path);
    if (full !== resolve(root) && !full.startsWith(resolve(root) + sep))
      throw new Error(`${path} is outside the project`);
    return full;
  };
  return [
    tool(
      "list",
      "List the files and folders in a folder.",
      { path: string("Folder, relative to the project") },
      [],
      async ({ path }) => {
        const names = await entries(at(path));
        return (
          names.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).join("\n") || "(empty)"
        );
      },
    ),
    tool(
      "read",
      "Read a file with line numbers.",
      {
        path: string("File, relative to the project"),
        offset: number("First line, from 1"),
        limit: number("Number of lines"),
      },
      ["path"],
      async ({ path, offset = 1, limit = 2000 }) => {
        const lines = (await readFile(at(path), "utf8")).split("\n").slice(offset - 1, offset - 1 + limit);
        return lines.map((line, index) => `${String(offset + index).padStart(5)}\t${line}`).join("\n");
      },
    ),
    tool(
      "search",
      "Search files for a regular expression.",
      {
        pattern: string("JavaScript regular expression"),
        path: string("Folder or file, relative to the project"),
      },
      ["pattern"],
      async ({ pattern, path }, signal) => {
        const expression = new RegExp(pattern);
        const hits = [];
        for await (const file of walk(at(path), signal)) {
          const lines = (await readFile(file, "utf8")).split("\n");
          for (const [index, line] of lines.entries()) {
            if (expression.test(line))
              hits.push(`${relative(root, file)}:${index + 1}: ${line.trim().slice(0, 300)}`);
          }
          if (hits.length >= MAX_HITS) break;
        }
        return hits.slice(0, MAX_HITS).join("\n") || "No matches.";
      },
    ),
  ];
}

const string = (description) => ({ type: "string", description });
const number = (description) => ({ type: "number", description });

function tool(name, description, properties, required, run) {
  return {
    name,
    label: name,
    description,
    parameters: { type: "object", properties, required },
    async execute(_id, params, signal) {
      const text = await run(params, signal);
      const content = [{ type: "text", text: text.slice(0, MAX_OUTPUT_CHARS) }];
      return { content, details: { chars: text.length } };
    },
  };
}

async function entries(folder) {
  const all = await readdir(folder, { withFileTypes: true });
  return all.filter((entry) => !SKIPPED.has(entry.name)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function* walk(path, signal) {
  const pending = [path];
  while (pending.length > 0) {
    signal?.throwIfAborted();
    const next = pending.pop();
    const found = await stat(next);
    if (found.isDirectory()) {
      const inside = (await entries(next)).filter((entry) => entry.isDirectory() || entry.isFile());
      pending.push(...inside.map((entry) => join(next, entry.name)).reverse());
    } else if (found.size <= MAX_FILE_BYTES) {
      yield next;
    }
  }
}
