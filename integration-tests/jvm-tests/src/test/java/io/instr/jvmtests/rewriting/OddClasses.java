package io.instr.jvmtests.rewriting;

import static org.objectweb.asm.Opcodes.*;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;

/** Writes classes that are legal but that no javac of today writes. Each has static methods without parameters to call. */
final class OddClasses {

    private final Path directory;

    OddClasses(Path directory) {
        this.directory = directory;
    }

    /** A finally block as a subroutine: jsr and ret, version 48. */
    void withSubroutines(String name) {
        write(name, V1_4, ClassWriter.COMPUTE_MAXS, writer -> {
            method(writer, "subroutine", "()I", code -> {
                Label finallyBlock = new Label();
                code.visitInsn(ICONST_1);
                code.visitVarInsn(ISTORE, 0);
                code.visitJumpInsn(JSR, finallyBlock);
                code.visitJumpInsn(JSR, finallyBlock);
                code.visitVarInsn(ILOAD, 0);
                code.visitInsn(IRETURN);
                code.visitLabel(finallyBlock);
                code.visitVarInsn(ASTORE, 1);
                code.visitIincInsn(0, 10);
                code.visitVarInsn(RET, 1);
            });
            branches(writer);
        });
    }

    /** Branches without a StackMapTable: version 49, or 50 where the JVM falls back to its old verifier. */
    void withoutFrames(String name, int version) {
        write(name, version, ClassWriter.COMPUTE_MAXS, OddClasses::branches);
    }

    /** Returns and throws with values left below the result. */
    void withOperandsUnderTheResult(String name) {
        write(name, V1_8, ClassWriter.COMPUTE_FRAMES, writer -> {
            method(writer, "returnsInt", "()I", code -> {
                code.visitInsn(LCONST_1);
                code.visitIntInsn(BIPUSH, 42);
                code.visitInsn(IRETURN);
            });
            method(writer, "returnsLong", "()J", code -> {
                code.visitInsn(ICONST_3);
                code.visitLdcInsn("below");
                code.visitLdcInsn(1L << 50);
                code.visitInsn(LRETURN);
            });
            method(writer, "returnsOverManyWords", "()I", code -> {
                code.visitInsn(ICONST_3);
                code.visitInsn(DCONST_1);
                code.visitLdcInsn("below");
                code.visitIntInsn(BIPUSH, 43);
                code.visitInsn(IRETURN);
            });
            method(writer, "returnsNothing", "()V", code -> {
                code.visitInsn(ICONST_3);
                code.visitInsn(FCONST_2);
                code.visitInsn(RETURN);
            });
            method(writer, "throwsFromAFullStack", "()Ljava/lang/Object;", code -> {
                code.visitInsn(ICONST_3);
                code.visitInsn(LCONST_0);
                newThrowable(code, "java/lang/IllegalStateException");
                code.visitInsn(ATHROW);
            });
        });
    }

    /** Handlers and loops in places where javac puts none. */
    void withStrangeControlFlow(String name) {
        write(name, V1_8, ClassWriter.COMPUTE_FRAMES, writer -> {
            method(writer, "endsWithAThrowAndALoopBehindIt", "()I", OddClasses::entryIsLoopHead);
            method(writer, "handlerCoversItself", "()I", OddClasses::handlerCoversItself);
            method(writer, "wholeBodyIsProtected", "()Ljava/lang/String;", OddClasses::wholeBodyIsProtected);
            method(writer, "jumpsForwardIntoTheLastInstruction", "()I", code -> {
                Label last = new Label();
                code.visitIntInsn(BIPUSH, 9);
                code.visitJumpInsn(GOTO, last);
                code.visitLabel(last);
                code.visitInsn(IRETURN);
            });
        });
    }

    /** Constructors with loops and branches before super(), two ways of calling it among them. */
    void withBusyConstructors(String name) {
        write(name, V1_8, ClassWriter.COMPUTE_FRAMES, writer -> {
            MethodVisitor constructor = writer.visitMethod(ACC_PUBLIC, "<init>", "(I)V", null, null);
            constructor.visitCode();
            twoWaysToSuper(constructor);
            constructor.visitMaxs(0, 0);
            constructor.visitEnd();
            for (int n : new int[] {0, 3, 9}) {
                method(writer, "makes" + n, "()Z", code -> {
                    code.visitTypeInsn(NEW, name);
                    code.visitInsn(DUP);
                    code.visitIntInsn(BIPUSH, n);
                    code.visitMethodInsn(INVOKESPECIAL, name, "<init>", "(I)V", false);
                    code.visitTypeInsn(INSTANCEOF, name);
                    code.visitInsn(IRETURN);
                });
            }
        });
    }

    /** One method near the limit of 65,535 bytes, one of a size that the JIT only just compiles, one with long jumps. */
    void withLargeMethods(String name) {
        write(name, V1_8, ClassWriter.COMPUTE_FRAMES, writer -> {
            method(writer, "full", "()I", code -> increments(code, 21_840));
            method(writer, "justCompiled", "()I", code -> increments(code, 2_660));
            method(writer, "small", "()I", code -> increments(code, 3));
            method(writer, "longJump", "()I", code -> {
                Label after = new Label();
                code.visitInsn(ICONST_0);
                code.visitVarInsn(ISTORE, 0);
                code.visitVarInsn(ILOAD, 0);
                code.visitJumpInsn(IFNE, after);
                // The branch reaches 32,767 bytes ahead only just, so whatever is put between makes it too short.
                for (int i = 0; i < 10_921; i++) {
                    code.visitIincInsn(0, 1);
                }
                code.visitLabel(after);
                code.visitVarInsn(ILOAD, 0);
                code.visitInsn(IRETURN);
            });
        });
    }

    /** Methods around the sizes above which HotSpot inlines no more, and compiles no more, and a main method that calls each this often. */
    void withMethodsAroundTheLimitOfTheJit(String name, int calls) {
        Map<String, Integer> lengths = new LinkedHashMap<>();
        lengths.put("inlined", 34);
        lengths.put("inlinedIfHot", 322);
        lengths.put("fits", 7_900);
        lengths.put("nearLimit", 7_990);
        lengths.put("vast", 64_999);
        write(name, V1_8, ClassWriter.COMPUTE_FRAMES, writer -> {
            // Four bytes for the store, the load and the return, three for each increment.
            lengths.forEach((method, length) -> method(writer, method, "()I", code -> increments(code, (length - 4) / 3)));
            method(writer, "main", "([Ljava/lang/String;)V", code -> {
                lengths.keySet().forEach(method -> repeatedly(code, name, method, calls));
                code.visitInsn(RETURN);
            });
        });
    }

    /** Calls a method and prints the sum of its results. */
    private static void repeatedly(MethodVisitor code, String owner, String method, int calls) {
        Label loop = new Label();
        code.visitInsn(ICONST_0);
        code.visitVarInsn(ISTORE, 1);
        code.visitLdcInsn(calls);
        code.visitVarInsn(ISTORE, 2);
        code.visitLabel(loop);
        code.visitVarInsn(ILOAD, 1);
        code.visitMethodInsn(INVOKESTATIC, owner, method, "()I", false);
        code.visitInsn(IADD);
        code.visitVarInsn(ISTORE, 1);
        code.visitIincInsn(2, -1);
        code.visitVarInsn(ILOAD, 2);
        code.visitJumpInsn(IFGT, loop);
        code.visitFieldInsn(GETSTATIC, "java/lang/System", "out", "Ljava/io/PrintStream;");
        code.visitLdcInsn("sum " + method + " ");
        code.visitMethodInsn(INVOKEVIRTUAL, "java/io/PrintStream", "print", "(Ljava/lang/String;)V", false);
        code.visitFieldInsn(GETSTATIC, "java/lang/System", "out", "Ljava/io/PrintStream;");
        code.visitVarInsn(ILOAD, 1);
        code.visitMethodInsn(INVOKEVIRTUAL, "java/io/PrintStream", "println", "(I)V", false);
    }

    /** Names that are legal in class files only. */
    void withOddNames(String name) {
        write(name, V1_8, ClassWriter.COMPUTE_FRAMES, writer -> {
            for (String method : new String[] {"with space", "\u00fcml\u00e4ut", "\ud83d\ude00", "null\u0000byte", "a-b", "\"quoted\""}) {
                method(writer, method, "()I", code -> {
                    code.visitIntInsn(SIPUSH, method.length());
                    code.visitInsn(IRETURN);
                });
            }
        });
    }

    private static void branches(ClassWriter writer) {
        method(writer, "branches", "()I", code -> {
            Label loop = new Label();
            Label end = new Label();
            code.visitInsn(ICONST_0);
            code.visitVarInsn(ISTORE, 0);
            code.visitLabel(loop);
            code.visitVarInsn(ILOAD, 0);
            code.visitIntInsn(BIPUSH, 20);
            code.visitJumpInsn(IF_ICMPGE, end);
            code.visitIincInsn(0, 3);
            code.visitJumpInsn(GOTO, loop);
            code.visitLabel(end);
            code.visitVarInsn(ILOAD, 0);
            code.visitInsn(IRETURN);
        });
        method(writer, "catches", "()Ljava/lang/String;", OddClasses::wholeBodyIsProtected);
    }

    /** The first instruction is a loop's head, and code after the last throw jumps back to it. */
    private static void entryIsLoopHead(MethodVisitor code) {
        Label head = new Label();
        Label go = new Label();
        code.visitLabel(head);
        code.visitMethodInsn(INVOKESTATIC, "java/lang/Thread", "interrupted", "()Z", false);
        code.visitJumpInsn(IFNE, go);
        code.visitMethodInsn(INVOKESTATIC, "java/lang/Thread", "currentThread", "()Ljava/lang/Thread;", false);
        code.visitMethodInsn(INVOKEVIRTUAL, "java/lang/Thread", "interrupt", "()V", false);
        code.visitJumpInsn(GOTO, head);
        code.visitLabel(go);
        code.visitIntInsn(BIPUSH, 17);
        code.visitInsn(IRETURN);
    }

    /** The handler's own instructions stand in its protected range: it runs again for what it throws itself, once. */
    private static void handlerCoversItself(MethodVisitor code) {
        Label start = new Label();
        Label handler = new Label();
        Label end = new Label();
        code.visitTryCatchBlock(start, end, handler, "java/lang/RuntimeException");
        code.visitInsn(ICONST_0);
        code.visitVarInsn(ISTORE, 0);
        code.visitLabel(start);
        newThrowable(code, "java/lang/IllegalStateException");
        code.visitInsn(ATHROW);
        code.visitLabel(handler);
        code.visitInsn(POP);
        code.visitIincInsn(0, 1);
        Label done = new Label();
        code.visitVarInsn(ILOAD, 0);
        code.visitInsn(ICONST_2);
        code.visitJumpInsn(IF_ICMPGE, done);
        newThrowable(code, "java/lang/IllegalArgumentException");
        code.visitInsn(ATHROW);
        code.visitLabel(end);
        code.visitLabel(done);
        code.visitVarInsn(ILOAD, 0);
        code.visitInsn(IRETURN);
    }

    private static void wholeBodyIsProtected(MethodVisitor code) {
        Label start = new Label();
        Label end = new Label();
        Label handler = new Label();
        code.visitTryCatchBlock(start, end, handler, "java/lang/Throwable");
        code.visitLabel(start);
        code.visitInsn(ICONST_1);
        code.visitInsn(ICONST_0);
        code.visitInsn(IDIV);
        code.visitInsn(POP);
        code.visitLdcInsn("no exception");
        code.visitInsn(ARETURN);
        code.visitLabel(end);
        code.visitLabel(handler);
        code.visitMethodInsn(INVOKEVIRTUAL, "java/lang/Throwable", "getMessage", "()Ljava/lang/String;", false);
        code.visitInsn(ARETURN);
    }

    private static void twoWaysToSuper(MethodVisitor code) {
        Label loop = new Label();
        Label other = new Label();
        Label end = new Label();
        code.visitLabel(loop);
        code.visitIincInsn(1, -1);
        code.visitVarInsn(ILOAD, 1);
        code.visitInsn(ICONST_5);
        code.visitJumpInsn(IF_ICMPGT, loop);
        code.visitVarInsn(ILOAD, 1);
        code.visitJumpInsn(IFLT, other);
        code.visitVarInsn(ALOAD, 0);
        code.visitMethodInsn(INVOKESPECIAL, "java/lang/Object", "<init>", "()V", false);
        code.visitJumpInsn(GOTO, end);
        code.visitLabel(other);
        code.visitVarInsn(ALOAD, 0);
        code.visitMethodInsn(INVOKESPECIAL, "java/lang/Object", "<init>", "()V", false);
        code.visitLabel(end);
        code.visitInsn(RETURN);
    }

    private static void increments(MethodVisitor code, int count) {
        code.visitInsn(ICONST_0);
        code.visitVarInsn(ISTORE, 0);
        for (int i = 0; i < count; i++) {
            code.visitIincInsn(0, 1);
        }
        code.visitVarInsn(ILOAD, 0);
        code.visitInsn(IRETURN);
    }

    private static void newThrowable(MethodVisitor code, String type) {
        code.visitTypeInsn(NEW, type);
        code.visitInsn(DUP);
        code.visitMethodInsn(INVOKESPECIAL, type, "<init>", "()V", false);
    }

    private static void method(ClassWriter writer, String name, String descriptor, Consumer<MethodVisitor> body) {
        MethodVisitor code = writer.visitMethod(ACC_PUBLIC | ACC_STATIC, name, descriptor, null, null);
        code.visitCode();
        body.accept(code);
        code.visitMaxs(0, 0);
        code.visitEnd();
    }

    private void write(String name, int version, int flags, Consumer<ClassWriter> content) {
        // No class may be loaded to find common super types.
        ClassWriter writer = new ClassWriter(flags) {
            @Override
            protected String getCommonSuperClass(String first, String second) {
                return "java/lang/Object";
            }
        };
        writer.visit(version, ACC_PUBLIC | ACC_SUPER, name, null, "java/lang/Object", null);
        content.accept(writer);
        writer.visitEnd();
        try {
            Path file = directory.resolve(name + ".class");
            Files.createDirectories(file.getParent());
            Files.write(file, writer.toByteArray());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
