// A session as a host sees it: a snapshot, or a live context whose properties read the session at each access.
"use strict";

const { show } = require("../options.js");

/** Metadata that a host sets, and metadata that the manager sets. */
const FIELDS = ["goal", "planId"];
const TIMES = ["createdAt", "updatedAt"];
/** Name of the method by which an object tells console.log what to print. */
const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** Checks the metadata that a host sets. Null removes a field. */
function fieldsOf(metadata) {
  if (typeof metadata !== "object" || metadata === null)
    throw new TypeError(`setMetadata: metadata must be an object, not ${show(metadata)}`);
  const fields = {};
  for (const name of FIELDS) {
    const value = metadata[name];
    if (value !== undefined && value !== null && typeof value !== "string")
      throw new TypeError(`metadata.${name} must be a string or null, not ${show(value)}`);
    if (value !== undefined) fields[name] = value ?? undefined;
  }
  return fields;
}

function metadataOf({ state, createdAt, updatedAt }) {
  const fields = FIELDS.filter((name) => state[name] !== undefined).map((name) => [name, state[name]]);
  return { ...Object.fromEntries(fields), createdAt, updatedAt };
}

function snapshotOf(sessionId, session) {
  return { sessionId, messages: session.messages, metadata: metadataOf(session) };
}

/** `read()` returns the session, or undefined for a cleared one, which keeps its last state. `set(fields)` stores metadata. */
function liveContext(sessionId, session, read, set) {
  let last = session;
  const now = () => {
    last = read() ?? last;
    return last;
  };
  const context = {
    sessionId,
    get messages() {
      return Object.freeze(now().messages);
    },
    get metadata() {
      return liveMetadata(() => metadataOf(now()), set);
    },
    set metadata(fields) {
      set(fields);
    },
  };
  return Object.defineProperty(context, INSPECT, { value: () => snapshotOf(sessionId, now()) });
}

function liveMetadata(read, set) {
  const known = read();
  const metadata = Object.defineProperty({}, INSPECT, { value: read });
  for (const name of [...FIELDS, ...TIMES])
    Object.defineProperty(metadata, name, {
      enumerable: known[name] !== undefined,
      configurable: known[name] === undefined,
      get: () => read()[name],
      set: (value) => {
        set({ [name]: value ?? null });
        if (value != null) Object.defineProperty(metadata, name, { enumerable: true, configurable: false });
      },
    });
  return metadata;
}

module.exports = { fieldsOf, liveContext, metadataOf, snapshotOf };
