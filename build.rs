//! Sets the linker flags a Node addon needs, and writes `contract.json`, the table that both languages read, as Rust: an
//! enum for each list of names and a constant for each default that is a number.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a build script stops the build where its input is not what it must be"
)]

use std::path::PathBuf;
use std::{env, fs};

use serde_json::Value;

/// Lists of the table by the name of their enum.
const ENUMS: [(&str, &str); 10] = [
    ("roles", "Role"),
    ("blocks", "Block"),
    ("actions", "ActionName"),
    ("layers", "Layer"),
    ("reasons", "Reason"),
    ("keeps", "Keep"),
    ("verdicts", "Verdict"),
    ("families", "Family"),
    ("rules", "Rule"),
    ("subjects", "Subject"),
];
/// Tables of options by what stands before the names of their constants.
const OPTIONS: [(&str, &str); 4] =
    [("hookOptions", ""), ("economies", "ECONOMY_"), ("cacheOptions", "CACHE_"), ("constants", "")];

fn main() {
    #[cfg(feature = "node")]
    napi_build::setup();
    println!("cargo::rerun-if-changed=contract.json");
    let folder = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let table = fs::read_to_string("contract.json").expect("contract.json is beside build.rs");
    fs::write(folder.join("contract.rs"), rust_of(&table)).expect("OUT_DIR can be written");
}

fn rust_of(table: &str) -> String {
    let table: Value = serde_json::from_str(table).expect("contract.json is JSON");
    let mut rust = String::from("use crate::text::Utf16Len;\n");
    for (list, name) in ENUMS {
        rust += &enum_of(name, &table[list]);
    }
    rust += &image_limits(&table["imageLimits"]);
    for (language, markers) in table["markers"].as_object().expect("markers by language") {
        for (name, parts) in markers.as_object().expect("a language has markers by name") {
            rust += &marker_of(&upper(&format!("{language}{}", capitalized(name))), parts);
        }
    }
    rust += &families_of(&table["cacheFamilies"]);
    for (options, before) in OPTIONS {
        for (name, option) in table[options].as_object().expect("options are an object") {
            if let Some(constant) = constant_of(&format!("{before}{}", upper(name)), name, option) {
                rust += &constant;
            }
        }
    }
    rust
}

/// An enum of the names of a list, or of an object's keys.
fn enum_of(name: &str, list: &Value) -> String {
    let names: Vec<String> = match list {
        Value::Object(words) => words.keys().map(|name| capitalized(name)).collect(),
        list => list.as_array().into_iter().flatten().filter_map(Value::as_str).map(capitalized).collect(),
    };
    let each = |line: &dyn Fn(&String) -> String| names.iter().map(line).collect::<String>();
    let variants = each(&|name| format!("/// `{name}`\n{name},\n"));
    let all = each(&|name| format!("Self::{name},"));
    let count = names.len();
    format!(
        "/// `{name}`, as `contract.json` lists it; its number at the boundary is its position.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum {name} {{ {variants} }}
        impl {name} {{
            /// Every one, by number.
            pub const ALL: [Self; {count}] = [{all}];
            /// The one of that number.
            pub fn at(number: usize) -> Option<Self> {{ Self::ALL.get(number).copied() }}
        }}\n"
    )
}

/// The images that providers take: protocol, window above which the row holds, number, and megabytes of the request and of one image.
fn image_limits(rows: &Value) -> String {
    let rows = rows.as_array().expect("a row a protocol");
    let row = |row: &Value| {
        let window = row["aboveWindow"].as_f64().unwrap_or(0.0);
        let largest = row.get("megabytesOfOne").unwrap_or(&row["megabytes"]);
        format!("({}, {window:?}, {}, {}, {largest}),", row["api"], row["images"], row["megabytes"])
    };
    let (count, rows) = (rows.len(), rows.iter().map(row).collect::<String>());
    format!(
        "/// Protocol, least window, images and megabytes of a request, megabytes of one image.\npub const IMAGE_LIMITS: [(&str, f64, usize, usize, usize); {count}] = [{rows}];\n"
    )
}

fn marker_of(constant: &str, parts: &Value) -> String {
    let count = parts.as_array().expect("a marker is its parts").len();
    format!("/// A marker, around what it says.\npub const {constant}: [&str; {count}] = {parts};\n")
}

/// Prices and life of each family's prompt cache, in the order in which names are looked for.
fn families_of(table: &Value) -> String {
    let table = table.as_object().expect("families by name");
    let rows = table.iter().map(|(name, family)| {
        let number = |field: &str| family[field].as_f64().expect("a family has numbers");
        let (read, write, ttl) = (number("read"), number("write"), family["ttlSeconds"].as_f64());
        format!("CacheFamily {{ name: {name:?}, read: {read:?}, write: {write:?}, ttl_seconds: {ttl:?} }},")
    });
    let (rows, count) = (rows.collect::<String>(), table.len());
    format!(
        "/// The prompt cache of a family of models: prices relative to input, and seconds an entry lives.
        #[derive(Clone, Copy, Debug)]
        pub struct CacheFamily {{
            /// Part of the names of its models or providers.
            pub name: &'static str,
            /// Price of reading a token.
            pub read: f64,
            /// Price of writing a token.
            pub write: f64,
            /// Life of an entry in seconds, where the provider publishes it.
            pub ttl_seconds: Option<f64>,
        }}
        /// Families of models by the names they are known by.
        pub static CACHE_FAMILIES: [CacheFamily; {count}] = [{rows}];\n"
    )
}

/// Lengths in UTF-16 code units, counts and all other numbers have a type each.
fn constant_of(constant: &str, name: &str, option: &Value) -> Option<String> {
    let default = option["default"].as_f64()?;
    let (kind, value) = match (option["unit"].as_str(), option["is"].as_str()) {
        (Some("chars"), _) => ("Utf16Len", format!("Utf16Len({default})")),
        (_, Some("count")) => ("usize", format!("{default}")),
        _ => ("f64", format!("{default:?}")),
    };
    Some(format!("/// Documented default of `{name}`.\npub const {constant}: {kind} = {value};\n"))
}

/// `orphan-result` as `OrphanResult`.
fn capitalized(name: &str) -> String {
    name.split('-').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// `keepRecentImages` as `KEEP_RECENT_IMAGES`.
fn upper(name: &str) -> String {
    let letters = name.chars().flat_map(|letter| {
        letter.is_ascii_uppercase().then_some('_').into_iter().chain(letter.to_uppercase())
    });
    letters.collect()
}
