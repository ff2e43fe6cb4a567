#!/bin/sh
# Compiles the sample classes again. They are kept as binaries so that the tests need no JDK. JAVA_HOME: a JDK 25.
set -eu
cd "$(dirname "$0")"
bin=$JAVA_HOME/bin
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

rm -f Everything*.class
"$bin/javac" -g -parameters -Xlint:none -d . Everything.java
"$bin/javac" -g --release 8 -Xlint:none -Xjcov -d . Ranges.java

# A module that depends on `sample`, so that jmod has a hash to record.
mkdir "$work/other"
echo 'module other { requires sample; }' > "$work/other/module-info.java"
"$bin/javac" -d "$work/classes" $(find module -name '*.java')
"$bin/javac" -d "$work/other-classes" -p "$work/classes" "$work/other/module-info.java"
mkdir "$work/mods"
"$bin/jmod" create --class-path "$work/other-classes" "$work/mods/other.jmod"
"$bin/jmod" create --class-path "$work/classes" --main-class sample.Main --module-version 1.2 \
    --target-platform linux-amd64 --do-not-resolve-by-default --warn-if-resolved incubating \
    --module-path "$work/mods" --hash-modules 'other' "$work/mods/sample.jmod"
(cd "$work" && "$bin/jmod" extract --dir extracted mods/sample.jmod)
cp "$work/extracted/classes/module-info.class" module-info.class
