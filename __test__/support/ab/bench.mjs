// Runs `bench:ab` as its user does, against a scripted server in this process.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The bench as a child process: `{ child, ended }`, the latter resolving with `{ code, signal, stdout, stderr }`. */
export function startBench(server, { out, api = "anthropic-messages", args = [], env = {} }) {
  const baseUrl = api === "openai-completions" ? `${server.baseUrl}/v1` : server.baseUrl;
  const fixed = ["--scripted", "--base-url", baseUrl, "--api", api, "--out", out, "--max-dollars", "1000"];
  const child = spawn(process.execPath, ["bench/ab.mjs", ...fixed, ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) {
    child[name].setEncoding("utf8").on("data", (text) => {
      said[name] += text;
    });
  }
  const ended = new Promise((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal, ...said }));
  });
  return { child, ended };
}

export function readResults(out) {
  return JSON.parse(readFileSync(join(out, "results.json"), "utf8"));
}

/** What the server's own books say of each arm. */
export function booksOf(server, arm) {
  const isOwn = ({ cwd }) => cwd?.includes(`session-1-${arm}/`) === true;
  const calls = server.calls.filter(isOwn);
  return { calls, decisions: server.decisions.filter(isOwn) };
}
