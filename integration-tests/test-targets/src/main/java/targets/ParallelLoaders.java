package targets;

import java.io.IOException;
import java.io.InputStream;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Eight threads load the same classes at the same moment, each by a loader of its own, most derived class first: when
 * the JVM shows a class to an agent, none of its super types in that loader is there yet.
 */
public final class ParallelLoaders {

    static final int THREADS = 8;
    private static final String PREFIX = "targets.ParallelLoaders$";

    private ParallelLoaders() {}

    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(THREADS);
        CyclicBarrier barrier = new CyclicBarrier(THREADS);
        List<Future<String>> results = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            results.add(pool.submit(() -> {
                Class<?> most = new OwnLoader().loadClass(PREFIX + "MostDerived");
                barrier.await();
                @SuppressWarnings("unchecked")
                Callable<String> made = (Callable<String>) most.getDeclaredConstructor().newInstance();
                return made.call();
            }));
        }
        for (Future<String> result : results) {
            System.out.println(result.get());
        }
        pool.shutdown();
        Calls.print();
    }

    /** Defines the classes of this file itself and leaves all others to its parent. */
    static final class OwnLoader extends ClassLoader {

        OwnLoader() {
            super(ParallelLoaders.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith(PREFIX)) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded != null ? loaded : define(name);
            }
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    /** What a rule asks for. */
    interface Handler {

        String handle(String text);
    }

    /** Between the interface and the classes. */
    interface SpecialHandler extends Handler {}

    abstract static class Base implements SpecialHandler {

        @Override
        public String handle(String text) {
            Calls.one(PREFIX + "Base.handle");
            return "base " + text;
        }
    }

    static class Derived extends Base {

        @Override
        public String handle(String text) {
            Calls.one(PREFIX + "Derived.handle");
            return "derived " + super.handle(text);
        }
    }

    /** Loaded first; its own types come after it. */
    @Audited
    public static final class MostDerived extends Derived implements Callable<String> {

        public MostDerived() {}

        @Override
        public String handle(String text) {
            Calls.one(PREFIX + "MostDerived.handle");
            return "most " + super.handle(text);
        }

        @Override
        public String call() {
            Calls.one(PREFIX + "MostDerived.call");
            return handle("text") + new Unrelated().handle("u") + ownList();
        }

        private static int ownList() {
            // By way of the bridge add(Object).
            List<String> names = new Names();
            names.add("n");
            return names.size();
        }
    }

    /** Has the method but not the type. */
    static final class Unrelated {

        String handle(String text) {
            return " unrelated " + text;
        }
    }

    /** Derived from a class of the JDK. */
    static final class Names extends ArrayList<String> {

        private static final long serialVersionUID = 1;

        @Override
        public boolean add(String name) {
            Calls.one(PREFIX + "Names.add");
            return super.add(name);
        }
    }

    /** On a class. */
    @Retention(RetentionPolicy.RUNTIME)
    @interface Audited {}
}
