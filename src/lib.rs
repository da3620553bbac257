//! pi-strata keeps an LLM agent's context small.
//!
//! Text goes in once, decisions come out. `ARCHITECTURE.md` lists the modules, here called rooms. Each imports only those above
//! it, as a test checks.
//!
//! [`tokens`], a crate of its own, has the only `unsafe` outside `node` (its SIMD), and the only global state there (its
//! vocabularies and caches).
//!
//! # Example
//!
//! Seven tool results, of which the newest six stay whole:
//!
//! ```
//! use std::sync::Arc;
//!
//! use pi_strata::context::facts::measure::{Part, Raw, RawRole, Rules, measure};
//! use pi_strata::context::request::plan::Action;
//! use pi_strata::context::decide::{Conversation, Lessons, Mode, Terms};
//! use pi_strata::context::facts::transcript::Usage;
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
//! let mut conversation = Conversation::new(Mode::EveryCall);
//! conversation.go_on(0, facts);
//! let decision = conversation.decide(&Terms::default(), &mut Lessons::default());
//!
//! let [edit] = decision.plan.edits.as_slice() else { panic!("one is old") };
//! assert_eq!((edit.index, &edit.action), (2, &Action::Summarize));
//! assert_eq!(decision.plan.before.cl100k - decision.plan.after.cl100k, edit.tokens_saved);
//! ```

pub mod context;
pub mod contract;
mod fault;
#[cfg(feature = "node")]
pub mod node;
pub mod text;

pub use pi_strata_tokens as tokens;
