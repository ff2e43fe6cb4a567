#!/usr/bin/env bash
# Compiles the classes of the decision cases anew, with the compilers of `compilers.xml` from Maven Central. The classes are checked in, so that
# the tests need no compiler.
set -euo pipefail
cd "$(dirname "$0")"
java="${JAVA_HOME:+$JAVA_HOME/bin/}java"
javac="${java}c"
work=$(mktemp --directory)
trap 'rm -r "$work"' EXIT
mvn -B -ntp -q -f compilers.xml dependency:build-classpath -Dmdep.outputFile="$work/compilers"
compilers=$(cat "$work/compilers")
rm -rf classes
mkdir classes
"$javac" --release 17 -g:none -d classes src/java/*.java
"$javac" --release 8 -Xlint:-options -g:none -d classes src/java8/*.java
"$java" -cp "$compilers" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect -cp "$compilers" -jvm-target 17 -d classes src/kotlin
"$java" -cp "$compilers" scala.tools.nsc.Main -usejavacp -release 17 -g:none -d classes src/scala/*.scala
"$java" -cp "$compilers" org.codehaus.groovy.tools.FileSystemCompiler -d classes src/groovy/*.groovy
rm -rf classes/META-INF classes/lost
