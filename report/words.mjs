// The page's words in both languages, under the same keys; a function where a number or a name goes in.

import contract from "../contract.json" with { type: "json" };

/** A count, written, with its noun. */
const some = (count, noun) => `${count} ${noun}${count === "1" ? "" : "s"}`;

const en = {
  language: "中文",
  theme: "Light / dark",
  print: "Print",
  subtitle: (format, messages, calls) =>
    `${format}: ${some(messages, "message")}, ${some(calls, "model call")}. Tokens are the provider’s, estimated.`,
  saved: ({ before, after, dollars }) => `The hook saves ${dollars} of input: ${after} instead of ${before}.`,
  dearer: ({ before, after, dollars }) =>
    `The hook costs ${dollars} more of input: ${after} instead of ${before}.`,
  impossible: (calls) =>
    `is the cost of the input. Without the hook ${some(calls, "call")} would not fit the window, so there is nothing to compare.`,
  terms: (cache, input, read, write, seconds) =>
    `Computed for a ${cache}: ${input} per million tokens of input, ${read} to read them from the cache, ${write} to write them to it for ${seconds} s. Answers are not included.`,
  weighed: (cache, read, write, seconds) =>
    `Computed for a ${cache} in tokens of input, because no price is known: a token read from the cache counts ${read}, one written to it for ${seconds} s ${write}. Answers are not included.`,
  tokensSent: "Tokens sent, all calls",
  tokensSentShort: "Tokens sent",
  largestCall: "Largest call",
  ofWindow: (tokens) => `window: ${tokens} tokens`,
  unplayed: {
    "on abandoned branches": (calls) => `Not played: ${some(calls, "call")} on abandoned branches.`,
    "made by sub-agents": (calls) => `Not played: ${some(calls, "call")} made by sub-agents.`,
    "that used no tokens": (calls) => `Not played: ${some(calls, "call")} that used no tokens.`,
  },
  oddCalls: (calls) =>
    `${some(calls, "report")} below the size of the messages: the host, or this hook, left something out. “Without the hook” counts the messages.`,
  tokensTitle: "Tokens per call",
  tokensHelp:
    "Size of each request without the hook, and as it was sent. Above the limit the hook drops messages; a provider refuses requests over the window. The numbers mark the largest drops. Arrow keys move the cursor.",
  dropAt: (call, tokens, why) => `Call ${call}: ${tokens} tokens less (${why})`,
  smaller: "the transcript itself became smaller",
  causes: {
    start: "the recording begins",
    compaction: "the host compacted the conversation",
    edit: "the host rewrote a message",
  },
  call: "Call",
  withHook: "with the hook",
  raw: "without the hook",
  sent: "sent",
  window: "window",
  line: "limit",
  dollarsTitle: "Cost of the input",
  lines: "Lines of the chart",
  compare: "Compare with other settings",
  more: "More edits",
  policiesHelp:
    "sticky edits in batches and never changes an edit; faithful, balanced and thrifty are its settings, from the longest memory to the smallest bill. everyCall computes every edit anew at each call.",
  cachesHelp:
    "A prefix cache (OpenAI, Gemini, DeepSeek) serves any beginning that two requests share, a breakpoint cache (Anthropic) only whole earlier requests. Drag to zoom, double-click to reset.",
  total: "in total",
  perCall: "per call",
  prefix: "prefix cache",
  breakpoint: "breakpoint cache",
  policy: "Policy",
  dollarsPrefix: "cost, prefix",
  dollarsBreakpoint: "cost, breakpoint",
  hitRate: "Cache hits",
  overflows: "Calls over the window",
  policies: {},
  atCall: "At call",
  summarize: "summarised",
  keepLines: "cut by line",
  omitImages: "images left out",
  dropCalls: "second call of one id left out",
  moveAfter: "moved behind the results",
  stripThinking: "thinking stripped",
  drop: "dropped",
  truncate: "cut to fit",
  reasons: {
    "waits: carrying has cost too little for a batch":
      "waits: sending the old text along has cost too little to write the cache anew",
    "moved: the cache is cold": "the cache had expired, so an edit cost nothing",
    "moved: carrying has cost enough for a batch":
      "sending the old text along had cost enough to write the cache anew",
    "moved: over the threshold": "the request had grown over the limit",
    "moved: over the window": "the request would not have fitted the window",
  },
  cell: (number, what, tokens) => `#${number} ${what}, ${tokens} tokens`,
  since: (action, call, saved, why) => `${action} since call ${call}, saves ${saved} tokens: ${why}`,
  linesStay: (lines, why) => `${some(lines, "line")} kept: ${why}`,
  semicolon: "; ",
  schedule: (reason) => `schedule: ${reason}`,
  editsTitle: "The largest edits",
  editsHelp:
    "The tokens removed from single messages, since which call, and why. Your own list keeps the messages whole.",
  message: "Message",
  tokens: "Tokens",
  fate: "What happened",
  none: "—",
  live: "live",
  lost: "the host has gone",
  liveSubtitle: (calls, messages) =>
    `${some(calls, "call")} so far, ${some(messages, "message")}. Tokens are the provider’s, estimated until it reports.`,
  waiting: "Waiting for the first call.",
  context: "In front of the model",
  ofTheWindow: (share, tokens) => `${share} of the window of ${tokens}`,
  withoutHook: (tokens) => `without the hook ${tokens}`,
  predicted: "Estimate against report",
  predictedNote: (calls) => `median over ${some(calls, "reported call")}`,
  cacheHits: "From the cache",
  misses: (count) => (count === 1 ? "1 miss" : `${count} misses`),
  paid: "Paid for input",
  savedSoFar: (dollars) => `saved ${dollars} so far`,
  spent: (dollars) => `${dollars} more than without the hook`,
  unreported: "the provider reports nothing",
  unpriced: "no price is known",
  blocksTitle: "What the model sees",
  blocksHelp:
    "One block per message, as wide as the message is long; the hatched part was removed. Hover one, or focus the blocks and use the arrow keys, to see what was done and why.",
  readHelp: "Click one, or press Enter, to read it.",
  follow: "follow the newest call",
  kinds: {
    system: "system",
    user: "user",
    assistant: "model",
    toolResult: "tool result",
    summary: "summary",
    other: "other",
  },
  takenOut: "removed",
  callsTitle: "The newest calls",
  callHeads: ["Call", "Messages", "Estimated", "Reported", "From the cache", "Paid", "Schedule"],
  missed: (cause) => `missed: ${cause}`,
  missCauses: {
    hook: "an edit by the hook",
    expired: "the entry had expired",
    model: "another model",
    host: "the host changed the past",
    provider: "the provider itself",
  },
  asRecorded: "As it stands in the transcript",
  asSent: "As it was sent",
  goneText: "The host no longer holds this message.",
  close: "Close",
};

const zh = {
  language: "English",
  theme: "浅色 / 深色",
  print: "打印",
  subtitle: (format, messages, calls) =>
    `${format}：${messages} 条消息，${calls} 次模型调用。token 数按服务商口径估算。`,
  saved: ({ before, after, dollars }) => `输入费用节省 ${dollars}：${after}（不用钩子为 ${before}）。`,
  dearer: ({ before, after, dollars }) => `输入费用多花 ${dollars}：${after}（不用钩子为 ${before}）。`,
  impossible: (calls) => `为输入费用。不用钩子则无法完成：${calls} 次调用放不进窗口。`,
  terms: (cache, input, read, write, seconds) =>
    `按${cache}计：每百万 token 输入 ${input}，读缓存 ${read}，写缓存 ${write}，有效期 ${seconds} 秒。不含回答。`,
  weighed: (cache, read, write, seconds) =>
    `价格未知，按${cache}折算为输入 token：读缓存每个计 ${read}，写缓存计 ${write}，有效期 ${seconds} 秒。不含回答。`,
  tokensSent: "所有调用发送的 token",
  tokensSentShort: "发送的 token",
  largestCall: "最大的一次调用",
  ofWindow: (tokens) => `窗口：${tokens} token`,
  unplayed: {
    "on abandoned branches": (calls) => `已放弃分支上的 ${calls} 次调用未回放。`,
    "made by sub-agents": (calls) => `子代理的 ${calls} 次调用未回放。`,
    "that used no tokens": (calls) => `没有用到 token 的 ${calls} 次调用未回放。`,
  },
  oddCalls: (calls) =>
    `${calls} 次调用的返回用量小于消息本身：宿主或本钩子省略了内容。“不用钩子”按完整消息计算。`,
  tokensTitle: "每次调用的 token",
  tokensHelp:
    "每次请求不用钩子时的大小与实际发送的大小。超过上限就丢弃消息，超出窗口则服务商不接受。数字标出降幅最大的几处。方向键移动光标。",
  dropAt: (call, tokens, why) => `第 ${call} 次调用：减少 ${tokens} token（${why}）`,
  smaller: "对话本身变短了",
  causes: { start: "记录开始", compaction: "宿主自己压缩了对话", edit: "宿主改写了一条消息" },
  call: "调用",
  withHook: "使用钩子",
  raw: "不用钩子",
  sent: "实际发送",
  window: "上下文窗口",
  line: "上限",
  dollarsTitle: "输入费用",
  lines: "图中的曲线",
  compare: "与其他设置比较",
  more: "更多改动",
  policiesHelp:
    "分批压缩（sticky）攒成一批再压缩，压缩过的内容不再改变；保真、均衡、节省是它的三档设置，从记得最多到花得最少。每次调用重算（everyCall）每次都重新计算如何压缩。",
  cachesHelp:
    "前缀缓存（OpenAI、Gemini、DeepSeek）：两次请求开头相同的部分都能命中；断点缓存（Anthropic）：只有之前的某个完整请求才能命中。拖动放大，双击还原。",
  total: "累计",
  perCall: "每次调用",
  prefix: "前缀缓存",
  breakpoint: "断点缓存",
  policy: "策略",
  dollarsPrefix: "费用（前缀）",
  dollarsBreakpoint: "费用（断点）",
  hitRate: "缓存命中",
  overflows: "超出窗口的调用",
  policies: {
    "no compression": "不压缩",
    "these options": "以上选项",
    everyCall: "每次调用重算",
    "sticky, faithful": "分批压缩·保真",
    "sticky, balanced": "分批压缩·均衡",
    "sticky, thrifty": "分批压缩·节省",
  },
  atCall: "第几次调用",
  summarize: "已摘要",
  keepLines: "已按行裁剪",
  omitImages: "已省略图片",
  dropCalls: "已省略同一标识的第二个调用",
  moveAfter: "已移到结果之后",
  stripThinking: "已去除思考",
  drop: "已丢弃",
  truncate: "已截断",
  reasons: {
    ...inChinese(contract.reasons, contract.keeps, contract.verdicts),
    "recomputed at every call": "每次调用都重新计算",
  },
  cell: (number, what, tokens) => `#${number} ${what}，${tokens} token`,
  since: (action, call, saved, why) => `自第 ${call} 次调用起${action}，节省 ${saved} token：${why}`,
  linesStay: (lines, why) => `保留 ${lines} 行：${why}`,
  semicolon: "；",
  schedule: (reason) => `调度：${reason}`,
  editsTitle: "最大的改动",
  editsHelp: "单条消息去掉了多少、从哪次调用起、为什么。你自己的列表仍然完整。",
  message: "消息",
  tokens: "Token",
  fate: "去向",
  none: "—",
  live: "实时",
  lost: "宿主已退出",
  liveSubtitle: (calls, messages) =>
    `目前 ${calls} 次调用，${messages} 条消息。token 数为估算值，服务商返回后以其为准。`,
  waiting: "等待第一次调用。",
  context: "模型眼前的内容",
  ofTheWindow: (share, tokens) => `占窗口（${tokens}）的 ${share}`,
  withoutHook: (tokens) => `不用钩子为 ${tokens}`,
  predicted: "估算与实际之差",
  predictedNote: (calls) => `${calls} 次有返回的调用的中位数`,
  cacheHits: "来自缓存",
  misses: (count) => `未命中 ${count} 次`,
  paid: "输入已花费",
  savedSoFar: (dollars) => `目前节省 ${dollars}`,
  spent: (dollars) => `比不用钩子多花 ${dollars}`,
  unreported: "服务商没有返回用量",
  unpriced: "价格未知",
  blocksTitle: "模型看到的内容",
  blocksHelp: "一块一条消息，宽度即长度；斜线部分已被去掉。悬停，或聚焦后用方向键，查看做了什么、为什么。",
  readHelp: "点击某块，或按回车，查看原文。",
  follow: "跟随最新调用",
  kinds: {
    system: "系统",
    user: "用户",
    assistant: "模型",
    toolResult: "工具结果",
    summary: "摘要",
    other: "其他",
  },
  takenOut: "已去掉",
  callsTitle: "最近的调用",
  callHeads: ["调用", "消息", "估算", "实际", "来自缓存", "花费", "调度"],
  missed: (cause) => `未命中：${cause}`,
  missCauses: {
    hook: "钩子做了编辑",
    expired: "缓存已过期",
    model: "换了模型",
    host: "宿主改动了历史",
    provider: "服务商自身原因",
  },
  asRecorded: "对话中的原文",
  asSent: "实际发送的内容",
  goneText: "宿主已不再保留这条消息。",
  close: "关闭",
};

export const WORDS = { en, zh };

/** The table's words in Chinese, by the English ones. */
function inChinese(...tables) {
  return Object.fromEntries(
    tables.flatMap((table) => Object.values(table).map(({ en: english, zh: chinese }) => [english, chinese])),
  );
}

/** The reader's own language where we speak it. */
export function firstLanguage() {
  return navigator.language.startsWith("zh") ? "zh" : "en";
}
