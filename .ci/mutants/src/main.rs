//! Plants mutants in Rust sources: small changes of the kinds that cargo-mutants makes, a random sample of them, all in
//! one build. A mutant is switched on by the number in the environment variable MUTANT, so that thousands can be tried
//! for the price of one compilation.
//!
//! `mutants SAMPLE SEED LIST SKIPPED FILE...` rewrites the files, and writes to LIST what each number stands for.
//! SKIPPED holds the places of mutants that do not compile, one a line.

use std::collections::HashSet;
use std::env;
use std::error::Error;
use std::fs;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, BinOp, Block, Expr, GenericArgument, ItemFn, Pat, PathArguments, ReturnType, Signature, Type, UnOp};

/// How the text of a place changes.
enum Change {
    /// The expression becomes this one.
    Expression(String),
    /// The guard is taken for this.
    Guard(bool),
    /// The arm never matches.
    Arm,
    /// The function returns this at once.
    Return(String),
}

struct Mutant {
    /// Bytes it changes; empty where it only adds something.
    at: Range<usize>,
    change: Change,
    /// File, line, column and what happens.
    name: String,
}

struct Finder<'a> {
    file: &'a str,
    source: &'a str,
    found: Vec<Mutant>,
}

impl Finder<'_> {
    fn add(&mut self, at: Range<usize>, change: Change, what: &str) {
        let before = self.source.get(..at.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |text| text.chars().count()) + 1;
        let name = format!("{}:{line}:{column}: {what}", self.file);
        self.found.push(Mutant { at, change, name });
    }

    fn text(&self, spanned: &impl Spanned) -> &str {
        self.source.get(spanned.span().byte_range()).unwrap_or_default()
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        if signature.constness.is_some() || signature.asyncness.is_some() {
            return;
        }
        let start = block.brace_token.span.open().byte_range().end;
        for value in values_of(&signature.output) {
            self.add(start..start, Change::Return(value.clone()), &format!("{} returns {value}", signature.ident));
        }
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && quote::quote!(#attribute).to_string().contains("test")
    })
}

/// Values of a type that are easily written down.
fn values_of(output: &ReturnType) -> Vec<String> {
    let ReturnType::Type(_, kind) = output else { return vec!["()".to_owned()] };
    values_of_type(kind)
}

fn values_of_type(kind: &Type) -> Vec<String> {
    let values = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect();
    let Type::Path(path) = kind else { return Vec::new() };
    let Some(last) = path.path.segments.last() else { return Vec::new() };
    match last.ident.to_string().as_str() {
        "bool" => values(&["true", "false"]),
        "usize" | "u8" | "u16" | "u32" | "u64" | "u128" => values(&["0", "1"]),
        "f64" => values(&["0.0", "1.0"]),
        "String" | "Vec" | "Box" | "Utf16Len" | "HashMap" | "HashSet" | "BTreeSet" => values(&["Default::default()"]),
        "Option" => {
            let inner = match &last.arguments {
                PathArguments::AngleBracketed(arguments) => arguments.args.first(),
                _ => None,
            };
            let some = match inner {
                Some(GenericArgument::Type(inner)) => values_of_type(inner),
                _ => Vec::new(),
            };
            [String::from("None")].into_iter().chain(some.iter().map(|value| format!("Some({value})"))).collect()
        }
        _ => Vec::new(),
    }
}

fn others(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["<=", ">"],
        BinOp::Gt(_) => &[">=", "<"],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["%", "*"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::BitOrAssign(_) => &["&="],
        BinOp::BitAndAssign(_) => &["|="],
        _ => &[],
    }
}

/// Whether an expression binds names, as a `let` in a chain of conditions does: it cannot stand in brackets.
fn binds(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}

    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if item.sig.constness.is_none() && !is_test(&item.attrs) {
            self.function(&item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if item.sig.constness.is_none() && !is_test(&item.attrs) {
            self.function(&item.sig, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }

    // Array lengths and const arguments are no code that runs.
    fn visit_type(&mut self, _: &'ast Type) {}

    fn visit_expr_repeat(&mut self, expr: &'ast syn::ExprRepeat) {
        self.visit_expr(&expr.expr);
    }

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        if !binds(&expr.left) && !binds(&expr.right) {
            for other in others(&expr.op) {
                // A type before `<` would be taken for a generic one.
                let changed = format!("({}) {other} {}", self.text(&expr.left), self.text(&expr.right));
                let what = format!("{} becomes {other}", self.text(&expr.op));
                let at = expr.left.span().byte_range().start..expr.right.span().byte_range().end;
                self.add(at, Change::Expression(changed), &what);
            }
        }
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_unary(&mut self, expr: &'ast syn::ExprUnary) {
        if matches!(expr.op, UnOp::Not(_) | UnOp::Neg(_)) && !matches!(*expr.expr, Expr::Lit(_)) {
            let what = format!("{} goes", self.text(&expr.op));
            self.add(expr.span().byte_range(), Change::Expression(self.text(&expr.expr).to_owned()), &what);
        }
        visit::visit_expr_unary(self, expr);
    }

    fn visit_expr_match(&mut self, expr: &'ast syn::ExprMatch) {
        let has_rest = expr.arms.last().is_some_and(|arm| matches!(arm.pat, Pat::Wild(_)) && arm.guard.is_none());
        let others = expr.arms.len().saturating_sub(1);
        for arm in expr.arms.iter().take(if has_rest { others } else { 0 }).filter(|arm| arm.guard.is_none()) {
            let end = arm.pat.span().byte_range().end;
            self.add(end..end, Change::Arm, &format!("the arm {} goes", self.text(&arm.pat)));
        }
        visit::visit_expr_match(self, expr);
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        if let Some((_, guard)) = &arm.guard
            && !binds(guard)
        {
            for value in [true, false] {
                let what = format!("the guard {} is {value}", self.text(guard));
                self.add(guard.span().byte_range(), Change::Guard(value), &what);
            }
        }
        visit::visit_arm(self, arm);
    }
}

/// `source` from `range`, with these mutants in it, each with its number, the outer ones first.
fn planted(source: &str, range: Range<usize>, mutants: &[(usize, &Mutant)]) -> String {
    let mut text = String::new();
    let mut at = range.start;
    let mut rest = mutants;
    while let Some(((number, mutant), others)) = rest.split_first() {
        text.push_str(source.get(at..mutant.at.start).unwrap_or_default());
        let inside = others.iter().take_while(|(_, other)| other.at.end <= mutant.at.end && !mutant.at.is_empty());
        let (inner, after) = others.split_at(inside.count());
        let was = planted(source, mutant.at.clone(), inner);
        let on = format!("crate::mutant::on({number})");
        text.push_str(&match &mutant.change {
            Change::Expression(changed) => format!("(if {on} {{ {changed} }} else {{ {was} }})"),
            Change::Guard(true) => format!("({on} || ({was}))"),
            Change::Guard(false) => format!("(!{on} && ({was}))"),
            Change::Arm => format!(" if !{on}"),
            Change::Return(value) => format!(" if {on} {{ return {value}; }} "),
        });
        at = mutant.at.end;
        rest = after;
    }
    text.push_str(source.get(at..range.end).unwrap_or_default());
    text
}

/// The next of a row of numbers that look random.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [sample, seed, list, skipped, files @ ..] = arguments.as_slice() else {
        return Err("mutants SAMPLE SEED LIST SKIPPED FILE...".into());
    };
    let skipped = fs::read_to_string(skipped).unwrap_or_default();
    let skipped: HashSet<&str> = skipped.lines().collect();
    let sources: Vec<String> = files.iter().map(fs::read_to_string).collect::<Result<_, _>>()?;
    let mut all: Vec<(usize, Mutant)> = Vec::new();
    for (index, (file, source)) in files.iter().zip(&sources).enumerate() {
        let mut finder = Finder { file, source, found: Vec::new() };
        finder.visit_file(&syn::parse_file(source)?);
        all.extend(finder.found.into_iter().map(|mutant| (index, mutant)));
    }
    let total = all.len();
    let mut state = seed.parse::<u64>()?;
    for end in (1..all.len()).rev() {
        all.swap(end, (random(&mut state) % (end as u64 + 1)) as usize);
    }
    all.retain(|(_, mutant)| !skipped.contains(mutant.name.as_str()));
    all.truncate(sample.parse()?);
    let mut names = String::new();
    for (number, (_, mutant)) in all.iter().enumerate() {
        names.push_str(&format!("{}\t{}\n", number + 1, mutant.name.replace('\n', " ")));
    }
    fs::write(list, names)?;
    for (index, (file, source)) in files.iter().zip(&sources).enumerate() {
        let mut here: Vec<(usize, &Mutant)> = Vec::new();
        for (number, (of, mutant)) in all.iter().enumerate() {
            if *of == index {
                here.push((number + 1, mutant));
            }
        }
        here.sort_by_key(|(_, mutant)| (mutant.at.start, usize::MAX - mutant.at.end));
        fs::write(file, planted(source, 0..source.len(), &here))?;
    }
    eprintln!("{} of {total} mutants", all.len());
    Ok(())
}
