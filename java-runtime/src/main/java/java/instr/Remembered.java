package java.instr;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;

/** Values for objects of the application, compared by identity, each as long as the application keeps the object. */
final class Remembered<V> {
    private static final int MOST = 100_000;

    private final ReferenceQueue<Object> gone = new ReferenceQueue<>();
    private final ConcurrentHashMap<Object, V> values = new ConcurrentHashMap<>();

    /** Whether nothing is remembered. */
    boolean isEmpty() {
        return values.isEmpty();
    }

    /** Remembers a value for an object, which must not be null; not if there are too many. */
    void put(Object object, V value) {
        for (Object key = gone.poll(); key != null; key = gone.poll()) values.remove(key);
        if (values.size() < MOST) values.put(new Key(object, gone), value);
    }

    /** Returns the value of an object; null if it has none. */
    V get(Object object) {
        return object == null ? null : values.get(new SameObject(object));
    }

    /** Returns the value of an object and forgets it; null if it has none. */
    V remove(Object object) {
        return object == null ? null : values.remove(new SameObject(object));
    }

    /** Forgets all values. */
    void clear() {
        values.clear();
    }

    /** Compares by identity: the equals of an object is the application's code. */
    private static final class Key extends WeakReference<Object> {
        private final int hash;

        Key(Object object, ReferenceQueue<Object> queue) {
            super(object, queue);
            hash = System.identityHashCode(object);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            if (this == other) return true;
            Object object = get();
            return object != null && other instanceof Key && ((Key) other).get() == object;
        }
    }

    /** Finds the key of an object, without a reference that the collector has to look at. */
    private static final class SameObject {
        private final Object object;

        SameObject(Object object) {
            this.object = object;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(object);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key && ((Key) other).get() == object;
        }
    }
}
