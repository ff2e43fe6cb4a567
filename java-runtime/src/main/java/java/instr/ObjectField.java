package java.instr;

import jdk.internal.misc.Unsafe;

/** Reads a field of an object, whatever its access. */
final class ObjectField {
    private static final Unsafe U = Unsafe.getUnsafe();

    private ObjectField() {}

    /** What the field at this offset refers to. */
    static Object get(Object object, long offset) {
        try {
            return U.getReference(object, offset);
        } catch (NoSuchMethodError beforeJdk12) {
            return U.getObject(object, offset);
        }
    }
}
