// Small parts that the cases of the contract are written with.
/** A session of the default namespace, by a key as the manager writes it. */
const session = (name, namespace = "") => ({ namespace, key: JSON.stringify(name) });

/** A message as the manager hands it to a store. */
function message(id, text = `text of ${id}`) {
  const searched = text.toWellFormed().replaceAll("\0", " ");
  return { id, body: JSON.stringify({ role: "user", content: text }), text: searched };
}

const append = (where, ...messages) => ({ ...where, kind: "append", messages });
const clear = (where) => ({ ...where, kind: "clear" });
const remove = (where, ...ids) => ({ ...where, kind: "delete", ids });
const fields = (where, change) => ({ ...where, kind: "fields", ...change });

/** A compression as worked out from a session with this stamp. */
function compress(where, stamp, letGo, id = "summary") {
  return {
    ...where,
    kind: "compress",
    session: stamp.session,
    revision: stamp.revision,
    letGo,
    forget: false,
    summary: { id, body: JSON.stringify({ role: "assistant", content: "a summary" }) },
    digest: `digest ${id}`,
    tokensSaved: 5,
  };
}

const load = (store, { namespace, key }) => store.load(namespace, key);
const idsOf = (stored) => stored?.messages.map(({ id }) => id);
/** The numbers of a session's messages, those let go too. */
const seqsOf = async (store, { namespace, key }) =>
  (await store.read(namespace, key, { limit: 100 })).map(({ seq }) => seq);
const one = async (store, operation) => (await store.apply([operation]))[0];

export { append, clear, compress, fields, idsOf, load, message, one, remove, seqsOf, session };
