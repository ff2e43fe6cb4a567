package io.instr.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;

/** The runtime runs inside methods of the JDK, very early, on every JVM since 11: what may its classes use? */
class RuntimeClassesTest {

    /** They start threads, read files, load providers or are the first thing a user instruments. */
    private static final List<String> TOO_MUCH = List.of(
            "java/util/logging/", "java/nio/file/", "java/lang/management/", "java/util/stream/", "java/util/function/",
            "java/lang/invoke/", "java/util/regex/", "java/text/", "java/io/");

    /** The one method handle, by which the clock is read; what runs with it is never instrumented (`untouchable.rs`). */
    private static final Map<String, String> ALLOWED = Map.of("java/instr/Clock", "java/lang/invoke/Method");

    @Test
    void areJava8Bytecode() throws IOException {
        for (ClassReader runtimeClass : runtimeClasses()) {
            assertEquals(Opcodes.V1_8, runtimeClass.readUnsignedShort(6), runtimeClass.getClassName());
        }
    }

    @Test
    void useNeitherLambdasNorHeavyPartsOfTheJdk() throws IOException {
        for (ClassReader runtimeClass : runtimeClasses()) {
            Set<String> heavy = referencedTypes(runtimeClass).stream()
                    .filter(type -> TOO_MUCH.stream().anyMatch(type::startsWith))
                    .filter(type -> !type.startsWith(ALLOWED.getOrDefault(runtimeClass.getClassName(), type + "!")))
                    .collect(Collectors.toCollection(TreeSet::new));
            assertEquals(Set.of(), heavy, runtimeClass.getClassName());
        }
    }

    @Test
    void referToNothingThatTheBootLoaderDoesNotSee() throws IOException {
        for (ClassReader runtimeClass : runtimeClasses()) {
            Set<String> foreign = referencedTypes(runtimeClass).stream()
                    .filter(type -> !type.startsWith("java/") && !type.startsWith("jdk/internal/"))
                    .collect(Collectors.toCollection(TreeSet::new));
            assertEquals(Set.of(), foreign, runtimeClass.getClassName());
        }
    }

    @Test
    void comeWithoutTheStubs() {
        Path classes = Path.of(System.getProperty("instr.classes"));
        assertTrue(Files.isDirectory(classes.resolve("java/instr")));
        assertFalse(Files.exists(classes.resolve("jdk")));
    }

    private static List<ClassReader> runtimeClasses() throws IOException {
        try (Stream<Path> files = Files.walk(Path.of(System.getProperty("instr.classes")))) {
            List<Path> classes = files.filter(file -> file.toString().endsWith(".class")).toList();
            List<ClassReader> readers = new ArrayList<>();
            for (Path file : classes) {
                readers.add(new ClassReader(Files.readAllBytes(file)));
            }
            return readers;
        }
    }

    /** Every class of the constant pool, by internal name; a pool entry of invokedynamic shows as {@code java/lang/invoke/}. */
    private static Set<String> referencedTypes(ClassReader reader) {
        Set<String> types = new TreeSet<>();
        char[] buffer = new char[reader.getMaxStringLength()];
        for (int i = 1; i < reader.getItemCount(); i++) {
            int item = reader.getItem(i);
            if (item == 0) {
                continue;
            }
            int tag = reader.readByte(item - 1);
            if (tag == 7) {
                types.add(elementType(reader.readUTF8(item, buffer)));
            } else if (tag == 17 || tag == 18) {
                types.add("java/lang/invoke/invokedynamic");
            }
        }
        types.remove("");
        return types;
    }

    /** {@code [[Ljava/lang/String;} to {@code java/lang/String}; nothing for arrays of primitives. */
    private static String elementType(String name) {
        if (!name.startsWith("[")) {
            return name;
        }
        int start = name.lastIndexOf('[') + 1;
        return name.charAt(start) == 'L' ? name.substring(start + 1, name.length() - 1) : "";
    }
}
