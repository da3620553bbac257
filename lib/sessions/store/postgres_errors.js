// The answers of a Postgres server or the way to it, as a stable code and a sentence that says what to do. Nothing of
// a statement's values, of the connection string or of a password ever gets into either.
"use strict";

const { DatabaseError } = require("../../native/database-error.js");

const NOT_STORED = "nothing of this write was stored";
/** Codes of SQLSTATE (Postgres, appendix A), or their first two characters, Node's and those of WORDS; the first that fits. */
const KINDS = [
  [
    ["ERR_INVALID_URL"],
    "ERR_DATABASE_CANNOT_OPEN",
    "the connection string cannot be read; write postgres://user:password@host:port/database",
  ],
  [
    ["28", "EAUTH"],
    "ERR_DATABASE_AUTH",
    "the server refused the user or the password; check the connection string",
  ],
  [
    ["3D000", "3F000"],
    "ERR_DATABASE_CANNOT_OPEN",
    "the server has no such database or schema; create it first",
  ],
  [["25006"], "ERR_DATABASE_READ_ONLY", "the server takes no writes; connect to the primary"],
  [["53100", "53200"], "ERR_DATABASE_FULL", `the server is out of space; ${NOT_STORED}`],
  [["57014", "25P03", "ETIMEOUT"], "ERR_DATABASE_TIMEOUT", `the server took too long; ${NOT_STORED}`],
  [["40", "55P03"], "ERR_DATABASE_LOCKED", `the rows are locked by others; ${NOT_STORED}, try again`],
  [["42501"], "ERR_DATABASE_PERMISSION", "the user may not do this; grant it the rights on the tables"],
  [["42"], "ERR_DATABASE_FOREIGN", "the tables have another shape"],
  [["58", "XX001", "XX002"], "ERR_DATABASE_DISK", `the server's disk failed; ${NOT_STORED}`],
  [["54", "22"], "ERR_DATABASE_VALUE", `the server cannot hold this value; ${NOT_STORED}`],
  [[""], "ERR_DATABASE", "the server failed"],
];
/** Classes whose own message names tables, columns and users, never values. */
const SAFE_MESSAGE = /^(?:28|3D|3F|42)/;

/** States in which the server is not there: trying again later may help. 08: connection, 53300: too many clients. */
const UNAVAILABLE = ["08", "53300", "57P"];
/** Failures that go away if the transaction is run again at once. */
const CONFLICTS = ["40001", "40P01", "23505"];

/** Codes of Node's sockets and resolver. */
const NETWORK = /^E(?:CONN|HOST|NET|PIPE|TIMEDOUT|AI_|NOTFOUND|ADDRNOTAVAIL|NOENT|ACCES)/;
/** The driver's words without a code when a connection ends, does not come about, or speaks another protocol. */
const BROKEN =
  /connection (?:terminated|ended|timeout|timed out|is closed)|not queryable|timeout (?:exceeded|expired)|unexpected message|SSL/i;

/** Codes for the driver's other words without one: a password that is missing or no text, a server that says nothing. */
const WORDS = [
  [/^SASL|password must be/, "EAUTH"],
  [/^Query read timeout/, "ETIMEOUT"],
];

const begins = (code, prefixes) => prefixes.some((prefix) => code.startsWith(prefix));
const textOf = (error) => String(error?.message ?? "");

function codeOf(error) {
  if (typeof error?.code === "string") return error.code;
  const [, code = ""] = WORDS.find(([words]) => words.test(textOf(error))) ?? [];
  return code;
}

/** True if the server is out of reach or about to be, so that the connection is of no more use. */
function isUnavailable(error) {
  const code = codeOf(error);
  if (begins(code, UNAVAILABLE)) return true;
  if (isState(error)) return false;
  return NETWORK.test(code) || BROKEN.test(textOf(error));
}

/** True if the server itself answered with an error: then it rolled the statement back. */
function isState(error) {
  return /^[0-9A-Z]{5}$/.test(codeOf(error)) && typeof error.severity === "string";
}

/** True if the server said no, and the connection goes on. */
function isRefused(error) {
  return isState(error) && !isUnavailable(error);
}

function isConflict(error) {
  return CONFLICTS.includes(codeOf(error));
}

/** The error as a host gets it. Its cause stays here: the driver's errors carry values and addresses. */
function publicError(error) {
  if (error instanceof DatabaseError) return error;
  const code = codeOf(error);
  if (isUnavailable(error)) {
    return new DatabaseError(
      "ERR_DATABASE_UNAVAILABLE",
      `the server cannot be reached (${code || "the connection broke"}); ${NOT_STORED}`,
    );
  }
  const [, kind, sentence] = KINDS.find(([codes]) => begins(code, codes));
  const detail = SAFE_MESSAGE.test(code) ? `${code}: ${textOf(error)}` : code;
  return new DatabaseError(kind, detail === "" ? sentence : `${sentence} (${detail})`);
}

module.exports = { isConflict, isRefused, isUnavailable, publicError };
