#!/usr/bin/env bash
# Compiles the classes of the tests of `instr dump` anew; they are checked in, because listings depend on the compiler.
set -euo pipefail
cd "$(dirname "$0")"
javac="${JAVA_HOME:+$JAVA_HOME/bin/}javac"
runtime=$(mktemp --directory)
trap 'rm -r "$runtime"' EXIT
"$javac" --release 8 -Xlint:-options -d "$runtime" ../../../../java-runtime/src/main/java/java/instr/{Level,Target,Template}.java
rm -rf classes
"$javac" --release 11 -g:source,lines,vars -cp "$runtime" -d classes src/com/machin/*.java
