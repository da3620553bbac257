#!/usr/bin/env bash
# Runs every fuzz target for that many seconds: `fuzz/run.sh 30`, or some of them: `fuzz/run.sh 3600 count batch`.
# Starts from the committed corpus; what is found beside it stays in target/fuzz. Needs no cargo-fuzz: these are the
# flags it would set. They need a bootstrap switch because sanitizers are not stable yet.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${1:?how many seconds for each target}
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(count batch vocabulary)

host=$(rustc -vV | sed -n 's/^host: //p')
found=../target/fuzz
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
coverage="$coverage -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
# The embedded database registers its C globals with the sanitizer more than once; that is no memory error.
export ASAN_OPTIONS="detect_odr_violation=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export RUSTC_BOOTSTRAP=1
export RUSTFLAGS="$coverage -Zsanitizer=address --cfg fuzzing"
cargo build --locked --quiet --package pi-strata-fuzz --features fuzzer --profile fuzz --target "$host" --target-dir "$found"

for target in "${targets[@]}"; do
  mkdir -p "$found/corpus/$target" "$found/artifacts/$target"
  echo "== $target"
  "$found/$host/fuzz/$target" "$found/corpus/$target" "corpus/$target" \
    -artifact_prefix="$found/artifacts/$target/" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 \
    -print_final_stats=1 2>&1 | grep -E "ERROR|SUMMARY|panicked|Test unit written|number_of_executed_units|average_exec_per_sec|DONE"
done
