// Three real tools over a folder: list, read and search. They are pi `AgentTool`s of any version (the parameters
// are plain JSON schemas), only ever read, and answer the same for the same files.
import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";

/** Folders of what was built, installed or recorded; it is neither listed nor searched. */
const SKIPPED = /^(\.git|node_modules|target|package-lock\.json|Cargo\.lock|.*\.(node|jsonl))$/;
/** Longest output of one call, in UTF-16 units; pi's own read tool stops at 50 KB. */
const MAX_OUTPUT_CHARS = 50_000;
/** Lines of one read, unless the model asks for another number; as pi's own read tool. */
const MAX_LINES = 2000;
/** Lines one search reports, and how much of each, in UTF-16 units. */
const MAX_HITS = 200;
const MAX_HIT_CHARS = 300;
/** Bigger files are data, and not searched. */
const MAX_FILE_BYTES = 1_000_000;

export function createTools(root) {
  const inside = (path = ".") => within(resolve(root), path);
  return [listTool(inside), readTool(inside), searchTool(inside, resolve(root))];
}

function within(root, path) {
  const full = resolve(root, path);
  if (full !== root && !full.startsWith(root + sep)) throw new Error(`${path} is outside the project`);
  return full;
}

function listTool(inside) {
  const properties = { path: string("Folder, relative to the project") };
  return tool("list", "List the files and folders in a folder.", properties, [], async ({ path }) => {
    const found = await entries(inside(path));
    return (
      found.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).join("\n") || "(empty)"
    );
  });
}

function readTool(inside) {
  const properties = {
    path: string("File, relative to the project"),
    offset: number("First line, from 1"),
    limit: number("Number of lines"),
  };
  return tool("read", "Read a file with line numbers.", properties, ["path"], async (params) => {
    const { path, offset = 1, limit = MAX_LINES } = params;
    const lines = (await textOf(inside(path), path)).split("\n").slice(offset - 1, offset - 1 + limit);
    return lines.map((line, index) => `${String(offset + index).padStart(5)}\t${line}`).join("\n");
  });
}

/** The file's text; the model, not the machine, named the path, so the error names it the same way. */
async function textOf(file, path) {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new Error(`Cannot read ${path}: ${error.code}`);
  }
}

function searchTool(inside, root) {
  const properties = {
    pattern: string("JavaScript regular expression"),
    path: string("Folder or file, relative to the project"),
  };
  const description = "Search files for a regular expression.";
  return tool("search", description, properties, ["pattern"], async ({ pattern, path }, signal) => {
    const expression = new RegExp(pattern);
    const hits = [];
    for await (const file of walk(inside(path), signal)) {
      hits.push(...(await hitsIn(file, expression)).map((hit) => `${relative(root, file)}:${hit}`));
      if (hits.length >= MAX_HITS) break;
    }
    return hits.slice(0, MAX_HITS).join("\n") || "No matches.";
  });
}

async function hitsIn(file, expression) {
  const lines = (await readFile(file, "utf8")).split("\n").entries();
  const hits = [...lines].filter(([, line]) => expression.test(line));
  return hits.map(([index, line]) => `${index + 1}: ${line.trim().slice(0, MAX_HIT_CHARS)}`);
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
  return all.filter((entry) => !SKIPPED.test(entry.name)).sort((a, b) => (a.name < b.name ? -1 : 1));
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
