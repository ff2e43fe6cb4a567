#!/usr/bin/env bash
# Compiles the templates and targets of the engine's tests anew; the classes are checked in, so that the tests need no javac.
set -euo pipefail
cd "$(dirname "$0")"
javac="${JAVA_HOME:+$JAVA_HOME/bin/}javac"
annotations=$(mktemp --directory)
trap 'rm -r "$annotations"' EXIT
"$javac" --release 8 -Xlint:-options -d "$annotations" ../../../java-runtime/src/main/java/java/instr/{Level,Target,Template}.java
rm -rf classes
"$javac" --release 8 -Xlint:-options -XDstringConcat=inline -g:source,lines,vars -cp "$annotations" -d classes src/*/*.java
"$javac" --release 11 -g:source,lines,vars -cp "$annotations:classes" -d classes src11/*/*.java
