//! Layers 1 to 3 once more, straight from the documented rules: what plans are held against. Shares nothing
//! with the product but the counting of tokens.

use pi_strata::context::layers::{Limits, ThinkingScope};

use super::model::{Block, Message, Role, Text, tokens};

/// The fate of a message that is not sent as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Shortened,
    Stripped,
    Dropped,
}

const REASONING_APIS: [&str; 3] = ["openai-responses", "azure-openai-responses", "openai-codex-responses"];

/// Layers 1 to 3 on a sound transcript without usage, recomputed at this call.
pub(crate) fn every_call(messages: &[Message], limits: &Limits) -> Vec<(usize, Fate)> {
    let mut fates = vec![None; messages.len()];
    let mut sizes: Vec<usize> =
        messages.iter().map(|message| tokens(std::slice::from_ref(message))).collect();
    let results = positions(messages, Message::is_result);
    for &index in &results[..results.len().saturating_sub(limits.keep_recent_tool_results)] {
        shorten(&messages[index], summary_of, index, &mut fates, &mut sizes);
    }
    for index in old_thinking(messages, limits) {
        let left = stripped(&messages[index]);
        if may_be_stripped(&messages[index]) {
            fates[index] = Some(Fate::Stripped);
            sizes[index] = tokens(&[left]);
        }
    }
    let (groups, protected) = (groups(messages), protected(messages));
    let tail = tail_start(messages, &groups, limits.keep_recent_messages.max(1));
    for start in 0..tail {
        if sizes.iter().sum::<usize>() as f64 <= limits.context_window * limits.context_ratio {
            break;
        }
        if groups[start] == start && !protected[start] {
            drop_group(&groups, start, &mut fates, &mut sizes);
        }
    }
    listed(fates)
}

fn listed(fates: Vec<Option<Fate>>) -> Vec<(usize, Fate)> {
    fates.into_iter().enumerate().filter_map(|(index, fate)| Some((index, fate?))).collect()
}

fn positions(messages: &[Message], is_chosen: impl Fn(&Message) -> bool) -> Vec<usize> {
    (0..messages.len()).filter(|&index| is_chosen(&messages[index])).collect()
}

fn shorten(
    message: &Message,
    shorter: impl Fn(&[u16]) -> Option<Vec<u16>>,
    index: usize,
    fates: &mut [Option<Fate>],
    sizes: &mut [usize],
) {
    let text = message.texts().map(|text| text.0.clone()).collect::<Vec<_>>().join(&10);
    let Some(shorter) = shorter(&text) else { return };
    let mut edited = message.clone();
    let first = edited.blocks.iter().position(|block| matches!(block, Block::Text(_))).unwrap_or(0);
    edited.blocks.retain(|block| !matches!(block, Block::Text(_)));
    edited.blocks.insert(first, Block::Text(Text(shorter)));
    let size = tokens(&[edited]);
    if size <= sizes[index] {
        fates[index] = Some(Fate::Shortened);
        sizes[index] = size;
    }
}

fn drop_group(groups: &[usize], start: usize, fates: &mut [Option<Fate>], sizes: &mut [usize]) {
    for index in (start..groups.len()).filter(|&index| groups[index] == start) {
        fates[index] = Some(Fate::Dropped);
        sizes[index] = 0;
    }
}

fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn summary_of(text: &[u16]) -> Option<Vec<u16>> {
    let lines: Vec<&[u16]> = text.split(|&unit| unit == 10).collect();
    let omitted = lines.len().saturating_sub(5);
    let mut shown: Vec<Vec<u16>> = lines.iter().take(3).map(|line| long_line(line)).collect();
    shown.push(utf16(&format!("[... 已省略 {omitted} 行，原始 {} 字符 ...]", text.len())));
    let rest = lines.get(3..).unwrap_or_default();
    shown.extend(rest[rest.len().saturating_sub(2)..].iter().map(|line| long_line(line)));
    let summary = shown.join(&10);
    (text.len() > 500 && summary.len() < text.len()).then_some(summary)
}

/// The first 350 and the last 149 units of a line over 500, never half of a pair.
fn long_line(line: &[u16]) -> Vec<u16> {
    if line.len() <= 500 {
        return line.to_vec();
    }
    [until(line, 350), utf16("…"), from(line, line.len() - 149)].concat()
}

fn is_inside_pair(text: &[u16], at: usize) -> bool {
    at > 0
        && at < text.len()
        && (0xD800..0xDC00).contains(&text[at - 1])
        && (0xDC00..0xE000).contains(&text[at])
}

fn until(text: &[u16], at: usize) -> Vec<u16> {
    text[..at - usize::from(is_inside_pair(text, at))].to_vec()
}

fn from(text: &[u16], at: usize) -> Vec<u16> {
    text[at + usize::from(is_inside_pair(text, at))..].to_vec()
}

fn is_thinking(block: &Block) -> bool {
    matches!(block, Block::Thinking { .. })
}

fn calls(message: &Message) -> impl Iterator<Item = &Text> {
    message.blocks.iter().filter_map(|block| match block {
        Block::Call { id, .. } => Some(id),
        _ => None,
    })
}

/// Assistant messages with thinking but the newest sent ones, and but what the tool loop under way wants back.
fn old_thinking(messages: &[Message], limits: &Limits) -> Vec<usize> {
    let is_assistant = |message: &Message| matches!(message.role, Role::Assistant { .. });
    let thinkers = positions(messages, |of| is_assistant(of) && of.blocks.iter().any(is_thinking));
    let newest = positions(messages, |of| is_assistant(of) && of.is_sent).last().copied();
    let step = newest.filter(|&index| calls(&messages[index]).next().is_some());
    let last_user = positions(messages, |of| of.role == Role::User).last().copied();
    let is_old = |index: usize| {
        let newer = thinkers.iter().filter(|&&other| other > index && messages[other].is_sent).count();
        let is_closed =
            limits.thinking_scope == ThinkingScope::All || last_user.is_some_and(|user| index < user);
        let is_before_step = step.is_none_or(|step| !thinkers.contains(&step) || index < step);
        newer >= limits.keep_recent_thinking && is_closed && is_before_step
    };
    thinkers.iter().copied().filter(|&index| is_old(index)).collect()
}

fn may_be_stripped(message: &Message) -> bool {
    let Role::Assistant { api, .. } = &message.role else { return false };
    let has_call = calls(message).next().is_some();
    let is_name = |signature: &Text| {
        let text = String::from_utf16_lossy(&signature.0);
        (1..=64).contains(&text.len())
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let names_field = message.blocks.iter().any(|block| match block {
        Block::Thinking { signature, .. } => is_name(signature),
        _ => false,
    });
    let api = String::from_utf16_lossy(&api.0);
    let is_bound =
        has_call && (REASONING_APIS.contains(&&*api) || (api == "openai-completions" && names_field));
    let says_something = |block: &Block| match block {
        Block::Text(text) => !String::from_utf16_lossy(&text.0).trim().is_empty(),
        Block::Thinking { .. } | Block::Counted(_) => false,
        _ => true,
    };
    !is_bound && message.blocks.iter().any(says_something)
}

fn stripped(message: &Message) -> Message {
    let mut left = message.clone();
    left.blocks.retain(|block| !is_thinking(block));
    left
}

/// The message that opens the group of each: of a result the nearest assistant message with its call.
fn groups(messages: &[Message]) -> Vec<usize> {
    let group_of = |(index, message): (usize, &Message)| {
        let Role::ToolResult { call_id, .. } = &message.role else { return index };
        (0..index).rfind(|&at| calls(&messages[at]).any(|id| id == call_id)).unwrap_or(index)
    };
    messages.iter().enumerate().map(group_of).collect()
}

/// The start of the newest `count` messages, system ones not counted, with the calls of the results among them.
fn tail_start(messages: &[Message], groups: &[usize], count: usize) -> usize {
    let spoken = positions(messages, |message| message.role != Role::System);
    let Some(&start) = spoken.get(spoken.len().saturating_sub(count)) else { return messages.len() };
    groups[start..].iter().copied().min().unwrap_or(start)
}

fn protected(messages: &[Message]) -> Vec<bool> {
    let users = positions(messages, |message| message.role == Role::User);
    let opening = positions(messages, Message::is_spoken).first().copied();
    let is_protected = |(index, message): (usize, &Message)| {
        let opens = opening == Some(index) && !matches!(message.role, Role::Assistant { .. });
        let is_summary = message.role == Role::Summary && users.first().is_none_or(|&user| index < user);
        let is_end = users.first() == Some(&index) || users.last() == Some(&index);
        message.role == Role::System || is_summary || is_end || opens
    };
    messages.iter().enumerate().map(is_protected).collect()
}
