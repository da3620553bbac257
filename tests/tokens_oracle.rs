//! Counts and tokens against tiktoken-rs on generated strings.
use pi_strata::tokens;
#[test]
fn quick() {
    let o = tiktoken_rs::cl100k_base_singleton();
    let mut s = 88172645463325252u64;
    let mut r = |n: u64| {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        s % n
    };
    let alpha: Vec<&str> = vec![
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "a",
        "The",
        "getElement",
        "'s",
        "'LL",
        "'",
        "'ſ",
        "'ve",
        "123",
        "7",
        "中",
        "文字",
        "，",
        "です",
        "ー",
        "é",
        "e\u{301}",
        "😀",
        "👩‍👩‍👧",
        ".",
        "!!",
        "=",
        "----",
        "\u{85}",
        "\u{feff}",
        "\u{a0}",
        "\u{3000}",
        "ß",
        "Я",
        "привет",
        "<|endoftext|>",
        "{\"",
        "\":",
        "x",
        "Q",
        "z",
        "aGVs",
        "١٢",
        "½",
        "\u{0}",
        "  \n  ",
        "\u{2028}",
        "한국",
        "۞",
    ];
    let mut bad = 0;
    for i in 0..200000 {
        let n = r(30) + 1;
        let t: String = (0..n).map(|_| alpha[r(alpha.len() as u64) as usize]).collect();
        let want = o.encode_ordinary(&t);
        for (name, got) in
            [("auto", tokens::count(&t)), ("port", tokens::count_with(tokens::Scanner::Portable, &t))]
        {
            if got != want.len() {
                println!(
                    "{name} {i} {t:?} got {got} want {} {:?}",
                    want.len(),
                    want.iter()
                        .map(|&x| String::from_utf8_lossy(&o.decode_bytes(&[x]).unwrap()).into_owned())
                        .collect::<Vec<_>>()
                );
                bad += 1;
                if bad > 5 {
                    panic!();
                }
            }
        }
        let enc = tokens::encode(&t);
        assert_eq!(enc, want, "{t:?}");
    }
    assert_eq!(bad, 0);
}
