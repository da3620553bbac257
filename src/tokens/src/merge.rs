//! Encodes one piece. Merges a short one (`short`), and walks a longer one in linear time, without merging.
//!
//! Byte-pair encoding joins, again and again, the two neighbours whose joint token has the least rank. The walk finds the
//! result without merging. It goes through the piece from the left and takes the longest token that is compatible with the
//! one before. Where no token fits, it takes the last one back and tries a shorter one. It never tries a dead place again,
//! which bounds the work by the piece's length.
//!
//! # Why neighbours are enough
//!
//! A row of tokens is the result of merging if and only if each two neighbours are the result for their joint bytes. Take
//! the first merge that crosses a boundary of the row. Every merge before it was within a token, so both its halves lie
//! within the two tokens that meet there, in the same state as in these two alone: these, too, would have merged across.
//! Where no merge crosses, each token is the result for its own bytes.
//!
//! [`compatible`] looks at two neighbours backwards, from their last merge to their first. At the time of a merge, the tokens
//! at the boundary were those left after undoing it and all younger ones.
//!
//! # An example
//!
//! `prefixed` by cl100k_base, with the tokens' ranks, which are their ids:
//!
//! ```text
//! at 0   prefix 12113 = p + refix           the longest token there
//! at 6   ed 291                             may it follow?
//!          prefix+ed                        no such token
//!          refix+ed     prefix undone       no such token
//!          ix+ed        refix 5170 undone   ixed 3366 is older than refix: merging would have taken ix+ed first. No
//!        e                                  the next shorter; it may: ixe 86400 and xe 8536 come after refix and ix
//! at 7   d                                  e+d is ed: no, and nothing is shorter. 7 is dead; e is taken back
//! at 6   e ends at 7                        6 is dead; prefix is taken back
//! at 0   pref 31652 = p + ref               the next shorter
//! at 4   ixed 3366 = ix + ed                may it follow?
//!          pref+ixed, ref+ixed              no such tokens
//!          ref+ix       ixed 3366 undone    refix 5170 is younger than ixed, which had taken ix by then
//!          f+ix, f+i                        tokens, but younger than ref 1116 and ix 953. Yes
//! row    pref ixed
//! ```

use super::{
    packing::{self, ID_BITS, LEN_BITS, LONGEST_TOKEN},
    pair_table::Joiner,
    short::{self, SHORT},
    static_vocab::{LongestMatch, StaticVocab, Token, TokenMatch},
    vocabulary::{Vocabulary, Words},
};

/// Buffers a merge needs, kept between pieces.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The tokens of the last piece, left to right.
    pub(crate) tokens: Vec<u32>,
    /// Those of the walk so far.
    row: Vec<Token>,
    /// One bit per place: set once no row of tokens through it can be completed.
    dead: Vec<u64>,
    /// Answers of [`longest_fitting`]: both ids and the answer in one word. The same tokens meet again and again, in runs
    /// of one character as in words that never came before.
    answers: Vec<u64>,
    /// The last long run of one byte, and the longest token in it.
    run: Run,
    shorter: PrefixCache,
    joiner: Joiner,
}

/// A cache of the longest tokens that are proper prefixes of others.
#[derive(Default)]
struct PrefixCache(Vec<(Token, Option<Token>)>);

/// Prefixes remembered: 10 KB.
const SHORTER: usize = 1 << 8;

impl PrefixCache {
    /// The longest token at a place that is a proper prefix of `token`. `met` is it, if the walk met it on the way.
    #[inline(always)]
    fn at(
        &mut self,
        vocabulary: &StaticVocab,
        piece: &[u8],
        at: usize,
        token: Token,
        met: Option<TokenMatch>,
    ) -> Option<Token> {
        if token.len == 1 {
            return None;
        }
        if let Some(found) = met {
            return Some(vocabulary.token(found));
        }
        if self.0.is_empty() {
            self.0.resize(SHORTER, (Token { id: u32::MAX, len: 0 }, None));
        }
        let place = self.0.get_mut(token.id as usize % SHORTER)?;
        if place.0 != token {
            let longest = piece.get(at..at + token.len - 1).and_then(|rest| vocabulary.longest(rest));
            *place = (token, longest.map(|longest| vocabulary.token(longest.found)));
        }
        place.1
    }
}

#[derive(Default)]
struct Run {
    start: usize,
    end: usize,
    token: Option<Token>,
}

/// Bytes of two tokens from which on their answer is cached: shorter ones have few merges to undo.
const REMEMBERED_FROM: usize = 6;
/// Bytes of a piece from which on every answer is cached: a megabyte of `ab` took three times as long without.
const LONG_FROM: usize = 256;
/// Remembered answers, as a power of two: 128 KB.
const ANSWER_BITS: u32 = 14;

/// A token that may stand at a place.
#[derive(Clone, Copy)]
struct Candidate {
    token: Token,
    /// The next shorter one, where it is known.
    shorter: Option<TokenMatch>,
}

impl Candidate {
    fn of(vocabulary: &StaticVocab, longest: LongestMatch) -> Self {
        Self { token: vocabulary.token(longest.found), shorter: longest.shorter }
    }
}

/// Returns `true` for a piece that merging encodes faster than walking. Merging takes a step per byte, and a character of
/// several bytes is mostly a token.
#[inline(always)]
fn is_merged(piece: &[u8]) -> bool {
    piece.len() <= SHORT && piece.first().is_some_and(u8::is_ascii)
}

impl Scratch {
    /// Fills `tokens` with the byte-pair encoding of `piece`.
    pub(crate) fn encode(&mut self, vocabulary: &Vocabulary, piece: &[u8]) {
        self.tokens.clear();
        let vocabulary = match &vocabulary.words {
            Words::Static(vocab) => vocab,
            Words::Table(table) => return self.joiner.encode(table, piece, &mut self.tokens),
        };
        let Some(first) = vocabulary.longest(piece) else { return };
        // Most pieces are one token.
        if first.found.len == piece.len() {
            self.tokens.push(vocabulary.id(first.found));
        } else if is_merged(piece) {
            self.tokens.extend(short::merge(vocabulary.pairs(), piece).ids());
        } else {
            self.walk(vocabulary, piece, first);
            self.tokens.extend(self.row.iter().map(|token| token.id));
        }
    }

    /// The number of tokens in the byte-pair encoding of `piece`.
    #[inline(always)]
    pub(crate) fn count(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> usize {
        let vocabulary = match &vocabulary.words {
            Words::Static(vocab) => vocab,
            Words::Table(_) => {
                self.encode(vocabulary, piece);
                return self.tokens.len();
            }
        };
        match vocabulary.longest(piece) {
            None => 0,
            Some(first) if first.found.len == piece.len() => 1,
            Some(_) if is_merged(piece) => short::count(vocabulary.pairs(), piece),
            Some(first) => {
                self.walk(vocabulary, piece, first);
                self.row.len()
            }
        }
    }

    /// Fills `row` with the encoding of a piece that is no token and starts with `first`.
    fn walk(&mut self, vocabulary: &StaticVocab, piece: &[u8], first: LongestMatch) {
        self.row.clear();
        self.dead.clear();
        self.dead.resize(piece.len() / 64 + 1, 0);
        if self.answers.is_empty() {
            // They are of one vocabulary, and so is a scratch.
            self.answers = vec![0; 1 << ANSWER_BITS];
        }
        self.run = Run::default();
        let is_long = piece.len() >= LONG_FROM;
        let mut at = 0;
        let mut candidate = Some(Candidate::of(vocabulary, first));
        let mut is_longest = false;
        while let Some(Candidate { mut token, mut shorter }) = candidate {
            let longest = token.len;
            let taken = loop {
                let fitting = match self.row.last() {
                    Some(&last) if is_long || last.len + token.len >= REMEMBERED_FROM => {
                        self.recall(vocabulary, piece, at, last, token, shorter, is_longest)
                    }
                    Some(&last) => {
                        let prefixes = &mut self.shorter;
                        longest_fitting(vocabulary, prefixes, piece, at, last, token, shorter, is_longest)
                    }
                    None => Some(token),
                };
                let Some(fits) = fitting else { break None };
                if fits != token {
                    (token, shorter) = (fits, None);
                }
                let end = at + token.len;
                if !self.is_dead(end) {
                    break Some(end);
                }
                match self.shorter.at(vocabulary, piece, at, token, shorter.take()) {
                    Some(next) => token = next,
                    None => break None,
                }
            };
            if let Some(end) = taken {
                self.row.push(token);
                at = end;
                is_longest = token.len == longest;
                candidate = self.longest_at(vocabulary, piece, at);
            } else {
                self.kill(at);
                is_longest = false;
                candidate = self.row.pop().map(|token| Candidate { token, shorter: None });
                at -= candidate.map_or(0, |candidate| candidate.token.len);
            }
        }
    }

    /// The longest token at a place of a long piece. A run of one byte has the same one at every place, which takes a hundred
    /// steps to find.
    fn longest_at(&mut self, vocabulary: &StaticVocab, piece: &[u8], at: usize) -> Option<Candidate> {
        let ahead = at..at + LONGEST_TOKEN;
        if let Some(token) = self.run.token
            && self.run.start <= at
            && ahead.end <= self.run.end
        {
            return Some(Candidate { token, shorter: None });
        }
        let candidate = Candidate::of(vocabulary, vocabulary.longest(piece.get(at..)?)?);
        let token = candidate.token;
        if let Some(&[first, second, third, ref others @ ..]) = piece.get(ahead) {
            let differs = |byte: &u8| *byte != first;
            if first == second && second == third && !others.iter().any(differs) {
                let (before, after) = piece.split_at_checked(at)?;
                self.run = Run {
                    start: before.iter().rposition(differs).map_or(0, |last| last + 1),
                    end: after.iter().position(differs).map_or(piece.len(), |len| at + len),
                    token: Some(token),
                };
            }
        }
        Some(candidate)
    }

    /// [`longest_fitting`], remembered.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the walk's state, in registers")]
    fn recall(
        &mut self,
        vocabulary: &StaticVocab,
        piece: &[u8],
        at: usize,
        last: Token,
        token: Token,
        shorter: Option<TokenMatch>,
        is_longest: bool,
    ) -> Option<Token> {
        /// Answers are written above the length, so a known one is never 0; the length 0 is "none fits".
        const KNOWN: u64 = 1 << (3 * ID_BITS + LEN_BITS);
        const ANSWER: u64 = (1 << (ID_BITS + LEN_BITS)) - 1;
        let key = KNOWN
            | u64::from(last.id) << (2 * ID_BITS + LEN_BITS)
            | u64::from(token.id) << (ID_BITS + LEN_BITS);
        let slot = (packing::pair(last.id, token.id) >> (u64::BITS - ANSWER_BITS)) as usize;
        let known = self.answers.get(slot).copied().unwrap_or(0);
        if known & !ANSWER == key {
            let len = (known & ((1 << LEN_BITS) - 1)) as usize;
            let id = ((known & ANSWER) >> LEN_BITS) as u32;
            return (len != 0).then_some(Token { id, len });
        }
        let answer =
            longest_fitting(vocabulary, &mut self.shorter, piece, at, last, token, shorter, is_longest);
        if let Some(place) = self.answers.get_mut(slot) {
            *place = key | answer.map_or(0, |token| u64::from(token.id) << LEN_BITS | token.len as u64);
        }
        answer
    }

    fn is_dead(&self, at: usize) -> bool {
        self.dead.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn kill(&mut self, at: usize) {
        if let Some(word) = self.dead.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }
}

/// The longest token that is `token` or a prefix of it and can stand at `at`, after `last`.
#[inline(always)]
#[expect(
    clippy::too_many_arguments,
    reason = "the walk's state, in registers: most of it is known to the compiler at each call"
)]
fn longest_fitting(
    vocabulary: &StaticVocab,
    prefixes: &mut PrefixCache,
    piece: &[u8],
    at: usize,
    last: Token,
    mut token: Token,
    mut shorter: Option<TokenMatch>,
    is_longest: bool,
) -> Option<Token> {
    while !compatible(vocabulary, last.id, token.id, is_longest) {
        token = prefixes.at(vocabulary, piece, at, token, shorter.take())?;
    }
    Some(token)
}

/// Returns `true` if merging the joint bytes of two tokens gives these two.
///
/// Undoes the merges at the boundary, the youngest first. If a merge across the boundary is older than all those undone,
/// merging would have taken it before building these tokens. On a tie the left one merges first, so undoing `right` still
/// forbids a merge of its own rank.
///
/// `is_longest`: no longer token stands in the place of `left`, so no merge of all of it is looked for.
#[inline(always)]
fn compatible(vocabulary: &StaticVocab, mut left: u32, mut right: u32, mut is_longest: bool) -> bool {
    let (pairs, mut ceiling) = (vocabulary.pairs(), vocabulary.end);
    loop {
        if !is_longest && pairs.merge_below(ceiling, left, right) {
            return false;
        }
        let (inner_left, inner_right) = (vocabulary.halves(left).1, vocabulary.halves(right).0);
        let (left_is_byte, right_is_byte) = (inner_left == left, inner_right == right);
        if left_is_byte && right_is_byte {
            return true;
        }
        if right_is_byte || (!left_is_byte && left > right) {
            ceiling = left;
            left = inner_left;
            is_longest = false;
        } else {
            ceiling = right + 1;
            right = inner_right;
        }
    }
}
