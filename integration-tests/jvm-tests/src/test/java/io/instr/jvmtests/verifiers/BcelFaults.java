package io.instr.jvmtests.verifiers;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.bcel.Repository;
import org.apache.bcel.classfile.ClassParser;
import org.apache.bcel.classfile.JavaClass;
import org.apache.bcel.classfile.Method;
import org.apache.bcel.util.ClassLoaderRepository;
import org.apache.bcel.verifier.VerificationResult;
import org.apache.bcel.verifier.Verifier;
import org.apache.bcel.verifier.VerifierFactory;

/** BCEL's verifier, passes 1 to 3b. Its state is global: one at a time. */
final class BcelFaults implements ClassFault {

    /** Its data flow takes minutes for the largest methods. */
    private static final int LARGEST_METHOD = 1_500;

    /**
     * Of two values that implement an interface it knows only that they are objects, and then refuses to have them returned
     * as the interface. The JVM lets any object pass for an interface (JVMS 4.10.1.2).
     */
    private static final Pattern OBJECT_FOR_INTERFACE =
            Pattern.compile("Returned type java\\.lang\\.Object does not match Method's return type (\\S+)$");

    private final ClassLoader superTypes;

    /** The loader has to find the runtime that instrumented methods call. */
    BcelFaults(ClassLoader superTypes) {
        this.superTypes = superTypes;
    }

    @Override
    public Map<String, String> of(String className, byte[] bytes) {
        Map<String, String> faults = new TreeMap<>();
        VerifierFactory.clear();
        Repository.setRepository(new ClassLoaderRepository(superTypes));
        JavaClass parsed = parse(className, bytes);
        Repository.addClass(parsed);
        Verifier verifier = VerifierFactory.getVerifier(className);
        note(faults, "pass 1", guarded(verifier::doPass1));
        note(faults, "pass 2", guarded(verifier::doPass2));
        Method[] methods = parsed.getMethods();
        for (int i = 0; faults.isEmpty() && i < methods.length; i++) {
            String name = methods[i].getName() + methods[i].getSignature();
            if (methods[i].getCode() != null && methods[i].getCode().getCode().length <= LARGEST_METHOD) {
                note(faults, name, passThree(verifier, i));
            }
        }
        return faults;
    }

    private static VerificationResult passThree(Verifier verifier, int method) {
        VerificationResult first = guarded(() -> verifier.doPass3a(method));
        return first.getStatus() == VerificationResult.VERIFIED_OK ? guarded(() -> verifier.doPass3b(method)) : first;
    }

    /** Returns a rejection if BCEL throws: it does not support nest mates and a few other newer features. */
    private static VerificationResult guarded(Supplier<VerificationResult> pass) {
        try {
            return pass.get();
        } catch (RuntimeException | LinkageError ownDefect) {
            return new VerificationResult(VerificationResult.VERIFIED_REJECTED, ownDefect.toString());
        }
    }

    private void note(Map<String, String> faults, String what, VerificationResult result) {
        if (result.getStatus() != VerificationResult.VERIFIED_OK && !isObjectForInterface(result.getMessage())) {
            faults.put(what, result.getMessage());
        }
    }

    private boolean isObjectForInterface(String message) {
        Matcher matcher = OBJECT_FOR_INTERFACE.matcher(message);
        try {
            return matcher.find() && Class.forName(matcher.group(1), false, superTypes).isInterface();
        } catch (ClassNotFoundException | LinkageError unknown) {
            return false;
        }
    }

    private static JavaClass parse(String className, byte[] bytes) {
        try {
            return new ClassParser(new ByteArrayInputStream(bytes), className).parse();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
