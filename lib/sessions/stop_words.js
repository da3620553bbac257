// Words that say nothing about what a conversation is about, in English and Chinese: function words, and the small
// talk of working with an assistant. Lower case, as Intl.Segmenter cuts them.
"use strict";

const ENGLISH = `
  a about above after again all also am an and any are aren't as at be because been before being below between both
  but by can can't cannot could couldn't did didn't do does doesn't doing don't done down during each either else etc
  ever every few for from further get gets getting go goes going gone got had has have haven't having he her here hers
  herself him himself his how however i i'd i'll i'm i've if in instead into is isn't it it's its itself just let
  let's like made make makes many may maybe me might mine more most much must my myself need needs neither no nor not
  now of off on once one only onto or other others our ours ourselves out over own per please quite rather really
  said same say says see seen shall she should so some still such sure take than thank thanks that that's the their
  theirs them themselves then there there's these they they're thing things this those through thus to too two under
  until up upon us use used uses using very via want wants was wasn't way we we'll we're well were what what's when
  where whether which while who whom whose why will with within without won't would yes yet you you'd you'll you're
  you've your yours yourself ok okay hello hi hey
`;

const CHINESE = `
  一个 一些 一下 一样 一种 一直 一定 一起 一般 我们 你们 他们 她们 它们 咱们 自己 大家 这个 那个 这些 那些 这样
  那样 这里 那里 这儿 那儿 这么 那么 什么 怎么 怎样 怎么样 哪个 哪些 哪里 为什么 多少 如何 是否 是不是 有没有
  可以 可能 能够 应该 应当 必须 需要 想要 希望 不要 不能 不会 不是 没有 没 还有 还是 还 或者 或是 或 以及 并且 并
  而且 而 但是 但 不过 然而 因为 因此 所以 由于 如果 要是 假如 虽然 尽管 即使 只要 只有 除非 无论 不管 于是 然后
  接着 首先 其次 最后 另外 此外 同时 以后 以前 之后 之前 之间 现在 目前 已经 曾经 正在 刚刚 马上 立即 非常 十分
  特别 比较 更加 更 最 很 太 都 也 又 再 就 才 只 仅 把 被 让 给 对 对于 关于 根据 按照 通过 为了 为 从 向 往 到 在
  于 和 与 跟 同 及 等 等等 的 地 得 了 着 过 吗 呢 吧 啊 呀 哦 嗯 哈 是 有 要 会 能 将 请 请问 谢谢 好 好的 您 你 我
  他 她 它 这 那 哪 谁 不 上 下 中 里 外 内 前 后 个 种 次 些 其中 其他 其它 其实 当然 例如 比如 就是 使用 进行 出现
  一 二 三 两 觉得 知道 看到 告诉 帮我 一点 有点 时候 东西 事情 这边 那边 时 用
`;

/** All of them. */
const STOP_WORDS = new Set(`${ENGLISH} ${CHINESE}`.split(/\s+/).filter((word) => word !== ""));

module.exports = { STOP_WORDS };
