// A small repository of one language with eight tasks on it, all generated: four modules of arithmetic, a long table of
// codes, and a tool that prints keys once. Three tasks can be done from what they name, one renames, and four need what
// was said, read or printed tasks ago; two of those cannot be looked up again.

import { functionOf } from "./languages.mjs";
import { randomOf } from "./random.mjs";

const MODULES = ["pricing", "stock", "shipping", "billing"];
const GOODS = ["parcels", "crates", "rolls", "pallets", "drums", "letters", "boxes", "sheets"];
const PLACES = ["north", "harbour", "valley", "island", "border", "city", "coast", "forest"];

/** Functions that only make a module long; about 250 code units each. */
const FILLERS = 60;
/** Lines of the table of codes, and of what the tool prints. */
const CODES = 300;
const PRINTED = 300;

/** `{ language, folder, files, tasks }`; the same for the same language and seed. */
export function projectOf(name, language, seed) {
  const random = randomOf(`${seed} ${name}`);
  const facts = factsOf(random);
  const context = { name, language, random, facts };
  const files = { ...modulesOf(context), ...documentsOf(context) };
  return { language: name, folder: name, files, tasks: tasksOf({ ...context, files }) };
}

function factsOf({ pick }) {
  const codes = Array.from({ length: CODES }, () => ({
    code: `K-${pick(10_000, 99_999)}`,
    grams: pick(101, 9_999),
  }));
  return {
    codes,
    wanted: [codes[pick(60, 120)], codes[pick(180, 260)]],
    keys: Object.fromEntries(MODULES.map((module) => [module, pick(100_000, 999_999)])),
    edge: pick(40, 400),
    step: pick(11, 49),
    fee: pick(12, 99),
    reorder: pick(20, 90),
  };
}

function modulesOf({ language, random, facts }) {
  const { edge, reorder } = facts;
  const own = {
    pricing: [
      functionOf(language, {
        name: "bulk_discount",
        params: ["amount"],
        expression: language.choose(`amount > ${edge}`, "15", "5"),
        notes: [
          `Percent off for an amount: 15 from ${edge} pieces on, ${edge} pieces among them,`,
          "and 5 below.",
        ],
      }),
    ],
    stock: [
      functionOf(language, {
        name: "reorder_point",
        params: ["daily"],
        expression: `daily * 7 + ${reorder}`,
        notes: ["Pieces at which more are ordered: a week's need and a reserve."],
      }),
    ],
    shipping: [
      `${language.use("reorder_point", "stock")}\n`,
      functionOf(language, {
        name: "next_load",
        params: ["daily"],
        expression: `${language.call("reorder_point", "daily")} * 2`,
        notes: ["Pieces on the next lorry."],
      }),
    ],
    billing: [],
  };
  return Object.fromEntries(
    MODULES.map((module) => {
      const opening = `${language.comment} Rules of ${module}, for whole numbers. Used by the desk in the ${random.of(PLACES)} office.\n`;
      const fillers = Array.from({ length: FILLERS }, (_, i) => fillerOf(language, random, module, i));
      const half = fillers.length / 2;
      const parts = [opening, ...fillers.slice(0, half), ...own[module], ...fillers.slice(half)];
      return [`src/${module}.${language.extension}`, parts.join("\n")];
    }),
  );
}

function fillerOf(language, { pick, of }, module, i) {
  const [from, low, high] = [pick(3, 900), pick(2, 90), pick(91, 999)];
  return functionOf(language, {
    name: `${module}_rate_${of(PLACES)}_${i}`,
    params: ["amount"],
    expression: language.choose(`amount > ${from}`, `amount * ${low} + ${pick(1, 99)}`, `amount + ${high}`),
    notes: [
      `Rate for ${of(GOODS)} to the ${of(PLACES)} depot, tariff ${pick(1000, 9999)}, agreed in the`,
      `year 20${pick(10, 25)} with the ${of(PLACES)} carrier: ${low} a piece above ${from}, else a flat ${high}.`,
    ],
  });
}

function documentsOf({ language, random, facts }) {
  const rows = facts.codes.map(
    ({ code, grams }) => `| ${code} | ${random.of(GOODS)}, ${random.of(PLACES)} | ${grams} |`,
  );
  const keyAt = MODULES.map((_, i) => 40 + i * 70);
  const printed = Array.from({ length: PRINTED }, (_, i) => {
    const module = MODULES[keyAt.indexOf(i)];
    if (module !== undefined) return keyLine(module, facts);
    return `step ${i}: depot ${random.of(PLACES)} answered in ${random.pick(3, 900)} ms, checksum ${random.pick(10_000, 99_999)}`;
  });
  return {
    "docs/codes.md": [
      "# Codes and weights",
      "",
      "| code | goods | grams |",
      "|---|---|---|",
      ...rows,
      "",
    ].join("\n"),
    [`tools/enroll.${language.extension}`]: language.once(
      "enroll.txt",
      "already enrolled: keys are shown once",
    ),
    "tools/enroll.txt": `${printed.join("\n")}\n`,
  };
}

function keyLine(module, { keys }) {
  return `key of ${module} is ${keys[module]}`;
}

function codeLine({ codes }, wanted, files) {
  return files["docs/codes.md"].split("\n")[codes.indexOf(wanted) + 4];
}

/** What the house rule makes of an amount: the fee added, then up to the next multiple of the step. */
function handled({ step, fee }, amount) {
  return Math.ceil((amount + fee) / step) * step;
}

/** The same as an expression that truncates nowhere, for all three languages. */
function handledExpression({ step, fee }, amount) {
  const sum = `(${amount} + ${fee})`;
  return `${sum} + (${step} - ${sum} % ${step}) % ${step}`;
}

function tasksOf(context) {
  const { name, language, facts, files } = context;
  const path = (module) => `src/${module}.${language.extension}`;
  const tool = `tools/enroll.${language.extension}`;
  const rule = `House rule ${facts.step}/${facts.fee}: to every amount the fee of ${facts.fee} is added, and the sum is rounded up to the next multiple of ${facts.step}.`;
  const [first, second] = facts.wanted;
  const adds = (module, added, cases) => ({
    adds: { file: path(module), name: added.name, text: functionOf(language, { params: [], ...added }) },
    cases: cases.map(([args, expected]) => ({ module, name: added.name, args, expected })),
  });
  const rulesOf = (fn, module, shift) =>
    adds(
      module,
      { name: fn, params: ["amount"], expression: handledExpression(facts, `(amount - ${shift})`) },
      [50, 333, 1000].map((amount) => [[amount], handled(facts, amount - shift)]),
    );
  const bands = (sign) => language.body(language.choose(`amount ${sign} ${facts.edge}`, "15", "5"));
  const constant = (fn, module, value) =>
    adds(module, { name: fn, expression: String(value) }, [[[], value]]);
  const tasks = [
    {
      kind: "mend",
      request: `Read ${path("pricing")} whole. bulk_discount in it is wrong at the edge of its bands: the comment above it says what is right. Mend the function.`,
      reads: [path("pricing")],
      needs: [
        {
          line: `Percent off for an amount: 15 from ${facts.edge} pieces on, ${facts.edge} pieces among them,`,
          from: path("pricing"),
        },
      ],
      edits: [{ file: path("pricing"), old: bands(">"), new: bands(">=") }],
      cases: [facts.edge - 1, facts.edge, facts.edge + 1].map((amount) => ({
        module: "pricing",
        name: "bulk_discount",
        args: [amount],
        expected: amount >= facts.edge ? 15 : 5,
      })),
    },
    {
      kind: "rule, told now",
      request: `Read ${path("billing")} whole. ${rule} The rule holds in this project from now on, for later tasks too, and stands in no file: do not write it into a comment. Add handled_total(amount) to ${path("billing")}: the amount under the house rule.`,
      reads: [path("billing")],
      needs: [{ line: rule }],
      ...rulesOf("handled_total", "billing", 0),
    },
    {
      kind: "table",
      request: `Read docs/codes.md whole. Add first_weight(), without a parameter, to ${path("stock")}: the grams of code ${first.code}.`,
      reads: ["docs/codes.md"],
      needs: [{ line: codeLine(facts, first, files), from: "docs/codes.md" }],
      ...constant("first_weight", "stock", first.grams),
    },
    {
      kind: "key, printed now",
      request: `Run "${language.interpreter} ${tool}" once, without a pipe or a redirection: it prints the keys of all modules between its messages, and does so once only. Add pricing_key(), without a parameter, to ${path("pricing")}: the key of pricing. Later tasks need the other keys; write none of them into a file now.`,
      runs: [`${language.interpreter} ${tool}`],
      needs: [{ line: keyLine("pricing", facts), isPrinted: true }],
      ...constant("pricing_key", "pricing", facts.keys.pricing),
    },
    renameTask(context, path),
    {
      kind: "rule, told before",
      request: `Add handled_return(amount) to ${path("shipping")}: the amount less 9, under the house rule of this project, which I told you before and which stands in no file. Read ${path("shipping")} whole first.`,
      reads: [path("shipping")],
      needs: [{ line: rule }],
      ...rulesOf("handled_return", "shipping", 9),
    },
    {
      kind: "table, read before",
      request: `Add second_weight(), without a parameter, to ${path("stock")}: the grams of code ${second.code}, which stands in docs/codes.md.`,
      needs: [{ line: codeLine(facts, second, files), from: "docs/codes.md" }],
      ...constant("second_weight", "stock", second.grams),
    },
    {
      kind: "key, printed before",
      request: `Add shipping_key(), without a parameter, to ${path("shipping")}: the key of shipping that ${tool} printed when you ran it. It prints the keys once only.`,
      needs: [{ line: keyLine("shipping", facts), isPrinted: true }],
      ...constant("shipping_key", "shipping", facts.keys.shipping),
    },
  ];
  return tasks.map((task, i) => finished(context, `${name}-${i + 1}`, task));
}

function renameTask({ language, facts }, path) {
  const renamed = (file) => ({
    file: path(file),
    old: "reorder_point",
    new: "reorder_level",
    isEverywhere: true,
  });
  const daily = 12;
  const level = daily * 7 + facts.reorder;
  return {
    kind: "rename",
    request: `Read ${path("stock")} and ${path("shipping")} whole. Rename reorder_point to reorder_level in both; its old name shall be gone.`,
    reads: [path("stock"), path("shipping")],
    needs: [
      {
        line: functionOf(language, { name: "reorder_point", params: ["daily"], expression: "" }).split(
          "\n",
        )[0],
        from: path("stock"),
      },
    ],
    edits: [renamed("stock"), renamed("shipping")],
    cases: [
      { module: "stock", name: "reorder_level", args: [daily], expected: level },
      { module: "shipping", name: "next_load", args: [daily], expected: 2 * level },
    ],
    absent: [
      { file: path("stock"), text: "reorder_point" },
      { file: path("shipping"), text: "reorder_point" },
    ],
  };
}

/** With its id in the request, so that it is found again in a session; paths begin with the project's folder. */
function finished({ name, language }, id, task) {
  const { kind, request, reads = [], runs = [], needs, edits = [], adds, cases, absent = [] } = task;
  return {
    id,
    language: name,
    kind,
    request: `Task ${id}, in the folder ${name}, where all paths begin: ${request} Say done when it is done, and nothing more.`,
    reads,
    runs,
    needs,
    edits,
    adds,
    absent,
    check: { file: `check.${language.extension}`, text: language.check(cases), command: language.command },
  };
}
