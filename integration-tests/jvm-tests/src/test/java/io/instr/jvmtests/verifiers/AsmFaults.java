package io.instr.jvmtests.verifiers;

import java.util.Map;
import java.util.TreeMap;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.analysis.Analyzer;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.SimpleVerifier;
import org.objectweb.asm.util.CheckClassAdapter;

/** ASM's checks: the frames as they stand by {@link CheckClassAdapter}, the types by data flow. */
final class AsmFaults implements ClassFault {

    private final ClassLoader superTypes;

    AsmFaults(ClassLoader superTypes) {
        this.superTypes = superTypes;
    }

    @Override
    public Map<String, String> of(String className, byte[] bytes) {
        Map<String, String> faults = new TreeMap<>();
        ClassNode node = new ClassNode();
        new ClassReader(bytes).accept(node, 0);
        for (MethodNode method : node.methods) {
            String name = method.name + method.desc;
            try {
                checkFrames(node, method);
                checkTypes(node, method);
            } catch (AnalyzerException | RuntimeException | LinkageError fault) {
                faults.put(name, String.valueOf(fault));
            }
        }
        return faults;
    }

    /** One method in a class of its own, so that a fault does not hide those of other methods. */
    private static void checkFrames(ClassNode node, MethodNode method) {
        CheckClassAdapter checks = new CheckClassAdapter(new ClassNode(), true);
        checks.visit(node.version, node.access, node.name, null, node.superName, node.interfaces.toArray(String[]::new));
        method.accept(checks);
        checks.visitEnd();
    }

    private void checkTypes(ClassNode node, MethodNode method) throws AnalyzerException {
        SimpleVerifier verifier = new SimpleVerifier(
                Opcodes.ASM9,
                Type.getObjectType(node.name),
                node.superName == null ? null : Type.getObjectType(node.superName),
                node.interfaces.stream().map(Type::getObjectType).toList(),
                (node.access & Opcodes.ACC_INTERFACE) != 0) {};
        verifier.setClassLoader(superTypes);
        new Analyzer<>(verifier).analyze(node.name, method);
    }
}
