package targets.features;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.function.IntUnaryOperator;

/** Classes that come from no file: defined without a name, and proxies. */
final class GeneratedClasses {

    private GeneratedClasses() {}

    static String run() throws Exception {
        Class<?> anonymous = new NamelessLoader().define(bytesOf("targets/features/GeneratedClasses$Quadruple.class"));
        IntUnaryOperator operator = (IntUnaryOperator) anonymous.getDeclaredConstructor().newInstance();
        return operator.applyAsInt(11) + " " + (anonymous != Quadruple.class) + " " + proxied().applyAsInt(5);
    }

    private static byte[] bytesOf(String resource) throws IOException {
        try (InputStream in = GeneratedClasses.class.getClassLoader().getResourceAsStream(resource)) {
            return in.readAllBytes();
        }
    }

    private static IntUnaryOperator proxied() {
        InvocationHandler handler = (proxy, method, arguments) -> (Integer) arguments[0] * 3;
        return (IntUnaryOperator) Proxy.newProxyInstance(
                GeneratedClasses.class.getClassLoader(), new Class<?>[] {IntUnaryOperator.class}, handler);
    }

    /** Defines classes without passing a name to the JVM: agents see null. */
    static final class NamelessLoader extends ClassLoader {

        NamelessLoader() {
            super(GeneratedClasses.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    /** Defined a second time, by {@link NamelessLoader}. */
    public static final class Quadruple implements IntUnaryOperator {

        public Quadruple() {}

        @Override
        public int applyAsInt(int n) {
            return 4 * n;
        }
    }
}
