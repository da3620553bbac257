// Serves the inspector's page on 127.0.0.1 only, at a port of its own and an address that nobody can guess. It answers GET
// requests only, and does not keep the process alive.
"use strict";

const { randomBytes, timingSafeEqual } = process.getBuiltinModule?.("node:crypto") ?? require("node:crypto");
const { readFileSync } = process.getBuiltinModule?.("node:fs") ?? require("node:fs");
const { createServer } = process.getBuiltinModule?.("node:http") ?? require("node:http");
const { join } = process.getBuiltinModule?.("node:path") ?? require("node:path");

const HOST = "127.0.0.1";
const TOKEN_BYTES = 24;

const HEADERS = {
  "Cache-Control": "no-store",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

class PageServer {
  #token = randomBytes(TOKEN_BYTES).toString("base64url");
  #title;
  #log;
  #server;
  #opening;

  constructor(title, log) {
    this.#title = title;
    this.#log = log;
  }

  /** Opens the page; returns its address. Rejects if the port is taken; port 0 is any free one. */
  open(port) {
    this.#opening ??= this.#listen(port).catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  #listen(port) {
    const server = createServer((request, response) => {
      try {
        this.#answer(request, response);
      } catch {
        // A request must not be able to end the host.
        if (response.headersSent) response.destroy();
        else refuse(response, 500);
      }
    });
    this.#server = server;
    server.on("connection", (socket) => socket.unref());
    return new Promise((resolve, reject) => {
      // Later errors, such as too many open files, must not end the host either.
      server.on("error", (error) => reject(inWords(error, port)));
      server.listen({ host: HOST, port }, () => {
        server.unref();
        resolve(`http://${HOST}:${server.address().port}/${this.#token}/`);
      });
    });
  }

  async close() {
    const server = this.#server;
    if (!server?.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  #answer(request, response) {
    const { port } = this.#server.address() ?? {};
    const known = [`${HOST}:${port}`, `localhost:${port}`];
    // A web page could ask in the reader's name by a foreign host name that leads here.
    if (request.method !== "GET" || !known.includes(request.headers.host)) return refuse(response, 403);
    // Anybody can send a request line, so nothing parses it before the token was found in it.
    const { url } = request;
    const pathStart = this.#token.length + 2;
    if (!this.#isOpening(url.slice(0, pathStart))) return refuse(response, 404);
    const [path, query] = url.slice(pathStart).split("?", 2);
    const searchParams = new URLSearchParams(query);
    switch (path) {
      case "":
        return this.#sendPage(response);
      case "state":
        return sendJson(response, this.#log.since(seenOf(searchParams)));
      case "message":
        return sendJson(response, this.#log.text(Number(searchParams.get("number"))) ?? null);
      default:
        return refuse(response, 404);
    }
  }

  #isOpening(text) {
    const [given, own] = [Buffer.from(text), Buffer.from(`/${this.#token}/`)];
    return given.length === own.length && timingSafeEqual(given, own);
  }

  #sendPage(response) {
    const nonce = randomBytes(TOKEN_BYTES).toString("base64");
    const policy = [
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      "style-src 'unsafe-inline'",
      "connect-src 'self'",
      "img-src data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ];
    const title = JSON.stringify({ title: this.#title }).replaceAll("<", "\\u003c");
    const page = pageText()
      .replace('"{{data}}"', () => title)
      .replace("<script>", () => `<script nonce="${nonce}">`);
    send(response, page, "text/html; charset=utf-8", { "Content-Security-Policy": policy.join("; ") });
  }
}

/** The numbers in a query: how much a page has seen. Anything else counts as nothing seen. */
function seenOf(searchParams) {
  return Object.fromEntries(Array.from(searchParams, ([name, value]) => [name, Number(value)]));
}

function sendJson(response, value) {
  send(response, JSON.stringify(value), "application/json; charset=utf-8");
}

function send(response, text, type, headers = {}) {
  response.writeHead(200, { ...HEADERS, ...headers, "Content-Type": type });
  response.end(text);
}

function refuse(response, status) {
  response.writeHead(status, { ...HEADERS, "Content-Type": "text/plain" });
  response.end();
}

function inWords(error, port) {
  if (error.code !== "EADDRINUSE") return error;
  const text = `inspector: port ${port} is taken; name another one, or none for any that is free`;
  return Object.assign(new Error(text, { cause: error }), { code: error.code });
}

let page;

/** The page is made by `npm run build:report`. */
function pageText() {
  page ??= readFileSync(join(__dirname, "page.html"), "utf8");
  return page;
}

module.exports = { PageServer };
