// What Google's Gemini API refuses, one function per rule. Calls and responses are matched by name and number; ids are
// optional.

import { missing, repeated, surrogatesPaired } from "./parts.mjs";

const calls = (turn) => (turn?.parts ?? []).filter((part) => part.functionCall);
const responses = (turn) => (turn?.parts ?? []).filter((part) => part.functionResponse);
const isUsersOwn = (turn) => turn.role === "user" && responses(turn).length === 0;
/** How an objection names a call turn: Gemini's calls have no ids of their own. */
const callsText = (turn) => JSON.stringify(calls(turn).map((part) => part.functionCall));

/** G1: the turn after a call turn has as many responses as there are calls, of the same functions. */
function responsesMatchCalls({ contents }) {
  return contents.flatMap((turn, i) => {
    const called = calls(turn).map((part) => part.functionCall.name);
    const answered = responses(contents[i + 1]).map((part) => part.functionResponse.name);
    if (called.length === 0) return [];
    return called.sort().join() === answered.sort().join() ? [] : [callsText(turn)];
  });
}

/** G1: responses come right after the calls they answer, each call answered once. */
function responsesFollowCalls({ contents }) {
  return contents.flatMap((turn, i) => {
    if (responses(turn).length === 0) return [];
    const called = calls(contents[i - 1]).map((part) => part.functionCall);
    const ids = responses(turn).flatMap((part) => part.functionResponse.id ?? []);
    const strange = missing(
      ids,
      called.map(({ id }) => id),
    );
    if (called.length > 0 && strange.length === 0 && repeated(ids).length === 0) return [];
    return [`after ${callsText(contents.slice(0, i).findLast((before) => calls(before).length > 0))}`];
  });
}

/** G2: a call turn follows a turn of the user or of responses. */
function callsFollowUser({ contents }) {
  return contents.flatMap((turn, i) => {
    return calls(turn).length > 0 && contents[i - 1]?.role !== "user" ? [callsText(turn)] : [];
  });
}

/** G2: the user opens the conversation. */
function userOpens({ contents }) {
  return contents[0] && isUsersOwn(contents[0]) ? [] : ["the first turn"];
}

/** G3: from Gemini 3 on, the first call of each step since the user last spoke keeps its signature. */
function currentTurnSigned({ model, contents }) {
  if (!/^gemini-[3-9]/.test(model)) return [];
  const current = contents.slice(contents.findLastIndex(isUsersOwn) + 1);
  const isUnsigned = (turn) => calls(turn).length > 0 && !calls(turn)[0].thoughtSignature;
  return current.some(isUnsigned) ? ["the current turn"] : [];
}

/** G3: no signature differs from what was written with its part. */
function signaturesUnchanged({ contents }, unedited) {
  if (!unedited) return [];
  const signed = (turns) => turns.flatMap(({ parts }) => parts).filter((part) => part.thoughtSignature);
  const written = new Set(signed(unedited.contents).map((part) => JSON.stringify(part)));
  return signed(contents)
    .map((part) => JSON.stringify(part))
    .filter((part) => !written.has(part));
}

/** G4: the request ends on a turn of the user or of responses. */
function userCloses({ contents }) {
  return contents.at(-1)?.role === "user" ? [] : ["the last turn"];
}

/** G5: every turn has parts, every part has something in it. */
function nothingEmpty({ contents }) {
  const isEmpty = ({ thoughtSignature, thought, text, ...data }) =>
    (text === undefined || text === "") && !thoughtSignature && Object.keys(data).length === 0;
  return contents.flatMap(({ role, parts }) => {
    return !parts?.length || parts.some(isEmpty) ? [`an empty ${role} turn`] : [];
  });
}

export const rules = {
  "G1 responsesMatchCalls": responsesMatchCalls,
  "G1 responsesFollowCalls": responsesFollowCalls,
  "G2 callsFollowUser": callsFollowUser,
  "G2 userOpens": userOpens,
  "G3 currentTurnSigned": currentTurnSigned,
  "G3 signaturesUnchanged": signaturesUnchanged,
  "G4 userCloses": userCloses,
  "G5 nothingEmpty": nothingEmpty,
  "A8 surrogatesPaired": surrogatesPaired,
};
