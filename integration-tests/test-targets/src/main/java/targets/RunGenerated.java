package targets;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;

/** Calls every static method without parameters of the named classes and prints the results. */
public final class RunGenerated {

    private RunGenerated() {}

    public static void main(String[] names) throws Exception {
        for (String name : names) {
            Method[] methods = Class.forName(name).getDeclaredMethods();
            // The order of getDeclaredMethods is not specified.
            Arrays.sort(methods, Comparator.comparing(Method::getName));
            for (Method method : methods) {
                // What is synthetic was not generated: it is the body that a wrapper calls.
                boolean generated = Modifier.isStatic(method.getModifiers()) && !method.isSynthetic();
                if (generated && method.getParameterCount() == 0) {
                    System.out.println(name + "." + method.getName() + " = " + call(method));
                }
            }
        }
    }

    private static Object call(Method method) throws IllegalAccessException {
        try {
            return method.invoke(null);
        } catch (InvocationTargetException thrown) {
            return "thrown " + thrown.getCause();
        }
    }
}
