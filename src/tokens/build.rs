//! Lays out the token tables that the crate embeds.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a build script stops the build where its input is not what it must be"
)]

use std::{env, fs, path::PathBuf};

#[path = "build/classes.rs"]
mod classes;
#[path = "build/encodings.rs"]
mod encodings;
#[path = "src/packing.rs"]
#[expect(dead_code, reason = "what reads the tables is for the crate")]
mod packing;
#[path = "build/table.rs"]
mod table;
#[path = "build/vocabulary.rs"]
mod vocabulary;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/packing.rs");
    let folder = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    encodings::write(&folder);
    for (name, contents) in classes::tables() {
        fs::write(folder.join(name), contents).expect("OUT_DIR can be written");
    }
}
