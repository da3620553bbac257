//! pi-strata keeps an LLM agent's context small.
//!
//! Text goes in once, decisions come out. The rooms, each knowing only those above it:
//!
//! - [`cancel`]: how long work is asked to stop
//! - [`text`]: UTF-16 lengths, lines and cuts; [`tokens`]: exact cl100k counts and the estimate made of them
//! - [`traits`]: what a message is about, as hashes
//! - [`handle`]: the handle by which a shortened tool result can be read back
//! - [`cuts`]: how a long text can be cut to its ends; [`shorten`]: the shorter text for a long tool result
//! - [`transcript`]: what the core sees of a conversation; [`plan`]: what it answers
//! - [`account`]: what is sent of each message, and the sum: the one place where that is told
//! - [`layers`]: what may be edited, one pure function each; [`measure`]: from a message's text to its facts
//! - [`validity`]: the providers' rules, checked and mended
//! - [`schedule`]: when the layers may move; [`guard`]: a cap and a budget, for hosts that want no more
//! - [`ledger`]: the bill read back: what was paid, what the cache missed and why, what the hook cost and saved
//! - [`recall`]: reading back what was summarised
//! - [`session_file`]: recorded sessions, read for the replay from what it is given to read; it knows none of the others
//! - [`sqlite`]: opens the embedded database; with the rooms that keep things there, the only one that does I/O
//! - [`history`]: the conversations of hosts that keep their own
//! - [`sessions`]: what a session may let go and what is said of it; the SQLite database that sessions are kept in
//! - `fault`: where builds made for that alone can be made to panic; every room may name it
//! - `node`: the only room that knows Node, behind the feature of that name
//!
//! Two exceptions to what holds elsewhere: [`tokens`] holds the only `unsafe` outside `node` (its SIMD), and with its caches
//! the only state that outlives a call.
//!
//! # Example
//!
//! Seven tool results, of which the newest six stay whole:
//!
//! ```
//! use std::sync::Arc;
//!
//! use pi_strata::layers::Limits;
//! use pi_strata::measure::{Part, Raw, RawRole, Rules, measure};
//! use pi_strata::plan::Action;
//! use pi_strata::schedule::{Memo, Mode, decide, economy::Policy};
//! use pi_strata::transcript::{Transcript, Usage};
//!
//! let utf16 = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
//! let (question, output) = (utf16("Which files are there?"), utf16(&"a line of output\n".repeat(100)));
//! let (model, tool, arguments) = (utf16("some-model"), utf16("bash"), utf16(r#"{"command":"ls"}"#));
//! let ids: Vec<Vec<u16>> = (0..7).map(|number| utf16(&format!("call_{number}"))).collect();
//!
//! let mut messages = vec![Raw::new(RawRole::User, vec![Part::Text(&question)])];
//! for id in &ids {
//!     let (usage, has_text_id) = (Usage::default(), false);
//!     let role = RawRole::Assistant { api: &[], provider: &[], model: &model, usage, has_text_id };
//!     let call = Part::Call { id, name: &tool, arguments: &arguments, is_signed: false };
//!     messages.push(Raw::new(role, vec![call]));
//!     let role = RawRole::ToolResult { call_id: id, tool_name: &tool, marker: None };
//!     messages.push(Raw::new(role, vec![Part::Text(&output)]));
//! }
//!
//! let rules = Rules::default();
//! let facts = messages.iter().map(|message| Arc::new(measure(message, &rules))).collect();
//! let transcript = Transcript::new(facts);
//! let (policy, limits, memo) = (Policy::default(), Limits::default(), Memo::default());
//! let decision = decide(&transcript, Mode::EveryCall, &policy, &limits, None, &memo);
//!
//! let [edit] = decision.plan.edits.as_slice() else { panic!("one is old") };
//! assert_eq!((edit.index, &edit.action), (2, &Action::Summarize));
//! assert_eq!(decision.plan.before.cl100k - decision.plan.after.cl100k, edit.tokens_saved);
//! ```

pub mod account;
pub mod cancel;
pub mod cuts;
mod fault;
pub mod guard;
pub mod handle;
pub mod history;
pub mod layers;
pub mod ledger;
pub mod measure;
#[cfg(feature = "node")]
pub mod node;
pub mod plan;
pub mod recall;
pub mod schedule;
pub mod session_file;
pub mod sessions;
pub mod shorten;
pub mod sqlite;
pub mod text;
pub mod traits;
pub mod transcript;
pub mod validity;

pub use pi_strata_tokens as tokens;
