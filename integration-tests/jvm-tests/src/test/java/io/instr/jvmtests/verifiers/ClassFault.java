package io.instr.jvmtests.verifiers;

import java.util.Map;

/** What a verifier says about a class: method (or what else it names) and message; nothing if it is content. */
@FunctionalInterface
interface ClassFault {

    Map<String, String> of(String className, byte[] bytes);
}
