//! Sets the linker flags a Node addon needs, and lays out the token tables that `src/tokens` embeds.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a build script stops the build where its input is not what it must be"
)]

use std::{env, fs, path::PathBuf};

#[path = "build/classes.rs"]
mod classes;
#[path = "src/tokens/hash.rs"]
mod hash;
#[path = "build/perfect_hash.rs"]
mod perfect_hash;
#[path = "build/trie.rs"]
mod trie;
#[path = "build/vocabulary.rs"]
mod vocabulary;

fn main() {
    #[cfg(feature = "node")]
    napi_build::setup();
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/tokens/hash.rs");
    let folder = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let tables = vocabulary::tables(&vocabulary::read()).into_iter().chain(classes::tables());
    for (name, contents) in tables {
        fs::write(folder.join(name), contents).expect("OUT_DIR can be written");
    }
}
