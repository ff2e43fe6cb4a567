package io.instr.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.AnnotationVisitor;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** What the agent's linter would refuse at the user's site must not leave this build. */
class BuiltInTemplatesTest {

    private static final Pattern TEMPLATE_OF_RULE = Pattern.compile("(?m)^\\s*template\\s*=\\s*(.+)$");

    @Test
    void haveTheFormOfATemplate() throws IOException {
        List<Found> templates = templates();
        assertFalse(templates.isEmpty());
        for (Found template : templates) {
            assertEquals("()V", template.descriptor, template.method);
            assertTrue((template.access & Opcodes.ACC_STATIC) != 0, template.method + " is static");
            assertEquals(1, template.proceeds, template.method + ": calls of Target.proceed()");
            assertEquals(0, template.dynamicCalls, template.method + ": invokedynamic");
        }
    }

    @Test
    void areThereForEveryPreset() throws IOException {
        Set<String> names = new TreeSet<>();
        templates().forEach(template -> names.add(template.name));
        try (Stream<Path> presets = Files.list(Path.of(System.getProperty("instr.presets")))) {
            for (Path preset : presets.toList()) {
                Set<String> used = templatesNamedIn(Files.readString(preset));
                assertFalse(used.isEmpty(), preset + " names no template");
                assertTrue(names.containsAll(used), preset + " names " + used + ", but there are " + names);
            }
        }
    }

    private static Set<String> templatesNamedIn(String toml) {
        Set<String> names = new TreeSet<>();
        Matcher lines = TEMPLATE_OF_RULE.matcher(toml);
        while (lines.find()) {
            Matcher quoted = Pattern.compile("\"([^\"]+)\"").matcher(lines.group(1));
            while (quoted.find()) {
                names.add(quoted.group(1));
            }
        }
        return names;
    }

    private static List<Found> templates() throws IOException {
        List<Found> found = new ArrayList<>();
        try (Stream<Path> files = Files.walk(Path.of(System.getProperty("instr.classes")))) {
            for (Path file : files.filter(path -> path.toString().endsWith(".class")).toList()) {
                new ClassReader(Files.readAllBytes(file)).accept(new TemplateFinder(found), ClassReader.SKIP_FRAMES);
            }
        }
        return found;
    }

    /** One method with the annotation. */
    private static final class Found {
        String name;
        String method;
        String descriptor;
        int access;
        int proceeds;
        int dynamicCalls;
    }

    private static final class TemplateFinder extends ClassVisitor {

        private final List<Found> templates;

        TemplateFinder(List<Found> templates) {
            super(Opcodes.ASM9);
            this.templates = templates;
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
            Found method = new Found();
            method.name = name;
            method.method = name;
            method.descriptor = descriptor;
            method.access = access;
            return new BodyReader(method, templates);
        }
    }

    private static final class BodyReader extends MethodVisitor {

        private final Found method;
        private final List<Found> templates;

        BodyReader(Found method, List<Found> templates) {
            super(Opcodes.ASM9);
            this.method = method;
            this.templates = templates;
        }

        @Override
        public AnnotationVisitor visitAnnotation(String descriptor, boolean visible) {
            if (!descriptor.equals("Ljava/instr/Template;")) {
                return null;
            }
            templates.add(method);
            return new AnnotationVisitor(Opcodes.ASM9) {
                @Override
                public void visit(String key, Object value) {
                    if (key.equals("name")) {
                        method.name = value.toString();
                    }
                }
            };
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            if (owner.equals("java/instr/Target") && name.equals("proceed")) {
                method.proceeds++;
            }
        }

        @Override
        public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
            method.dynamicCalls++;
        }
    }
}
