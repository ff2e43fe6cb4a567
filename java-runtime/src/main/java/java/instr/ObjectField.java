package java.instr;

import jdk.internal.misc.Unsafe;

/** Reads and writes a field of an object, whatever its access. */
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

    /** Has the field at this offset refer to a value. */
    static void set(Object object, long offset, Object value) {
        try {
            U.putReference(object, offset, value);
        } catch (NoSuchMethodError beforeJdk12) {
            U.putObject(object, offset, value);
        }
    }
}
