package targets;

import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Set;
import java.util.TreeSet;
import probe.Log;

/** Calls every static method and constructor of every class in each folder with a few numbers, and prints the results. */
final class CallAll {
    private static final int[] NUMBERS = {-1, 0, 1, 2, 7};

    private CallAll() {}

    public static void main(String[] folders) throws Exception {
        for (String folder : folders) {
            URL[] path = {new File(folder).toURI().toURL()};
            System.out.println("folder " + new File(folder).getName());
            try (URLClassLoader loader = new OwnFirst(path)) {
                for (String name : classes(new File(folder), "")) {
                    callAll(name, loader);
                }
            }
        }
    }

    /** Prefers the classes of its folder to those of the same name on the class path. */
    private static final class OwnFirst extends URLClassLoader {
        OwnFirst(URL[] path) {
            super(path, CallAll.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                if (known != null) {
                    return known;
                }
                boolean isOwn = findResource(name.replace('.', '/') + ".class") != null;
                return isOwn ? findClass(name) : super.loadClass(name, resolve);
            }
        }
    }

    /** The names of all classes below a folder, in a fixed order. */
    private static Set<String> classes(File folder, String prefix) {
        Set<String> names = new TreeSet<>();
        for (File file : folder.listFiles()) {
            String name = prefix + file.getName();
            if (file.isDirectory()) {
                names.addAll(classes(file, name + "."));
            } else if (name.endsWith(".class")) {
                names.add(name.substring(0, name.length() - ".class".length()));
            }
        }
        return names;
    }

    private static void callAll(String name, ClassLoader loader) {
        Class<?> type;
        try {
            type = Class.forName(name, true, loader);
        } catch (Throwable thrown) {
            System.out.println("result " + name + " " + thrown.toString().replace('\n', '|'));
            return;
        }
        Executable[] methods = type.getDeclaredMethods();
        Arrays.sort(methods, Comparator.comparing(Executable::getName));
        for (Executable method : methods) {
            if (Modifier.isStatic(method.getModifiers())) {
                call(method);
            }
        }
        Executable[] constructors = type.getDeclaredConstructors();
        Arrays.sort(constructors, Comparator.comparing(Executable::toString));
        for (Executable constructor : constructors) {
            call(constructor);
        }
    }

    private static void call(Executable called) {
        called.setAccessible(true);
        for (int number : called.getParameterCount() == 0 ? new int[] {0} : NUMBERS) {
            Object[] arguments = new Object[called.getParameterCount()];
            Arrays.fill(arguments, number);
            String call = called.getDeclaringClass().getName() + "." + called.getName() + "(" + number + ") ";
            System.out.println("result " + call + outcome(called, arguments));
            String[] events = Log.drain().split(" ");
            long entered = Arrays.stream(events).filter("enter"::equals).count();
            long left = Arrays.stream(events).filter("exit"::equals).count();
            if (entered != left) {
                System.out.println("unbalanced " + call + String.join(" ", events));
            }
        }
    }

    private static String outcome(Executable called, Object[] arguments) {
        try {
            if (called instanceof Constructor) {
                return "made " + ((Constructor<?>) called).newInstance(arguments).getClass().getName();
            }
            return String.valueOf(((Method) called).invoke(null, arguments));
        } catch (InvocationTargetException thrown) {
            return "threw " + thrown.getCause();
        } catch (Throwable thrown) {
            return "failed " + thrown.toString().replace('\n', '|');
        }
    }
}
