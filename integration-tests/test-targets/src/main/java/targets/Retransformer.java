package targets;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/** Another agent, which has classes retransformed and changes nothing. */
public final class Retransformer implements ClassFileTransformer {

    private static Instrumentation instrumentation;

    private Retransformer() {}

    public static void premain(String options, Instrumentation given) {
        instrumentation = given;
        given.addTransformer(new Retransformer(), true);
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] bytes) {
        return null;
    }

    /** Says how it went. */
    public static String again(Class<?>... types) {
        try {
            instrumentation.retransformClasses(types);
            return "done";
        } catch (Exception | LinkageError e) {
            return e.toString();
        }
    }
}
