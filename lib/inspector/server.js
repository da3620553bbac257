// Serves the inspector's page on 127.0.0.1 only, at a port of its own and an address that nobody can guess. It answers GET
// requests only, and does not keep the process alive.
"use strict";

const { randomBytes, timingSafeEqual } = process.getBuiltinModule?.("node:crypto") ?? require("node:crypto");
const { createServer } = process.getBuiltinModule?.("node:http") ?? require("node:http");
const { pageWith } = require("./page.js");

const HOST = "127.0.0.1";
const TOKEN_BYTES = 24;

const HEADERS = {
  "Cache-Control": "no-store",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};
/** The page's content security policy. The script runs by its nonce. */
const POLICY =
  "default-src 'none'; script-src 'nonce-NONCE'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const JSON_TYPE = "application/json; charset=utf-8";

/**
 * Opens the page of a log; resolves with `{ url, close }`. Rejects if the port is taken or the page is missing; port 0 is any free
 * one.
 */
async function serve({ title, log, port }) {
  checkPermission();
  pageWith({ title });
  const start = `/${randomBytes(TOKEN_BYTES).toString("base64url")}/`;
  const server = createServer((request, response) => {
    try {
      const query = isAllowed(request, server) ? queryOf(request.url, start) : 403;
      if (typeof query === "number") send(response, query);
      else answer(response, query, { title, log });
    } catch {
      // A request must not be able to end the host.
      if (response.headersSent) response.destroy();
      else send(response, 500);
    }
  });
  server.on("connection", (socket) => socket.unref());
  await new Promise((resolve, reject) => {
    // Later errors, such as too many open files, must not end the host either.
    server.on("error", reject);
    server.listen({ host: HOST, port }, resolve);
  });
  server.unref();
  return {
    url: `http://${HOST}:${server.address().port}${start}`,
    close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      return closed;
    },
  };
}

/** Throws where Node's permission model forbids to listen: from Node 25 on `listen` would end the process. */
function checkPermission() {
  const knowsNetwork = process.allowedNodeEnvironmentFlags?.has("--allow-net");
  if (!knowsNetwork || process.permission?.has("net") !== false) return;
  const message = "Node forbids the inspector to listen: start it with --allow-net";
  throw Object.assign(new Error(message), { code: "ERR_ACCESS_DENIED" });
}

/** Refuses foreign host names: a web page could reach this server through one (DNS rebinding). */
function isAllowed({ method, headers }, server) {
  const { port } = server.address() ?? {};
  // Browsers leave out port 80.
  const endings = port === 80 ? [":80", ""] : [`:${port}`];
  return method === "GET" && endings.some((end) => [HOST + end, `localhost${end}`].includes(headers.host));
}

/** `{ path, number }` behind the secret start of an address; 404 without it. Nothing is parsed before the secret was found. */
function queryOf(url, start) {
  const [given, own] = [Buffer.from(url.slice(0, start.length)), Buffer.from(start)];
  if (given.length !== own.length || !timingSafeEqual(given, own)) return 404;
  const [path, query] = url.slice(start.length).split("?", 2);
  const values = new URLSearchParams(query);
  return { path, number: Number(values.get(path === "state" ? "revision" : "number")) };
}

function answer(response, { path, number }, { title, log }) {
  if (path === "state") send(response, 200, JSON.stringify(log.since(number)), JSON_TYPE);
  else if (path === "message") send(response, 200, JSON.stringify(log.text(number) ?? null), JSON_TYPE);
  else if (path === "") sendPage(response, title);
  else send(response, 404);
}

function sendPage(response, title) {
  const nonce = randomBytes(TOKEN_BYTES).toString("base64");
  const page = pageWith({ title }).replace("<script>", `<script nonce="${nonce}">`);
  response.setHeader("Content-Security-Policy", POLICY.replace("NONCE", nonce));
  send(response, 200, page, "text/html; charset=utf-8");
}

function send(response, status, text = "", type = "text/plain") {
  response.writeHead(status, { ...HEADERS, "Content-Type": type });
  response.end(text);
}

module.exports = { serve };
